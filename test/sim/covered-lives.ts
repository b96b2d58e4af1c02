/** The lives that `make sim COVERAGE=1` measures: a test file, because Node's test runner is what measures branches. SEED and SEEDS say which. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { live } from "./life.ts";

const firstSeed = Number(process.env["SEED"]);
const seeds = Number(process.env["SEEDS"]);

for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
  test(`the life of seed ${seed}`, async () => {
    const { failure } = await live({ seed });
    assert.equal(failure, undefined);
  });
}
