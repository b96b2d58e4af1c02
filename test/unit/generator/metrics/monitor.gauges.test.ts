import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { createMonitor } from "../../../../src/generator/metrics/monitor.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";

const protector: PodProtector = {
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1" },
  spec: { minAvailable: 2, minReadySeconds: 0, selector: {} },
  status: {
    cells: [],
    summary: { totalReplicas: 4, aggregatedAvailableReplicas: 1, estimatedAvailableReplicas: 1 },
  },
};

/** The gauges with one PodProtector, while this process leads or after that. */
async function exposed(role: "leader" | "standby" | "former leader"): Promise<Map<string, number>> {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const stored = { key: objectKey("default", "web"), protector } as StoredProtector;
  const monitor = createMonitor(
    { values: () => new Map<ObjectKey, StoredProtector>([[objectKey("default", "web"), stored]]).values() },
    metrics,
    "core",
  );
  const leadership = new AbortController();
  if (role !== "standby") monitor.lead(leadership.signal);
  if (role === "former leader") leadership.abort();
  const { text } = await metrics.expose();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

test("there are the 36 gauges of upstream, and none is NaN without PodProtectors", async () => {
  for (const role of ["standby", "former leader"] as const) {
    const values = await exposed(role);
    const sums = [...values].filter(([name]) => name.startsWith("generator_monitor_workloads_"));
    assert.equal(sums.length, 36);
    for (const [name, value] of sums) {
      assert.equal(value, /_proportion_ppm$|_proportion_[a-z]+_(workloads|pods)$/.test(name) ? 1 : 0, name);
    }
  }
});

test("the leader compares what is there with what must stay", async () => {
  const values = await exposed("leader");
  const of = (name: string): number | undefined => values.get(`generator_monitor_workloads_${name}`);
  assert.equal(of("num_workloads"), 1);
  assert.equal(of("num_created_workloads"), 1);
  assert.equal(of("proportion_available_workloads"), 0);
  assert.equal(of("proportion_available_pods"), 0.5);
  assert.equal(of("avg_available_proportion_ppm"), 0.5);
  assert.equal(of("current_aggregated_created_pods"), 4);
  assert.equal(values.get('generator_podprotector_must_stay{podprotector="core/default/web",mode="enforced"}'), 2);
  assert.equal((await exposed("former leader")).has("generator_podprotector_must_stay"), false);
});
