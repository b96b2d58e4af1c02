import assert from "node:assert/strict";
import { it } from "node:test";
import { flagNames } from "../../../src/config/flag-table.ts";
import { defaultText, helpText } from "../../../src/config/help.ts";
import { load } from "./load.ts";

it("the help fits 80 columns, has no colour, and ends each line cleanly", () => {
  for (const line of helpText().split("\n")) {
    assert(line.length <= 80, line);
    assert.match(line, /^[\x20-\x7e]*$/);
    assert.equal(line, line.trimEnd());
  }
});

it("every flag stands in the help once, below its component", () => {
  const lines = helpText().split("\n");
  for (const name of flagNames) {
    const found = lines.filter((line) => line.startsWith(`  --${name}=`) || line.startsWith(`  --${name}[`));
    assert.equal(found.length, 1, name);
  }
  const heading = lines.indexOf("Webhook (webhook)");
  assert(heading > 0 && heading < lines.indexOf("  --webhook-port=PORT"));
});

it("defaults are written as a person would write them", () => {
  assert.equal(defaultText("aggregator-settle-window"), "1m15s");
  assert.equal(defaultText("core-kube-config"), undefined);
});

it("--help needs no role", () => {
  const loaded = load(["--help"]);
  assert(loaded.kind === "help");
  assert.equal(loaded.text, helpText());
});
