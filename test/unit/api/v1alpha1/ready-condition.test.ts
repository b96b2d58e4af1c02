import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { type CellStatus, type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { readyOf, withReady } from "../../../../src/api/v1alpha1/ready-condition.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const now = parseTime("2026-01-02T03:04:05.678901Z") as EpochMicros;
const earlier = "2026-01-01T00:00:00Z";
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
  const source = readFileSync("src/api/v1alpha1/ready-condition.ts", "utf8");
  const table = /const states[^{]*\{([^}]*)\}/.exec(source)?.[1] ?? "";
  const inCode = [...table.matchAll(/^ {2}(\w+): "(True|False)"/gm)].map(([, type, status]) => [type, status]);
  const rows = readFileSync("docs/conditions.md", "utf8").matchAll(/^\| (\w+) \| `(True|False)` \|/gm);
  const inDocs = [...rows].map(([, type, status]) => [type, status]);
  assert.equal(inCode.length, 14);
  assert.deepEqual(inDocs, [...inCode, ["Ready", "True"]]);
});
