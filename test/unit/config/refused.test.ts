/**
 * Settings that are refused, each with its whole message, in refused.txt: `$` the command line, `env` a variable,
 * `file` a line of the configuration file f, then the message. Every mistake is one line that names it, says what is
 * allowed and gives the nearest match.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { loadBad } from "./load.ts";

const text = readFileSync(path.join(import.meta.dirname, "refused.txt"), "utf8");
const cases = text.split("\n\n").filter((block) => block.startsWith("$"));

for (const block of cases) {
  const lines = block.trimEnd().split("\n");
  const message = lines.pop();
  const valuesOf = (mark: string): string[] =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const argv = (lines[0]?.slice(1).match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
  const env = Object.fromEntries(valuesOf("env ").map((line) => line.split(/=(.*)/s, 2)));
  const file = valuesOf("file ");
  test(`settings are refused with what is allowed: ${lines.join("; ")}`, () => {
    const said = loadBad(argv, { env, files: file.length > 0 ? { f: file.join("\n") } : {} });
    assert.match(said, /^[\x20-\x7e]+$/);
    assert.equal(said, message);
  });
}

test("the list of refused settings is complete", () => {
  assert.equal(cases.length, 125);
});
