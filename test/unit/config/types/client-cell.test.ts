import assert from "node:assert/strict";
import { test } from "node:test";
import { clientCellProblem, readClientCell } from "../../../../src/config/types/client-cell.ts";

test("the cell of a client stands after the last equals sign, since names of certificates may hold some", () => {
  assert.deepEqual(readClientCell("spiffe://example.com/a?b=c=worker-1"), {
    name: "spiffe://example.com/a?b=c",
    cell: "worker-1",
  });
});

test("a client without a name, or with what is no cell, is a problem that names the part", () => {
  assert.equal(clientCellProblem("worker-1=worker-1"), undefined);
  assert.equal(clientCellProblem("worker-1"), "is not NAME=CELL");
  assert.equal(clientCellProblem("=worker-1"), "is not NAME=CELL");
  assert.equal(clientCellProblem("a\nb=worker-1"), "begins with what is not a certificate name");
  assert.equal(clientCellProblem(`${"a".repeat(254)}=worker-1`), "begins with what is not a certificate name");
  assert.equal(clientCellProblem("a=b/c"), 'ends with "b/c", which is not a cell ID');
  assert.equal(clientCellProblem("a="), 'ends with "", which is not a cell ID');
});
