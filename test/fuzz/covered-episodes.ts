/**
 * The episodes that `make fuzz COVERAGE=1` measures: a test file, because Node's test runner is what measures branches.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawEpisode } from "./draw-episode.ts";
import { play } from "./play.ts";
import { addOutcome, emptyTally } from "./tally.ts";

const seed = Number(process.env["SEED"]);
const inputs = Number(process.env["INPUTS"]);

test(`${inputs} inputs of seed ${seed}`, async () => {
  const tally = emptyTally();
  for (let index = 0; tally.inputs < inputs; index += 1) addOutcome(tally, index, await play(drawEpisode(seed, index)));
  assert.deepEqual(tally.failures, []);
});
