import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../src/api/object-key.ts";
import { Pacer, Trickle } from "../../../src/generator/pacer.ts";
import { at } from "../../support/moment.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { type MonotonicMs } from "../../../src/util/clock.ts";

function take(pacer: Pacer, name: string, nowMs: number): number {
  return pacer.take(objectKey("default", name), at(nowMs));
}

/** Turns taken by an object that asks again whenever it may, until `untilMs`. */
function turnsUntil(pacer: Pacer, name: string, fromMs: number, untilMs: number): number {
  let turns = 0;
  let nowMs = fromMs;
  while (nowMs < untilMs) {
    const waitMs = take(pacer, name, nowMs);
    if (waitMs === 0) turns += 1;
    nowMs += Math.max(waitMs, 1);
  }
  return turns;
}

test("thirty turns come at once, further ones every second", () => {
  const pacer = new Pacer();
  assert.equal(turnsUntil(pacer, "a", 0, 900), 30);
  assert.equal(turnsUntil(pacer, "a", 900, 100_500), 100);
});

test("the answer is exactly when the next turn is free", () => {
  const pacer = new Pacer();
  for (let turn = 0; turn < 30; turn++) assert.equal(take(pacer, "a", 500), 0);
  assert.equal(take(pacer, "a", 500), 1000);
  assert.equal(take(pacer, "a", 1250), 250);
  assert.equal(take(pacer, "a", 1500), 0);
  assert.equal(take(pacer, "a", 1500), 1000);
});

test("an object that waits as long as told has the next turn, at any fraction of a millisecond", () => {
  const rng = createSeededRng(1);
  for (let object = 0; object < 1_000; object++) {
    const pacer = new Pacer();
    let nowMs = rng.next() * 1e6;
    for (let turn = 0; turn < 29; turn++) assert.equal(take(pacer, "a", (nowMs += rng.next() * 100)), 0);
    // Rounding must not leave a wait that no clock can measure: a waiter would ask again and again.
    for (let turn = 0; turn < 100; turn++) {
      const waitMs = take(pacer, "a", nowMs);
      assert.ok(waitMs === 0 || nowMs + waitMs >= nowMs + 1, `${waitMs} ms at ${nowMs}`);
      nowMs += waitMs;
    }
  }
});

test("an object within the pace never waits, and objects do not affect each other", () => {
  const pacer = new Pacer();
  turnsUntil(pacer, "busy", 0, 100_000);
  for (let nowMs = 0; nowMs < 400_000; nowMs += 1000) assert.equal(take(pacer, "calm", nowMs), 0);
});

test("what has been quiet for 30 seconds is forgotten", () => {
  const pacer = new Pacer();
  for (let key = 0; key < 1000; key++) take(pacer, `${key}`, 0);
  assert.equal(pacer.size, 1000);
  turnsUntil(pacer, "busy", 0, 29_000);
  take(pacer, "other", 30_000);
  assert.equal(pacer.size, 2);
});

const key = (name: string) => objectKey("default", name);
const ms = (time: number) => time as MonotonicMs;

test("the first passes at once, and each other one when its turn comes, however often it asks", () => {
  const trickle = new Trickle(1_000);
  assert.equal(trickle.take(key("a"), ms(0)), 0);
  assert.equal(trickle.take(key("b"), ms(0)), 1_000);
  assert.equal(trickle.take(key("c"), ms(0)), 2_000);
  assert.equal(trickle.take(key("b"), ms(400)), 600);
  assert.equal(trickle.take(key("b"), ms(1_000)), 0);
  assert.equal(trickle.take(key("c"), ms(2_000)), 0);
  assert.equal(trickle.take(key("a"), ms(9_000)), 0);
});

test("what is forgotten has no turn any more, and after an end all begins anew", () => {
  const trickle = new Trickle(1_000);
  trickle.take(key("a"), ms(0));
  trickle.take(key("b"), ms(0));
  trickle.forget(key("b"));
  assert.equal(trickle.take(key("b"), ms(0)), 2_000);
  trickle.clear();
  assert.equal(trickle.take(key("c"), ms(0)), 0);
});
