import assert from "node:assert/strict";
import { test } from "node:test";
import { glanceAt } from "../../../../src/accounting/silence/glance.ts";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { type FleetCells } from "../../../../src/commands/fleet/cells.ts";
import { differingVersions } from "../../../../src/commands/fleet/versions.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { lease } from "../../accounting/silence/lease-lists.ts";

const seen = (one: CellLease) => ({ lease: one, glance: glanceAt(one, 0 as EpochMicros) });

/** `cells`: cell to version. */
function fleet(generator: string | undefined, cells: Readonly<Record<string, string | undefined>>): FleetCells {
  const all = Object.entries(cells).map(([cellID, productVersion]) => {
    return [cellID, { cellID, ...seen(lease(cellID, "1", { productVersion })) }] as const;
  });
  return {
    cells: new Map(all),
    observer: generator === undefined ? undefined : seen(lease(undefined, "1", { productVersion: generator })),
  };
}

test("roles of one release have nothing to say, nor has one that tells no release", () => {
  assert.equal(differingVersions(fleet("2", { a: "2", b: "2" })), undefined);
  assert.equal(differingVersions(fleet("2", { a: "2", b: undefined })), undefined);
  assert.equal(differingVersions(fleet(undefined, { a: "1" })), undefined);
  assert.equal(differingVersions(fleet("1", {})), undefined);
});

test("the generator and the aggregators of each release are named where they differ", () => {
  assert.equal(
    differingVersions(fleet("2 (b)", { a: "1 (a)", b: "2 (b)", c: "1 (a)" })),
    "generator 2 (b), aggregators of a, c 1 (a), aggregator of b 2 (b)",
  );
  assert.equal(differingVersions(fleet(undefined, { a: "1", b: "2" })), "aggregator of a 1, aggregator of b 2");
});

test("of many cells of one release the first few are named", () => {
  const cells = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`c${index}`, "1"]));
  assert.equal(differingVersions(fleet("2", cells)), "generator 2, aggregators of c0, c1, c2, c3, c4 and 3 more 1");
});
