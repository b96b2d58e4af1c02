import assert from "node:assert/strict";
import { test } from "node:test";
import { valueOf, wrongUsage } from "../../../src/commands/command.ts";

test("of an option that may be repeated the last value counts where one is asked for", () => {
  const options = new Map([["core", ["a", "b"]]]);
  assert.equal(valueOf(options, "core"), "b");
  assert.deepEqual([options.has("core"), options.has("watch")], [true, false]);
});

test("wrong usage ends with 2", () => {
  assert.deepEqual(wrongUsage("no"), { exitCode: 2, problem: "no" });
});
