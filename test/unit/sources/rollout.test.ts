import assert from "node:assert/strict";
import { test } from "node:test";
import { deployments } from "../../../src/sources/deployment.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { rollouts } from "../../../src/sources/rollout.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };
const up: FloorRule = { ...rule, percentRounding: "up" };
const down: FloorRule = { ...rule, percentRounding: "down" };
const hash = "rollouts-pod-template-hash";

const canary = (more: object = {}): object => ({ strategy: { canary: { steps: [{ setWeight: 20 }], ...more } } });
const routed = (more: object = {}): object => canary({ trafficRouting: { nginx: { stableIngress: "web" } }, ...more });
const blueGreen = { strategy: { blueGreen: { activeService: "web", previewReplicaCount: 1 } } };
const workloadRef = { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } };

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(spec: object, by = rule): string {
  const read = rollouts.readSpec({ selector, ...spec });
  assert.ok(read !== undefined);
  const floor = read.floorBy(by);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}
const selectorOf = (spec: object, status?: unknown) => rollouts.readSpec(spec, status)?.selector;
const withHash = (value: string) => ({ matchLabels: { app: "web", [hash]: value } });

test("replicas, minReadySeconds and selector are read, the pod template is not", () => {
  const read = rollouts.readSpec({ replicas: 3, minReadySeconds: 5, selector, template: {}, ...canary() });
  const { floorBy: _, ...facts } = read!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector });
});

test("a canary that shares its replicas has the floor of a Deployment with these fields", () => {
  for (let replicas = 0; replicas <= 12; replicas++) {
    for (const maxUnavailable of [undefined, 0, 1, "0%", "10%", "50%", "100%"]) {
      for (const maxSurge of [undefined, 0, 1, "0%", "10%"]) {
        const fields = { maxUnavailable, maxSurge };
        const read = rollouts.readSpec({ replicas, selector, ...canary(fields) })!;
        const dynamic = rollouts.readSpec({ replicas, selector, ...routed({ ...fields, dynamicStableScale: true }) })!;
        const same = deployments.readSpec({ replicas, selector, strategy: { rollingUpdate: fields } })!;
        for (const by of [rule, protects, up, down]) {
          assert.deepEqual(read.floorBy(by), same.floorBy(by));
          assert.deepEqual(dynamic.floorBy(by), same.floorBy(by));
        }
      }
    }
  }
});

test("where the stable pods stay complete, an update takes none of them, and owners lend as they say", () => {
  const cases: readonly (readonly [spec: object, expected: string, by?: FloorRule])[] = [
    [{ replicas: 10, ...routed() }, "drainable 8/10"],
    [{ replicas: 3, ...routed() }, "drainable 2/3"],
    [{ replicas: 3, ...routed() }, "undrainable RoundedDownToZero 3/3", down],
    [{ replicas: 10, ...routed({ maxUnavailable: 0, maxSurge: 0 }) }, "undrainable MaxUnavailableZero 10/10"],
    [{ replicas: 10, ...routed({ maxUnavailable: 4 }) }, "drainable 6/10"],
    [{ replicas: 10, ...blueGreen }, "drainable 8/10"],
    [{ replicas: 10, ...blueGreen }, "drainable 7/10", up],
    [{ replicas: 1, ...blueGreen }, "unprotected SingleReplica 0/1"],
    [{ replicas: 1, ...blueGreen }, "undrainable SingleReplica 1/1", protects],
    [{ replicas: 0, ...blueGreen }, "drainable 0/0"],
    [{ ...blueGreen, paused: true }, "unprotected SingleReplica 0/1"],
  ];
  for (const [spec, expected, by] of cases) assert.equal(stateOf(spec, by), expected, JSON.stringify(spec));
});

test("of blue-green only the active pods count, when Argo says which these are", () => {
  const spec = { selector, ...blueGreen };
  assert.deepEqual(selectorOf(spec, { selector: `app=web,${hash}=abc12` }), withHash("abc12"));
  // The hash of the Service alone says nothing: such a ReplicaSet need not exist.
  const statuses = [undefined, null, "x", {}, { selector: "app=web", blueGreen: { activeSelector: "gone" } }];
  for (const status of [...statuses, { selector: `${hash}!=a` }, { selector: `app=web,${hash}=` }, { selector: 5 }])
    assert.deepEqual(selectorOf(spec, status), selector, JSON.stringify(status));
});

test("of a canary with traffic routing only the stable pods count, unless the stable ones shrink", () => {
  const status = { stableRS: "old7", currentPodHash: "new8", selector: "app=web" };
  assert.deepEqual(selectorOf({ selector, ...routed() }, status), withHash("old7"));
  assert.deepEqual(selectorOf({ selector, ...routed({ dynamicStableScale: true }) }, status), selector);
  assert.deepEqual(selectorOf({ selector, ...canary() }, status), selector);
  for (const stableRS of [undefined, "", "not a label", 5])
    assert.deepEqual(selectorOf({ selector, ...routed() }, { ...status, stableRS }), selector);
});

test("with workloadRef the selector may be that of the workload, which Argo publishes, and only own pods count", () => {
  const ours = { key: hash, operator: "Exists" };
  const app = { key: "app", operator: "In", values: ["web"] };
  const spec = { ...workloadRef, ...canary() };
  assert.deepEqual(selectorOf({ ...spec, selector }), { ...selector, matchExpressions: [ours] });
  for (const absent of [{}, { selector: null }, { selector: {} }])
    assert.deepEqual(selectorOf({ ...spec, ...absent }, { selector: "app=web" }), { matchExpressions: [app, ours] });
  const active = { ...workloadRef, ...blueGreen };
  assert.deepEqual(selectorOf(active, { selector: `app=web,${hash}=abc` }), {
    matchExpressions: [app],
    matchLabels: { [hash]: "abc" },
  });
  const tier = { matchExpressions: [{ key: "tier", operator: "Exists" }] };
  assert.deepEqual(selectorOf({ ...spec, selector: tier }), { matchExpressions: [...tier.matchExpressions, ours] });
});

test("while nothing says which pods are its own, there is nothing to protect them by", () => {
  for (const status of [undefined, {}, { selector: "" }, { selector: "<none>" }, { selector: `${hash}=abc` }]) {
    assert.equal(selectorOf({ ...workloadRef, ...canary() }, status), undefined, JSON.stringify(status));
    assert.equal(selectorOf({ selector: {}, ...blueGreen }, status), undefined, JSON.stringify(status));
  }
});

test("a Rollout without strategy, which Argo refuses, is read as a canary", () => {
  assert.equal(stateOf({ replicas: 10 }), "drainable 8/10");
  assert.equal(stateOf({ replicas: 10, strategy: { canary: null, blueGreen: null } }), "drainable 8/10");
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  const broken = [null, "x", {}, { selector: 5 }, { selector, replicas: "3" }, { selector, strategy: 5 }];
  for (const raw of [...broken, { selector, strategy: { canary: 5 } }])
    assert.equal(rollouts.readSpec(raw), undefined, JSON.stringify(raw));
});
