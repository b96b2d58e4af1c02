import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeploymentFacts } from "../../../src/api/deployment.ts";
import { finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import {
  deploymentNameOf,
  isGeneratedFor,
  minAvailableOf,
  planForDeployment,
  protectorNameOf,
  protectorTypeMeta,
  sourceLabelsOf,
} from "../../../src/generator/deployment-plan.ts";

const facts = (changes: Partial<DeploymentFacts>): DeploymentFacts => ({
  name: "web",
  namespace: "default",
  uid: "deployment-uid",
  replicas: 10,
  minReadySeconds: 5,
  selector: { matchLabels: { app: "web" } },
  strategy: "RollingUpdate",
  maxUnavailable: undefined,
  maxSurge: undefined,
  ...changes,
});

test("minAvailable leaves out 25% by default, rounded down as Kubernetes does", () => {
  const expected: Readonly<Record<number, number>> = {
    0: 0,
    1: 1,
    2: 2,
    3: 3,
    4: 3,
    5: 4,
    7: 6,
    8: 6,
    10: 8,
    100: 75,
  };
  for (const [replicas, floor] of Object.entries(expected)) {
    assert.equal(minAvailableOf(facts({ replicas: Number(replicas) })), floor, `${replicas} replicas`);
  }
});

test("minAvailable follows the numbers and percentages of the Deployment", () => {
  assert.equal(minAvailableOf(facts({ maxUnavailable: 3 })), 7);
  assert.equal(minAvailableOf(facts({ maxUnavailable: "30%" })), 7);
  assert.equal(minAvailableOf(facts({ maxUnavailable: "100%" })), 0);
  assert.equal(minAvailableOf(facts({ maxUnavailable: "29%", replicas: 100 })), 71);
  assert.equal(minAvailableOf(facts({ maxUnavailable: 20 })), 0);
});

test("one pod may be unavailable when maxUnavailable and maxSurge both come to 0", () => {
  assert.equal(minAvailableOf(facts({ maxUnavailable: 0, maxSurge: 0 })), 9);
  assert.equal(minAvailableOf(facts({ maxUnavailable: "1%", maxSurge: 0 })), 9);
  assert.equal(minAvailableOf(facts({ maxUnavailable: 0, maxSurge: "1%" })), 10);
});

test("minAvailable is rounded as by Kubernetes' ResolveFenceposts, for all small Deployments", () => {
  for (let replicas = 0; replicas <= 40; replicas++) {
    for (let unavailable = 0; unavailable <= 100; unavailable++) {
      for (const surge of [0, 1, 25, 100]) {
        // In integers, without any fraction to round.
        const down = (unavailable * replicas - ((unavailable * replicas) % 100)) / 100;
        const surges = surge * replicas > 0;
        const expected = Math.max(0, replicas - (down === 0 && !surges ? 1 : down));
        const given = facts({ replicas, maxUnavailable: `${unavailable}%`, maxSurge: `${surge}%` });
        assert.equal(minAvailableOf(given), expected, `${replicas}, ${unavailable} %, ${surge} %`);
      }
    }
  }
});

test("without surge at least one pod may be unavailable, even the only one", () => {
  for (const [replicas, floor] of [
    [0, 0],
    [1, 0],
    [3, 2],
    [4, 3],
    [7, 6],
    [8, 6],
  ] as const)
    assert.equal(minAvailableOf(facts({ replicas, maxUnavailable: "25%", maxSurge: 0 })), floor);
});

test("minAvailable is that of one replica by default, and 0 for the strategy Recreate", () => {
  assert.equal(minAvailableOf(facts({ replicas: undefined })), 1);
  assert.equal(minAvailableOf(facts({ strategy: "Recreate" })), 0);
  assert.equal(minAvailableOf(facts({ replicas: -5 })), 0);
});

test("minAvailable is all replicas if maxUnavailable is invalid", () => {
  for (const maxUnavailable of ["", "abc", "25", "-1%", "2.5%"])
    assert.equal(minAvailableOf(facts({ maxUnavailable })), 10);
});

test("the PodProtector is named after its Deployment and leads back to it", () => {
  const wanted = planForDeployment(facts({ minReadySeconds: -1 }));
  assert.partialDeepStrictEqual(wanted, {
    name: "deployment-web",
    namespace: "default",
    ownerReference: { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "deployment-uid", controller: true },
    spec: { minAvailable: 8, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
  });
  assert.deepEqual(sourceLabelsOf("web"), wanted.labels);
});

test("long names are shortened stably, uniquely and validly", () => {
  const long = "a".repeat(252);
  assert.equal(protectorNameOf("web"), "deployment-web");
  assert.equal(protectorNameOf(long).length, 253);
  assert.equal(protectorNameOf(long), protectorNameOf(long));
  assert.notEqual(protectorNameOf(`${long}b`), protectorNameOf(`${long}c`));
  const label = Object.values(sourceLabelsOf(`${"a".repeat(49)}.-${"b".repeat(99)}`))[0] ?? "";
  assert.ok(label.length <= 63);
  assert.match(label, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
});

test("the scheme of shortening never changes, since running clusters hold its names", () => {
  assert.ok(Object.values(sourceLabelsOf("w".repeat(63))).includes("w".repeat(63)));
  assert.ok(Object.values(sourceLabelsOf("w".repeat(64))).includes(`${"w".repeat(50)}-54b74fa3b751`));
});

function protector(metadata: Partial<PodProtector["metadata"]>): PodProtector {
  return {
    ...protectorTypeMeta,
    metadata: { name: "deployment-web", namespace: "default", uid: "p-1", resourceVersion: "1", ...metadata },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
  };
}

test("a protector is generated for a Deployment when it has the derived name and the labels or the finalizer", () => {
  const labels = sourceLabelsOf("web");
  const owner = planForDeployment(facts({})).ownerReference;
  const edited = { ...labels, "podseidon.kubewharf.io/source-name": "else" };
  const cases: readonly (readonly [metadata: Partial<PodProtector["metadata"]>, expected: string | undefined])[] = [
    [{ labels, finalizers: [finalizer], ownerReferences: [owner] }, "web"],
    [{ labels }, "web"],
    [{ finalizers: [finalizer] }, "web"],
    [{ labels: edited, finalizers: [finalizer] }, "web"],
    [{ labels: edited }, undefined],
    [{}, undefined],
    [{ ownerReferences: [owner] }, undefined],
    [{ name: "mine", labels, finalizers: [finalizer], ownerReferences: [owner] }, undefined],
    [{ name: "deployment-other", labels, ownerReferences: [owner] }, undefined],
  ];
  for (const [metadata, expected] of cases) {
    assert.equal(deploymentNameOf(protector(metadata)), expected, JSON.stringify(metadata));
    assert.equal(isGeneratedFor(protector(metadata), "web"), expected === "web", JSON.stringify(metadata));
  }
});

test("the owner reference leads to the source where name and label were shortened, and nothing else does", () => {
  const name = "w".repeat(253);
  const { ownerReference, labels, ...plan } = planForDeployment(facts({ name }));
  const owned = protector({ name: plan.name, labels, finalizers: [finalizer], ownerReferences: [ownerReference] });
  assert.equal(deploymentNameOf(owned), name);
  const orphaned = protector({ ...owned.metadata, ownerReferences: [] });
  assert.equal(deploymentNameOf(orphaned), undefined);
  assert.ok(isGeneratedFor(orphaned, name));
});
