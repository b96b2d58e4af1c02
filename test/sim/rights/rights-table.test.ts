import assert from "node:assert/strict";
import { test } from "node:test";
import { grantedRights } from "./accounts.ts";
import { shownElsewhere, takenRights } from "./rights-table.ts";

test("each right of the manifests is in the table of what becomes of the roles without it", () => {
  const shown = [...takenRights.map(({ right }) => right), ...shownElsewhere];
  assert.deepEqual(shown.toSorted(), grantedRights().toSorted());
});
