// Each gate of `make check`, run as `make check` runs it, passes on a sound tree and fails on a planted violation.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { type Planted, readCases, repositoryRoot, withPlantedTree } from "./planted-tree.ts";

/** A gate takes a second or two on a tiny tree. */
const gateTimeoutMs = 60_000;

function runGates(planted: Planted, ...gates: string[]): { status: number | null; output: string } {
  return withPlantedTree(planted, (root) => {
    const script = path.join(repositoryRoot, "scripts/check.ts");
    const result = spawnSync(process.execPath, [script, `--root=${root}`, ...gates], {
      encoding: "utf8",
      timeout: gateTimeoutMs,
    });
    return { status: result.status, output: result.stdout + result.stderr };
  });
}

test("all gates pass on a sound tree", () => {
  const { status, output } = runGates({});
  assert.equal(status, 0, output);
  assert.match(output, /check: all gates passed/);
});

/** Each is `<gate>: <what>`, and its problem a pattern: what the tools say is theirs. */
for (const { what, files, problems } of readCases("gates")) {
  const [gate = ""] = what.split(":");
  test(`${what}: the gate fails`, () => {
    const { status, output } = runGates(files, gate);
    for (const problem of problems) assert.match(output, new RegExp(problem));
    assert.match(output, new RegExp(`check: FAILED: ${gate}`));
    assert.equal(status, 1);
  });
}

test("a gate that does not exist is refused by name", () => {
  const { status, output } = runGates({}, "typos");
  assert.match(output, /no such gate: typos; gates: types, lint/);
  assert.equal(status, 2);
});
