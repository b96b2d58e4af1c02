/** Hand-made PodProtectors that follow workloads: which fields ask for it, and the arithmetic of their floors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { followedSource, isFollowing, isHandMade, readWish } from "../../../src/sources/followed-protector.ts";

const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

function protector(spec: object, metadata: object = {}): PodProtector {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "shared", namespace: "shop", uid: "u", resourceVersion: "7", ...metadata },
    spec: { minAvailable: 3, minReadySeconds: 10, selector: { matchLabels: { app: "web" } }, ...spec },
  };
}

/** "drainable 8/10": kind and floor of the replicas. */
function stateOf(spec: object, replicas: number, rule: Partial<FloorRule> = {}): string {
  const made = protector(spec);
  const read = readWish(made);
  assert.ok(read.kind === "wish", JSON.stringify(read));
  const source = followedSource(made, read.wish, { replicas, members: [] });
  const floor = source.spec.floorBy({ percentRounding: "at-least-one", singleReplica: "drainable", ...rule });
  return `${floor.kind} ${floor.minAvailable}/${floor.replicas}`;
}

const cases: readonly (readonly [spec: object, replicas: number, expected: string, rule?: Partial<FloorRule>])[] = [
  // A number is taken at its word.
  [{ maxUnavailable: 2 }, 10, "drainable 8/10"],
  [{ maxUnavailable: 0 }, 10, "undrainable 10/10"],
  [{ maxUnavailable: 12 }, 10, "unprotected 0/10"],
  [{ maxUnavailable: 2 }, 0, "drainable 0/0"],
  // A percentage above zero lets at least one pod go, and otherwise rounds down.
  [{ maxUnavailable: "25%" }, 10, "drainable 8/10"],
  [{ maxUnavailable: "1%" }, 10, "drainable 9/10"],
  [{ maxUnavailable: "25%" }, 1, "unprotected 0/1"],
  [{ maxUnavailable: "25%" }, 1, "undrainable 1/1", { singleReplica: "protected" }],
  [{ maxUnavailable: "0%" }, 10, "undrainable 10/10"],
  [{ maxUnavailable: "100%" }, 10, "unprotected 0/10"],
  [{ maxUnavailable: "29%" }, 100, "drainable 71/100"],
  [{ maxUnavailable: "25%" }, 10, "drainable 7/10", { percentRounding: "up" }],
  [{ maxUnavailable: "25%" }, 3, "undrainable 3/3", { percentRounding: "down" }],
  // A share that must stay is the rest of it.
  [{ minAvailablePercent: 80 }, 10, "drainable 8/10"],
  [{ minAvailablePercent: 80 }, 3, "drainable 2/3"],
  [{ minAvailablePercent: 80 }, 3, "undrainable 3/3", { percentRounding: "down" }],
  [{ minAvailablePercent: 100 }, 10, "undrainable 10/10"],
  [{ minAvailablePercent: 0 }, 10, "unprotected 0/10"],
];

for (const [spec, replicas, expected, rule] of cases)
  test(`${JSON.stringify(spec)} of ${replicas} replicas is ${expected} ${JSON.stringify(rule ?? {})}`, () => {
    assert.equal(stateOf(spec, replicas, rule), expected);
  });

const wrong: readonly (readonly [spec: object, text: RegExp])[] = [
  [{ maxUnavailable: "some" }, /spec\.maxUnavailable: a whole number from 0, or a percentage .* not "some"/],
  [{ maxUnavailable: "101%" }, /spec\.maxUnavailable/],
  [{ maxUnavailable: -1 }, /spec\.maxUnavailable/],
  [{ maxUnavailable: 1.5 }, /spec\.maxUnavailable/],
  [{ maxUnavailable: {} }, /spec\.maxUnavailable/],
  [{ minAvailablePercent: 101 }, /spec\.minAvailablePercent: from 0 to 100 is allowed, and not 101/],
  [{ minAvailablePercent: "80%" }, /spec\.minAvailablePercent/],
  [{ maxUnavailable: 1, minAvailablePercent: 80 }, /only one of them/],
  [{ targets: [deployment] }, /maxUnavailable or minAvailablePercent is needed/],
  [{ maxUnavailable: 1, targets: [] }, /spec\.targets: at least one/],
  [{ maxUnavailable: 1, targets: "web" }, /spec\.targets/],
  [{ maxUnavailable: 1, targets: [{ kind: "Deployment", name: "web" }] }, /spec\.targets\.0\.apiVersion/],
  [{ maxUnavailable: 1, targets: [{ ...deployment, selector: {} }] }, /either a name or a selector/],
  [{ maxUnavailable: 1, targets: [{ apiVersion: "apps/v1", kind: "Deployment" }] }, /either a name or a selector/],
  [
    { maxUnavailable: 1, targets: [{ ...deployment, name: undefined, selector: { matchLabels: { a: 1 } } }] },
    /spec\.targets\.0\.selector/,
  ],
  [{ maxUnavailable: 1, targets: Array.from({ length: 65 }, () => deployment) }, /64 are allowed/],
];

for (const [spec, text] of wrong)
  test(`${JSON.stringify(spec).slice(0, 80)} is wrong, and the text names the field`, () => {
    const read = readWish(protector(spec));
    assert.ok(read.kind === "wrong", JSON.stringify(read));
    assert.match(read.text, text);
    assert.ok(read.text.length < 400);
  });

test("without any of the fields nothing is asked for", () => {
  assert.deepEqual(readWish(protector({})), { kind: "none" });
  assert.equal(isFollowing(protector({})), false);
});

test("the last writer of any of the fields is known", () => {
  const entry = (manager: string, time: string, field: string) => ({
    manager,
    time,
    fieldsV1: { "f:spec": { [field]: {} } },
  });
  const managedFields = [
    entry("helm", "2026-11-20T12:00:00Z", "f:maxUnavailable"),
    entry("kubectl-edit", "2026-11-20T13:00:00Z", "f:targets"),
    entry("podseidon", "2026-11-20T14:00:00Z", "f:minAvailable"),
  ];
  const read = readWish(protector({ maxUnavailable: 1, targets: [deployment] }, { managedFields }));
  assert.ok(read.kind === "wish");
  assert.equal(read.wish.writer?.manager, "kubectl-edit");
  assert.equal(read.wish.words, "maxUnavailable 1");
});

test("what a generator made, what is released and what is being deleted is not followed", () => {
  const spec = { maxUnavailable: 1 };
  assert.ok(isFollowing(protector(spec)));
  const others = [
    { annotations: { [annotations.generated]: "true" } },
    { annotations: { [annotations.released]: "true" } },
    { finalizers: [finalizer] },
    { deletionTimestamp: "2026-11-20T12:00:00Z" },
  ];
  for (const metadata of others) {
    assert.equal(isHandMade(protector(spec, metadata)), false);
    assert.equal(isFollowing(protector(spec, metadata)), false);
  }
});
