import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../../src/api/micro-time.ts";
import { cellFindings } from "../../../../../src/commands/check/findings/cells.ts";
import { type CellFacts } from "../../../../../src/commands/check/facts.ts";
import { before, cell, core, now, protector, read } from "../sound-facts.ts";

const { silentSince, keepUntil, gate, behind, forget } = cellLeaseAnnotations;
const silent = { [silentSince]: formatMicroTime(before(600)) };

function found(one: CellFacts, checked: readonly string[] = []): readonly string[] {
  const heartbeats = read({ cells: [one], observer: undefined });
  const findings = cellFindings(core({ heartbeats }), now, new Set(checked));
  return findings.map(({ level, check, text }) => `${level} ${check}: ${text}`);
}

test("a cell that is heard is in order", () => {
  assert.deepEqual(found(cell("a")), ['ok cell-silent: cell "a" was last heard 2.0 s ago']);
});

test("a cell that the generator has marked is silent since then", () => {
  const text = 'cell "a" has been silent for 10 m 00 s: its pods count for nothing';
  assert.deepEqual(found(cell("a", { annotations: silent })), [`fail cell-silent: ${text}`]);
});

test("where nobody marks, a Lease that was not renewed for its time is silent, and before that late", () => {
  assert.match(found(cell("a", { renewedSecondsAgo: 400 }))[0] ?? "", /^fail cell-silent/);
  assert.match(found(cell("a", { renewedSecondsAgo: 170 }))[0] ?? "", /^warn cell-silent/);
  assert.match(found(cell("a", { renewedSecondsAgo: 40 }))[0] ?? "", /^ok /);
});

test("a cell whose clock is behind is not silent while the API server sees its writes", () => {
  assert.match(found(cell("a", { renewedSecondsAgo: 900, writtenSecondsAgo: 2 }))[0] ?? "", /^ok /);
});

test("a silent cell whose counts a person keeps is a note", () => {
  const annotations = { ...silent, [keepUntil]: formatMicroTime(before(-600)) };
  assert.match(found(cell("a", { annotations }))[0] ?? "", /^note cell-keep/);
  assert.match(
    found(cell("a", { annotations: { ...silent, [keepUntil]: formatMicroTime(before(60)) } }))[0] ?? "",
    /^fail /,
  );
});

test("a cell that is being retired is a note, whether it is silent or not", () => {
  assert.deepEqual(found(cell("a", { annotations: { ...silent, [forget]: "true" } })), [
    'note cell-retiring: cell "a" is being retired',
  ]);
});

test("what its aggregator says of the webhook is told, unless its worker is looked at", () => {
  const one = cell("a", { annotations: { [gate]: "missing" } });
  assert.match(found(one)[1] ?? "", /^fail gate: .*pod deletions there are not reviewed/);
  assert.equal(found(one, ["a"]).length, 1);
});

test("PodProtectors that an aggregator cannot count, and annotations that nobody can read, are warnings", () => {
  assert.match(found(cell("a", { annotations: { [behind]: "AAAAAAAAAAA=" } }))[1] ?? "", /^warn cell-behind/);
  const unreadable = cell("a", { annotations: { [keepUntil]: "tomorrow" } });
  assert.match(found(unreadable)[1] ?? "", /^warn annotation-ignored: .*keep-until=tomorrow/);
});

const aggregation = { totalReplicas: 1, availableReplicas: 1 };

test("a counted cell without a Lease may be dead, and a cell with promises alone is a ghost", () => {
  const bucket = { startTime: "2026-01-01T00:00:00Z", podUID: "u", podName: "p" };
  const cells = [
    { cellID: "a", aggregation },
    { cellID: "old", aggregation },
    { cellID: "ghost", admissionHistory: { buckets: [bucket] } },
  ];
  const facts = core({
    heartbeats: read({ cells: [cell("a")], observer: undefined }),
    protectors: read({ valid: [protector("x", { cells }), protector("y", { cells })], invalid: [] }),
  });
  const texts = cellFindings(facts, now, new Set()).map(({ level, text }) => `${level} ${text}`);
  assert.equal(texts.length, 3);
  assert.match(texts[1] ?? "", /^warn cell "ghost" is a ghost: 2 PodProtectors have promised deletions there/);
  assert.match(texts[2] ?? "", /^warn cell "old" counts in 2 PodProtectors and has no Lease/);
});
