import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { flagsPage } from "../../../../src/config/pages/docs.ts";
import { flagNames } from "../../../../src/config/flag-table.ts";

test("docs/flags.md is up to date: node scripts/n.mjs src/config/pages/docs.ts", () => {
  const page = readFileSync(path.join(import.meta.dirname, "../../../../docs/flags.md"), "utf8");
  assert.equal(page, flagsPage());
});

test("every flag has a row with four cells", () => {
  const rows = flagsPage().split("\n");
  for (const name of flagNames) {
    const row = rows.find((line) => line.startsWith(`| \`--${name}\` |`));
    assert.equal(row?.replaceAll("\\|", "").split("|").length, 6, name);
  }
});
