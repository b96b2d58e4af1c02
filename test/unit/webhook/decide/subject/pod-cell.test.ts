import assert from "node:assert/strict";
import { test } from "node:test";
import { isCellID } from "../../../../../src/api/cell-id.ts";
import { PodCells } from "../../../../../src/webhook/decide/subject/pod-cell.ts";

const key = "example.com/cell";
const byLabel = new PodCells(key, new Set(["blue", "green"]));

test("without a label the end of the URL is the cell of every pod", () => {
  const cells = new PodCells(undefined, new Set(["blue"]));
  assert.deepEqual(cells.of({ [key]: "blue" }, "worker-1"), { ok: true, cellID: "worker-1" });
});

test("with a label its value is the cell, if it is one that is served", () => {
  assert.deepEqual(byLabel.of({ app: "web", [key]: "blue" }, "by-label"), { ok: true, cellID: "blue" });
  assert.deepEqual(byLabel.of({ app: "web", [key]: "green" }, "by-label"), { ok: true, cellID: "green" });
});

test("a pod without the label, or with another value, has no cell, and the reason names label, value and cells", () => {
  assert.deepEqual(byLabel.of({ app: "web" }, "by-label"), {
    ok: false,
    cellID: "-",
    reason: "it lacks the label example.com/cell (--webhook-cell-label)",
    advice: 'Give the pod this label, with the name of a cell: "blue", "green"',
  });
  assert.deepEqual(byLabel.of({ [key]: "red" }, "by-label"), {
    ok: false,
    cellID: "-",
    reason: 'its label example.com/cell (--webhook-cell-label) is "red", which is none of --webhook-allowed-cells',
    advice: 'Make the pod again with this label, with the name of a cell: "blue", "green"',
  });
  assert.equal(isCellID(byLabel.of({}, "by-label").cellID), false);
});

test("names that every object has are no cells, and values of any length and content are shown safely", () => {
  const odd = new PodCells("constructor", new Set(["blue"]));
  assert.equal(odd.of({}, "by-label").ok, false);
  for (const value of ["", "__proto__", "constructor", "by-label"])
    assert.equal(byLabel.of({ [key]: value }, "by-label").ok, false, value);
  const long = byLabel.of({ [key]: `\n\u001b[31m${"x".repeat(1_000_000)}` }, "by-label");
  assert(!long.ok && long.reason.length < 500);
  assert.doesNotMatch(long.reason, /[\n\u001b]/);
});

test("of many cells some are named", () => {
  const cells = new PodCells(key, new Set(Array.from({ length: 20 }, (_, index) => `c${index}`)));
  const none = cells.of({}, "by-label");
  assert(!none.ok);
  assert.match(none.advice, /"c7" and 12 more$/);
});
