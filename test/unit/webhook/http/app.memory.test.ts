/**
 * What a review holds while it waits for the core: not the pod as it came, which takes ten times its bytes when it
 * consists of small objects.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heldMegabytes(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

test("a review that waits does not hold its pod as it came", { timeout: 60_000 }, async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  core.latencyMs = 1_000_000;
  const reviews = 10;
  const large = (name: string): string => {
    const text = JSON.stringify(deleteReview(pod(name)));
    return text.replace('"status":{', `"spec":[${"{},".repeat(250_000)}{}],"status":{`);
  };
  const before = heldMegabytes();
  const waiting = Array.from({ length: reviews }, (_, index) => replica.send(large(`p${index}`)));
  await clock.advance(100);
  // 750 kB each, and as many again in the Request of this test; parsed as they came 14 MB.
  const perReview = (heldMegabytes() - before) / reviews;
  assert.ok(perReview < 5, `${perReview} MB`);
  await settle(clock, Promise.all(waiting));
});
