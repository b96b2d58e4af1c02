import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { withConditions, readyOf, withReady } from "../../../../src/api/v1alpha1/conditions.ts";
import { type Condition, type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const now = parseTime("2026-01-02T03:04:05.678901Z") as EpochMicros;
const earlier = "2026-01-01T00:00:00Z";
const silent: Condition = {
  type: "CellSilent",
  status: "True",
  reason: "NoHeartbeat",
  message: "Cell b is silent",
  lastTransitionTime: earlier,
};
const foreign = { ...silent, type: "example.com/Audited", observedGeneration: 3 };
const vanished = { reason: "SourceVanished", message: "Deployment web is gone" } as const;

test("a condition that becomes true is added with the time of the transition in whole seconds", () => {
  assert.deepEqual(withConditions([foreign], { Dangling: vanished }, now), [
    foreign,
    { type: "Dangling", status: "True", ...vanished, lastTransitionTime: "2026-01-02T03:04:05Z" },
  ]);
});

test("the generation that was looked at is written where it is known, and another one is news", () => {
  const found = (observedGeneration: number) =>
    ({ FloorResolved: { reason: "ReplicasKnown", message: "10 replicas", observedGeneration } }) as const;
  const written = withConditions(undefined, found(4), now);
  assert.equal(written?.[0]?.observedGeneration, 4);
  assert.equal(withConditions(written, found(4), now), written);
  assert.equal(withConditions(written, found(5), now)?.[0]?.observedGeneration, 5);
  assert.equal(withConditions([foreign, silent], { CellSilent: false }, now)?.[0]?.observedGeneration, 3);
});

test("the generation of the call is written with all conditions that are there, true or ended", () => {
  const found = { CellSilent: { reason: "NoHeartbeat", message: silent.message }, Dangling: false } as const;
  const once = withConditions([silent], found, now, 4);
  assert.deepEqual(once, [{ ...silent, observedGeneration: 4 }]);
  assert.equal(withConditions(once, found, now, 4), once);
  const ended = withConditions(once, { CellSilent: false }, now, 5);
  assert.equal(ended?.[0]?.observedGeneration, 5);
  assert.equal(withConditions(ended, { CellSilent: false }, now, 5), ended);
  const later = withConditions(ended, { CellSilent: false }, now, 6);
  assert.deepEqual(later, [{ ...ended?.[0], observedGeneration: 6 }]);
});

test("a condition that was never true is not written as false", () => {
  assert.equal(withConditions(undefined, { Dangling: false, Undrainable: false }, now), undefined);
  const existing = [foreign];
  assert.equal(withConditions(existing, { Dangling: false }, now), existing);
});

test("the same list comes back when nothing changes, so that the caller need not write", () => {
  const existing = [foreign, silent];
  assert.equal(
    withConditions(existing, { CellSilent: { reason: "NoHeartbeat", message: silent.message } }, now),
    existing,
  );
  assert.equal(withConditions(existing, {}, now), existing);
});

test("a condition that ends is kept as false, with a reason and the time of its end", () => {
  assert.deepEqual(withConditions([silent, foreign], { CellSilent: false }, now), [
    { ...silent, status: "False", reason: "CellsReport", message: "", lastTransitionTime: "2026-01-02T03:04:05Z" },
    foreign,
  ]);
});

test("a condition that has ended stays as it is, whatever reason another release gave for the end", () => {
  const existing: Condition[] = [{ ...silent, status: "False", reason: "AllCellsBeat" }];
  assert.equal(withConditions(existing, { CellSilent: false }, now), existing);
});

test("another message or reason of a true condition keeps the time of its transition", () => {
  const found = { CellSilent: { reason: "NoHeartbeat", message: "Cells b and c are silent" } } as const;
  assert.deepEqual(withConditions([silent], found, now), [{ ...silent, message: "Cells b and c are silent" }]);
});

test("a condition that comes back is true again with a new time", () => {
  const ended: Condition = { ...silent, status: "False", reason: "CellsReport", message: "" };
  const found = { CellSilent: { reason: "NoHeartbeat", message: silent.message } } as const;
  assert.deepEqual(withConditions([ended], found, now), [{ ...silent, lastTransitionTime: "2026-01-02T03:04:05Z" }]);
});

test("a message longer than 1,024 characters is cut, and is the same when it is found again", () => {
  const found = { CellSilent: { reason: "NoHeartbeat", message: "x".repeat(2000) } } as const;
  const once = withConditions(undefined, found, now);
  assert.equal(once?.[0]?.message.length, 1024);
  assert.equal(withConditions(once, found, now), once);
});

test("every type and reason of the source stands in the table of docs/conditions.md", () => {
  const source = readFileSync("src/api/v1alpha1/conditions.ts", "utf8");
  const reasons = /interface Reasons \{([^}]*)\}/.exec(source)?.[1] ?? "";
  const inCode = [...reasons.matchAll(/readonly (\w+):\s+([^;]+);/g)].map(([, type, union = ""]) => [
    type,
    [...union.matchAll(/"(\w+)"/g)].map(([, reason]) => reason),
  ]);
  const rows = [...readFileSync("docs/conditions.md", "utf8").matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|/gm)];
  const inDocs = rows.map(([, type, cell = ""]) => [type, [...cell.matchAll(/`(\w+)`/g)].map(([, reason]) => reason)]);
  assert.equal(inCode.length, 18);
  assert.deepEqual(inDocs, inCode);
});

