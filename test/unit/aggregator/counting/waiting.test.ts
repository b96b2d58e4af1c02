import assert from "node:assert/strict";
import { test } from "node:test";
import { Waiting } from "../../../../src/aggregator/counting/waiting.ts";
import { objectKey } from "../../../../src/api/object-key.ts";

const web = objectKey("default", "web");
const api = objectKey("default", "api");
const nothing = { event: 0, barrier: 0, fence: 0 };

test("each kind of news hands out exactly the PodProtectors that wait for it", () => {
  const waiting = new Waiting();
  waiting.forEvent(web);
  waiting.forBarrier(api);
  waiting.forFence("uid-a", web);
  waiting.forFence("uid-b", api);
  assert.deepEqual(waiting.sizes(), { event: 1, barrier: 1, fence: 2 });
  assert.deepEqual(waiting.eventCame(), [web]);
  assert.deepEqual(waiting.sizes(), { event: 0, barrier: 1, fence: 2 });
  assert.deepEqual(waiting.barrierPassed(), [api]);
  assert.deepEqual(waiting.fenceAnswered("uid-b"), [api]);
  assert.deepEqual(waiting.fenceAnswered("uid-a"), [web]);
  assert.deepEqual(waiting.sizes(), nothing);
});

test("a PodProtector that waits twice for the same news is handed out once, and then waits no longer", () => {
  const waiting = new Waiting();
  for (let time = 0; time < 2; time++) {
    waiting.forEvent(web);
    waiting.forBarrier(web);
    waiting.forFence("uid-a", web);
  }
  assert.deepEqual(waiting.eventCame(), [web]);
  assert.deepEqual(waiting.barrierPassed(), [web]);
  assert.deepEqual(waiting.fenceAnswered("uid-a"), [web]);
  assert.deepEqual(waiting.eventCame(), []);
  assert.deepEqual(waiting.barrierPassed(), []);
  assert.deepEqual(waiting.fenceAnswered("uid-a"), []);
});

test("several PodProtectors that wait for one fence are handed out together, in the order of their waits", () => {
  const waiting = new Waiting();
  waiting.forFence("uid-a", web);
  waiting.forFence("uid-a", api);
  assert.deepEqual(waiting.sizes(), { event: 0, barrier: 0, fence: 1 });
  assert.deepEqual(waiting.fenceAnswered("uid-of-another-pod"), []);
  assert.deepEqual(waiting.fenceAnswered("uid-a"), [web, api]);
});

test("a PodProtector that is gone waits for no event and no barrier, and the others go on", () => {
  const waiting = new Waiting();
  for (const key of [web, api]) {
    waiting.forEvent(key);
    waiting.forBarrier(key);
  }
  waiting.forget(web);
  assert.deepEqual(waiting.sizes(), { event: 1, barrier: 1, fence: 0 });
  assert.deepEqual(waiting.eventCame(), [api]);
  assert.deepEqual(waiting.barrierPassed(), [api]);
});

test("when all waits are cleared, no news wakes anything", () => {
  const waiting = new Waiting();
  waiting.forEvent(web);
  waiting.forBarrier(web);
  waiting.forFence("uid-a", web);
  waiting.clear();
  assert.deepEqual(waiting.sizes(), nothing);
  assert.deepEqual(waiting.eventCame(), []);
  assert.deepEqual(waiting.barrierPassed(), []);
  assert.deepEqual(waiting.fenceAnswered("uid-a"), []);
});
