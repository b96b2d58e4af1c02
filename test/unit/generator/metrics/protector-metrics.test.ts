import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type Condition, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { createProtectorGauges, shownMax } from "../../../../src/generator/metrics/protector-metrics.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";

interface Given {
  readonly mustStay: number;
  readonly available?: number;
  readonly estimated?: number;
  readonly isInShadow?: boolean;
  readonly conditions?: readonly Pick<Condition, "type" | "status">[];
}

function stored(name: string, given: Given): StoredProtector {
  const { mustStay, available, estimated, isInShadow, conditions } = given;
  const annotations = isInShadow === true ? { "podseidon.kubewharf.io/mode": "shadow" } : {};
  const summary = {
    totalReplicas: 9,
    aggregatedAvailableReplicas: available ?? 0,
    estimatedAvailableReplicas: estimated ?? available ?? 0,
  };
  const protector = {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", annotations },
    spec: { minAvailable: mustStay, minReadySeconds: 0, selector: {} },
    ...(available === undefined ? {} : { status: { cells: [], summary, conditions } }),
  } as unknown as PodProtector;
  return { key: objectKey("shop", name), protector } as StoredProtector;
}

function createGauges() {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const show = createProtectorGauges(metrics, "east");
  const lines = async (): Promise<string[]> =>
    (await metrics.expose()).text.split("\n").filter((line) => line.startsWith("generator_podprotector_"));
  return { show, lines };
}

test("each PodProtector has what must stay, is available, is promised and is free", async () => {
  const { show, lines } = createGauges();
  show([
    stored("web", { mustStay: 5, available: 9, estimated: 7 }),
    stored("low", { mustStay: 5, available: 4, estimated: 3, isInShadow: true }),
    stored("new", { mustStay: -1 }),
  ]);
  const all = await lines();
  for (const [name, mode, ...values] of [
    ["web", "enforced", 5, 9, 2, 2],
    ["low", "shadow", 5, 4, 1, 0],
    ["new", "enforced", 0, 0, 0, 0],
  ] as const) {
    for (const [index, figure] of ["must_stay", "available", "promised", "free"].entries()) {
      const line = `generator_podprotector_${figure}{podprotector="east/shop/${name}",mode="${mode}"} ${values[index]}`;
      assert.ok(all.includes(line), `${line} in\n${all.join("\n")}`);
    }
  }
});

test("series end with their PodProtector, and with the mode that they were in", async () => {
  const { show, lines } = createGauges();
  const ofFree = async (): Promise<string[]> =>
    (await lines()).flatMap((line) => /^generator_podprotector_free\{(.*)\}/.exec(line)?.[1] ?? []);
  show([stored("a", { mustStay: 1 }), stored("b", { mustStay: 1 })]);
  show([stored("b", { mustStay: 1, isInShadow: true })]);
  assert.deepEqual(await ofFree(), ['podprotector="east/shop/b",mode="shadow"']);
  show([]);
  assert.deepEqual(await ofFree(), []);
});

test("of more than a thousand PodProtectors those with the fewest free pods are shown", async () => {
  const { show, lines } = createGauges();
  const many = Array.from({ length: shownMax }, (_, index) => stored(`p${index}`, { mustStay: 1, available: 3 }));
  show([...many, stored("last", { mustStay: 5, available: 5 })]);
  const all = await lines();
  assert.equal(all.filter((line) => line.startsWith("generator_podprotector_free{")).length, shownMax);
  assert.ok(all.includes('generator_podprotector_free{podprotector="east/shop/last",mode="enforced"} 0'));
});

test("conditions that are true are counted by type, and types that nobody knows are not", async () => {
  const { show, lines } = createGauges();
  const conditions = [
    { type: "Dangling", status: "True" },
    { type: "AtFloor", status: "False" },
    { type: "Somebody's", status: "True" },
  ] as const;
  show([
    stored("a", { mustStay: 1, available: 1, conditions }),
    stored("b", { mustStay: 1, available: 1, conditions }),
  ]);
  const all = await lines();
  assert.ok(all.includes('generator_podprotector_conditions{type="Dangling"} 2'));
  assert.ok(all.includes('generator_podprotector_conditions{type="AtFloor"} 0'));
  assert.ok(!all.some((line) => line.includes("Somebody")));
  show([]);
  assert.ok((await lines()).includes('generator_podprotector_conditions{type="Dangling"} 0'));
});
