import assert from "node:assert/strict";
import { test } from "node:test";
import { ServedCells } from "../../../../src/webhook/http/served-cells.ts";

test("without allowed cells every valid cell is served, and nothing else", () => {
  const cells = new ServedCells(new Set());
  for (const cellID of ["c1", "c1", "Eu-west.1", "x".repeat(63)]) assert.equal(cells.refusal(cellID), undefined);
  for (const cellID of ["", "a/b", "a\nb", "-a", "zelle-ä", "x".repeat(64)]) {
    const refusal = cells.refusal(cellID);
    assert.equal(refusal?.tag, "InvalidCell");
    assert.match(refusal.message, /^the last part of the URL is not a cell: 1 to 63 letters, digits and - _ \. that /);
  }
});

test("with allowed cells only these are served, and the name of another one is quoted only when it is valid", () => {
  const cells = new ServedCells(new Set(["c1", "c2"]));
  for (const cellID of ["c1", "c2", "c1"]) assert.equal(cells.refusal(cellID), undefined);
  assert.deepEqual(cells.refusal("c3"), {
    tag: "CellNotAllowed",
    message: 'the cell "c3" is not served by this webhook (--webhook-allowed-cells, --webhook-client-cells)',
  });
  assert.equal(cells.refusal("c3")?.tag, "CellNotAllowed", "and is not remembered");
  assert.equal(cells.refusal("evil\ncell")?.tag, "InvalidCell");
});

test("more cells than are remembered are still served, and others still refused", () => {
  const cells = new ServedCells(new Set());
  for (let index = 0; index < 1_200; index += 1) assert.equal(cells.refusal(`c${index}`), undefined);
  assert.equal(cells.refusal("c1100"), undefined);
  assert.equal(cells.refusal("c1100-")?.tag, "InvalidCell");
});

test("with cells by label only the URL that says so is served, whatever its end would be otherwise", () => {
  const cells = new ServedCells(new Set(["blue"]), "example.com/cell");
  assert.equal(cells.refusal("by-label"), undefined);
  assert.deepEqual(cells.refusal("blue"), {
    tag: "CellNotAllowed",
    message:
      'the URL ends with "blue", but this webhook reads the cell from the label example.com/cell of the pod ' +
      "(--webhook-cell-label): its URL must end with /by-label",
  });
  assert.equal(cells.refusal("evil\ncell")?.tag, "InvalidCell");
});