const counted: readonly CellStatus[] = [{ cellID: "a", aggregation: { totalReplicas: 3, availableReplicas: 3 } }];

const holds = (type: string, status: Condition["status"] = "True"): Condition => ({
  type,
  status,
  reason: "Any",
  message: "",
  lastTransitionTime: earlier,
});
const readiness = (types: readonly string[], cells = counted): string => {
  const conditions = types.map((type) => holds(type));
  const ready = readyOf(withReady(conditions, cells, { generation: 1, now }));
  return `${ready?.status} ${ready?.reason}`;
};

test("an object that is counted and of which nothing is to be said is ready", () => {
  assert.deepEqual(withReady([], counted, { generation: 7, now }), [
    {
      type: "Ready",
      status: "True",
      reason: "Ready",
      message: "Counted in all cells",
      lastTransitionTime: "2026-01-02T03:04:05Z",
      observedGeneration: 7,
    },
  ]);
  assert.equal(readiness(["FloorResolved", "example.com/Audited"]), "True Ready");
});

test("an object is not ready while its counts are not there or not usable", () => {
  for (const type of ["Unusable", "CountsPending", "CellSilent", "Unmatched"])
    assert.equal(readiness(["AtFloor", "BelowFloor", "Undrainable", type]), `False ${type}`);
  assert.equal(readiness(["Undrainable"], []), "False CountsPending");
  assert.equal(readiness(["Undrainable"], [{ cellID: "a" }]), "False CountsPending");
  assert.equal(readiness(["Unmatched"], []), "False Unmatched");
});

test("the reason of a ready object is the condition that matters most", () => {
  assert.equal(readiness(["AtFloor", "Undrainable", "BelowFloor", "Dangling"]), "True BelowFloor");
  assert.equal(readiness(["AtFloor", "Undrainable", "Dangling"]), "True Dangling");
  assert.equal(readiness(["AtFloor", "Undrainable"]), "True Undrainable");
  assert.equal(readyOf(withReady([holds("AtFloor", "False")], counted, { generation: 1, now }))?.reason, "Ready");
});

test("the same list comes back while nothing changes, and the time is that of the last change of the status", () => {
  const ready = { ...holds("Ready"), reason: "Ready", message: "Counted in all cells", observedGeneration: 3 };
  const before = [ready];
  assert.equal(withReady(before, counted, { generation: 3, now }), before);
  const [atFloor] = withReady([ready, holds("AtFloor")], counted, { generation: 3, now });
  assert.partialDeepStrictEqual(atFloor, { reason: "AtFloor", lastTransitionTime: earlier });
  const [pending] = withReady([ready, holds("CountsPending")], counted, { generation: 3, now });
  assert.partialDeepStrictEqual(pending, { status: "False", lastTransitionTime: "2026-01-02T03:04:05Z" });
});

test("who has not counted keeps the generation that was observed", () => {
  const ready = { ...holds("Ready"), observedGeneration: 3 };
  const [after] = withReady([ready, holds("Dangling")], counted, { generation: undefined, now });
  assert.partialDeepStrictEqual(after, { reason: "Dangling", observedGeneration: 3 });
  const [edited] = withReady([ready], counted, { generation: 4, now });
  assert.equal(edited?.observedGeneration, 4);
  assert.equal("observedGeneration" in (withReady([], counted, { generation: undefined, now })[0] ?? {}), false);
});

test("docs/conditions.md has the states in the order in which they are looked for", () => {
  const source = readFileSync("src/api/v1alpha1/conditions.ts", "utf8");
  const table = /const states[^{]*\{([^}]*)\}/.exec(source)?.[1] ?? "";
  const inCode = [...table.matchAll(/^ {2}(\w+): "(True|False)"/gm)].map(([, type, status]) => [type, status]);
  const rows = readFileSync("docs/conditions.md", "utf8").matchAll(/^\| (\w+) \| `(True|False)` \|/gm);
  const inDocs = [...rows].map(([, type, status]) => [type, status]);
  assert.equal(inCode.length, 17);
  assert.deepEqual(inDocs, [...inCode, ["Ready", "True"]]);
});
