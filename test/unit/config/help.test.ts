import assert from "node:assert/strict";
import { test } from "node:test";
import { flagNames } from "../../../src/config/flag-table.ts";
import { defaultText, flagSections } from "../../../src/config/help.ts";

const isLineOf = (line: string, name: string): boolean =>
  line.startsWith(`  --${name}=`) || line.startsWith(`  --${name}[`);

test("every flag stands in the help once, below its component or among the rarely needed or ignored ones", () => {
  const sections = flagSections().map(({ title = "", body }) => ({ title, lines: body.split("\n") }));
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

test("defaults are written as a person would write them", () => {
  assert.equal(defaultText("aggregator-settle-window"), "1m15s");
  assert.equal(defaultText("core-kube-config"), undefined);
});
