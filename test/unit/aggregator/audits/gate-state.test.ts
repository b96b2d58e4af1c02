import assert from "node:assert/strict";
import { test } from "node:test";
import { type Finding, GateState } from "../../../../src/aggregator/audits/gate-state.ts";

const ok: Finding = { kind: "ok" };
const missing: Finding = { kind: "missing" };
const unreachable: Finding = { kind: "unreachable", why: "no" };
const unknown: Finding = { kind: "unknown", why: "no", isForbidden: false };
const other = (cell: string): Finding => ({ kind: "other-cell", cell });

/** What each finding changes: "+kind", "-kind", or "". */
function changes(...findings: readonly Finding[]): string[] {
  const state = new GateState();
  return findings.map((finding) => {
    const change = state.found(finding);
    return change === undefined ? "" : `${change.kind === "began" ? "+" : "-"}${change.fault.kind}`;
  });
}

test("a fault of the gate begins when two probes in a row have found it, and ends with the first good one", () => {
  assert.deepEqual(changes(ok, missing, missing, missing, ok, ok), ["", "", "+missing", "", "-missing", ""]);
});

test("one bad probe between good ones is no fault of the gate", () => {
  assert.deepEqual(changes(missing, ok, missing, ok, other("b"), ok), ["", "", "", "", "", ""]);
});

test("probes that find different faults do not confirm each other", () => {
  assert.deepEqual(changes(missing, other("b"), other("c"), other("c")), ["", "", "", "+other-cell"]);
});

test("a fault that another one follows goes over into it", () => {
  assert.deepEqual(changes(missing, missing, unreachable, unreachable, ok), [
    "",
    "+missing",
    "",
    "+unreachable",
    "-unreachable",
  ]);
});

test("a fault of the gate goes on when another was found only once", () => {
  assert.deepEqual(changes(missing, missing, unreachable, missing, unreachable, unreachable), [
    "",
    "+missing",
    "",
    "",
    "",
    "+unreachable",
  ]);
});

test("a probe that finds nothing out neither begins nor ends a fault of the gate", () => {
  assert.deepEqual(changes(unknown, unknown, missing, unknown, missing, unknown, ok), [
    "",
    "",
    "",
    "",
    "+missing",
    "",
    "-missing",
  ]);
});

test("nothing is known of the gate before a good probe or a fault, and after a reset", () => {
  const state = new GateState();
  state.found(unknown);
  assert.equal(state.isKnown, false);
  state.found(missing);
  assert.deepEqual([state.isKnown, state.isSuspicious], [false, true]);
  state.found(missing);
  assert.deepEqual([state.isKnown, state.isSuspicious, state.fault?.kind], [true, false, "missing"]);
  state.reset();
  assert.deepEqual([state.isKnown, state.isSuspicious, state.fault], [false, false, undefined]);
  state.found(ok);
  assert.equal(state.isKnown, true);
});
