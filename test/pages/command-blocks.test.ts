import assert from "node:assert/strict";
import { test } from "node:test";
import { allCommandBlocks, commandBlocksOf } from "./command-blocks.ts";

test("every block of commands in the pages says that it is run, or why not", () => {
  const blocks = allCommandBlocks();
  assert(blocks.length > 50);
  const silent = blocks.filter(({ mark }) => mark === undefined).map(({ file, line }) => `${file}:${line}`);
  assert.deepEqual(silent, [], 'say "```sh run" or "```sh not run here: reason"');
});

test("a block is found with its line, its text and what it says of itself", () => {
  const page = ["Text.", "", "```sh run", "a", "b", "```", "```sh not run here: too far", "c", "```"].join("\n");
  assert.deepEqual(commandBlocksOf("x.md", page), [
    { file: "x.md", line: 3, text: "a\nb", mark: { kind: "run" } },
    { file: "x.md", line: 7, text: "c", mark: { kind: "not-run", reason: "too far" } },
  ]);
});

test("a block that says nothing, something else or an empty reason has no mark, and other languages are none", () => {
  const page = "```sh\na\n```\n```sh runs\na\n```\n```bash not run here: \na\n```\n```yaml\na: 1\n```\n";
  assert.deepEqual(
    commandBlocksOf("x.md", page).map(({ line, mark }) => [line, mark]),
    [
      [1, undefined],
      [4, undefined],
      [7, undefined],
    ],
  );
});
