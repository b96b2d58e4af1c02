import assert from "node:assert/strict";
import { test } from "node:test";
import { readDeployment } from "../../../src/api/deployment.ts";
import { recordDangling, recordUnprotectable } from "../../../src/generator/source-events.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readProtector } from "../../../src/kube/resources.ts";

test("a workload that cannot be protected, and a PodProtector without its workload, are told of by name", () => {
  const told: unknown[] = [];
  const events = { record: (...event: unknown[]) => void told.push(event) };
  const metadata = { name: "web", namespace: "shop", uid: "u", resourceVersion: "1" };
  const source = readDeployment({ metadata, spec: { selector: { matchLabels: { app: "web" } } } });
  recordUnprotectable(events, source!, new KubeError("timeout", "goes by itself"));
  recordUnprotectable(events, source!, new KubeError("forbidden", "no right"));
  const read = readProtector({
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { ...metadata, name: "deployment-web" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
  });
  assert.ok(read.ok);
  recordDangling(events, read.stored);
  assert.deepEqual(
    told.map((event) => (event as unknown[])[2]),
    ["Unprotectable", "Dangling"],
  );
  assert.match(JSON.stringify(told), /"name":"web".*no right.*"name":"deployment-web".*released=true/);
});
