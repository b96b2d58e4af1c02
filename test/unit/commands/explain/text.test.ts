import assert from "node:assert/strict";
import { test } from "node:test";
import { explanationText, isRefused } from "../../../../src/commands/explain/text.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { createFleet, createProtector, createRefusal, plainTerminal } from "../support/fleet.ts";

test("nothing is refused where nothing is known", () => {
  const view = { asked: undefined, at: 0 as EpochMicros, program: "podseidon", terminal: plainTerminal };
  assert.equal(explanationText({ explained: [], unusable: [] }, view), "");
  assert.equal(isRefused({ explained: [], unusable: [] }), false);
});

test("texts from the cluster cannot write escape codes, and lines fit 80 columns", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w\u001b[31m1", available: 2 }] });
  await createRefusal(fleet, { name: "web", count: 2, agoMs: 0, message: `\u001b]0;title\u0007${"x ".repeat(300)}` });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  assert.match(stdout, /^[\x20-\x7e…\n]*$/);
  for (const line of stdout.split("\n")) assert(line.length <= 80, line);
  assert.match(stdout, /\n {2}refused {3}2 times lately, last 0\.0 s ago\n {12}2 x TooFewReplicas: \?\]0;title\?x x /);
});
