/** What each gate refuses and allows: the cases of planted/<gate>.txt. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkApis } from "../../scripts/check/apis.ts";
import { checkBudgets } from "../../scripts/check/budgets.ts";
import { checkCircles } from "../../scripts/check/circles.ts";
import { checkFiles, checkFolders } from "../../scripts/check/files.ts";
import { checkImports } from "../../scripts/check/imports.ts";
import { checkMembers } from "../../scripts/check/members.ts";
import { checkPackages } from "../../scripts/check/packages.ts";
import { checkReferences } from "../../scripts/check/references.ts";
import { Repository } from "../../scripts/check/repository.ts";
import { checkTests } from "../../scripts/check/tests.ts";
import { checkTimes } from "../../scripts/check/times.ts";
import { checkWidth } from "../../scripts/check/width.ts";
import { readCases, withPlantedTree } from "./planted-tree.ts";

const gates: Readonly<Record<string, (repository: Repository) => string[]>> = {
  apis: checkApis,
  budgets: checkBudgets,
  circles: checkCircles,
  files: checkFiles,
  folders: checkFolders,
  imports: checkImports,
  members: checkMembers,
  packages: checkPackages,
  references: checkReferences,
  tests: checkTests,
  times: checkTimes,
  width: checkWidth,
};

for (const [gate, check] of Object.entries(gates)) {
  for (const { what, files, problems } of readCases(gate)) {
    test(`the gate "${gate}" ${problems.length === 0 ? "allows" : "refuses"} ${what}`, () => {
      withPlantedTree(files, (root) => {
        const found = check(new Repository(root)).map((problem) => problem.replaceAll(root, "<root>"));
        assert.deepEqual(found, problems);
      });
    });
  }
}
