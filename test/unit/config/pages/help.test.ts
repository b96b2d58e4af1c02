import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import path from "node:path";
import { roleHelp, defaultText, roleHelpText } from "../../../../src/config/pages/help.ts";
import { roles } from "../../../../src/config/flag.ts";
import { flagNames, isUsedBy } from "../../../../src/config/flag-table.ts";
import { loadGood } from "../load.ts";
import { flagsPage } from "../../../../src/config/pages/docs.ts";

const isLineOf = (line: string, name: string): boolean =>
  line.startsWith(`  --${name}=`) || line.startsWith(`  --${name}[`);

test("every flag stands in the whole help once, below its component or among the rarely needed or ignored ones", () => {
  const sections = roleHelpText(new Set(), true)
    .split("\n\n")
    .map((section) => ({ title: section.split(":\n", 1)[0] ?? "", lines: section.split("\n") }));
  for (const name of flagNames) {
    const found = sections.flatMap(({ lines }) => lines).filter((line) => isLineOf(line, name));
    assert.equal(found.length, 1, name);
  }
  const titleOf = (name: string): string | undefined =>
    sections.find(({ lines }) => lines.some((line) => isLineOf(line, name)))?.title;
  assert.equal(titleOf("webhook-port"), "Webhook (webhook)");
  assert.equal(titleOf("klog-v"), "Logs (all roles)");
  assert.equal(titleOf("core-kube-impersonate-uid"), "Rarely needed flags");
  assert.match(titleOf("klog-vmodule") ?? "", /^Flags of upstream without effect/);
  assert.match(titleOf("aggregator-pod-relist-period") ?? "", /^Flags of upstream without effect/);
  assert.equal(sections.at(-2)?.title, "Rarely needed flags");
  assert.match(sections.at(-1)?.title ?? "", /^Flags of upstream without effect/);
});

test("the whole help of a role has its flags only", () => {
  const help = roleHelpText(new Set(["webhook"]), true);
  assert.match(help, /^ {2}--webhook-port=/m);
  assert.doesNotMatch(help, /--aggregator-cell-id|--generator-sources/);
});

for (const role of roles) {
  test(`the help of ${role} fits one screen of 50 lines: its ten first flags, and two examples that load`, () => {
    const help = roleHelpText(new Set([role]), false);
    const named = [...help.matchAll(/^ {2}--([a-z.-]+)/gm)].map(([, name = ""]) => name);
    assert.deepEqual(named, [...roleHelp[role].flags], "flags");
    assert.equal(new Set(named).size, 10);
    for (const name of roleHelp[role].flags) assert.ok(isUsedBy(name, new Set([role])), name);
    const lines = help.split("\n");
    assert(lines.length <= 50, `${lines.length} lines`);
    for (const line of lines) assert.match(line, /^[\x20-\x7e]{0,80}$/);
    const calls = roleHelp[role].examples
      .join("\n")
      .replaceAll(/ \\\n\s*/g, " ")
      .split("\n")
      .filter((line) => !line.startsWith("#"));
    assert.equal(calls.length, 2);
    for (const call of calls) loadGood(call.split(" ").slice(1));
  });
}

test("defaults are written as a person would write them", () => {
  assert.equal(defaultText("aggregator-settle-window"), "1m15s");
  assert.equal(defaultText("core-kube-config"), undefined);
});

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
