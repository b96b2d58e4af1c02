import assert from "node:assert/strict";
import { test } from "node:test";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { isForced, judged, relationOf } from "../../../../src/commands/explain/judged.ts";
import { listProtectors } from "../../../../src/commands/fleet/protectors.ts";
import { type Standing, standingOf } from "../../../../src/commands/fleet/standing.ts";
import { createFleet, createProtector, type Fleet, type ProtectorFields } from "../support/fleet.ts";

function podOf(labels: object, own: object = {}, isReady = true) {
  const raw = {
    metadata: { name: "p", namespace: "shop", uid: "u", resourceVersion: "9", labels, annotations: own },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: "2025-01-01T00:00:00Z" }],
    },
  };
  return { cellID: "w1", pod: readPodRecord(raw)!, raw };
}

async function standingIn(fleet: Fleet, fields: ProtectorFields): Promise<Standing> {
  await createProtector(fleet.core, "web", fields);
  const { valid } = await listProtectors(fleet.core.client, "shop", fleet.stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert(read.ok);
  return read.standing;
}

test("a pod that does not meet the criterion may be deleted, and its eviction needs no quota", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  const unready = podOf({ app: "web" }, {}, false);
  for (const operation of ["delete", "evict"] as const) {
    const answer = judged("core/shop/web", view, unready, operation, { cells: undefined, clock: fleet.clock });
    assert.deepEqual([answer.verdict.kind, answer.refusal], ["admitted", undefined]);
  }
  const ready = judged("core/shop/web", view, podOf({ app: "web" }), "delete", {
    cells: undefined,
    clock: fleet.clock,
  });
  assert.equal(ready.verdict.kind, "rejected");
  assert.match(ready.refusal ?? "", /^PodProtector core\/shop\/web reports too few available replicas/);
});

test("the pod's own criterion is asked for, and a criterion that is none is not", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
  const askedBy = (criterion: string) => podOf({ app: "web" }, { [annotations.healthCriterion]: criterion });
  const of = (criterion: string) =>
    judged("id", view, askedBy(criterion), "delete", { cells: undefined, clock: fleet.clock }).verdict.kind;
  // Nothing was counted as Scheduled there, and the pod is not: it needs no quota.
  assert.deepEqual([of("Scheduled"), of("Sheduled")], ["admitted", "admitted"]);
  assert.equal(of("Running"), "rejected");
});

test("a released PodProtector is about no pod, and others are by their labels", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, {});
  assert.equal(relationOf(view, podOf({ app: "web" }).pod), "protected");
  assert.equal(relationOf(view, podOf({ app: "other" }).pod), "none");
  assert.equal(relationOf({ ...view, isReleased: true }, podOf({ app: "web" }).pod), "none");
  assert.equal(isForced(podOf({}, { [annotations.forceDelete]: "" })), true);
});
