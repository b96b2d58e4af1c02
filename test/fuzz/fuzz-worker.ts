/** A worker thread of the fuzzer: plays a range of episodes and reports its sums. */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { drawEpisode } from "./draw-episode.ts";
import { play } from "./play.ts";
import { addOutcome, emptyTally, type Range } from "./tally.ts";

assert.ok(parentPort !== null, "this file is for worker threads");
const port = parentPort;

async function playAll({ seed, from, end }: Range): Promise<void> {
  const tally = emptyTally();
  for (let index = from; index < end; index += 1) addOutcome(tally, index, await play(drawEpisode(seed, index)));
  port.postMessage(tally, []);
}

port.on("message", (range: Range) => void playAll(range));
