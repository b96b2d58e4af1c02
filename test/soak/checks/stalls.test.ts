import assert from "node:assert/strict";
import { test } from "node:test";
import { Stalls } from "./stalls.ts";

test("what ran into a stall, or began in its aftermath, was hit, and nothing else", () => {
  let nowMs = 0;
  const stalls = new Stalls(() => nowMs);
  const tickAt = (ms: number): void => {
    nowMs = ms;
    stalls.tick();
  };
  tickAt(250);
  tickAt(1_000);
  assert.equal(stalls.hit(0), false);
  tickAt(4_000);
  assert.equal(stalls.hit(900), true);
  for (let ms = 4_250; ms <= 20_000; ms += 250) tickAt(ms);
  assert.equal(stalls.hit(13_900), true);
  assert.equal(stalls.hit(14_100), false);
  assert.equal(stalls.count, 1);
});

test("a stall that nobody has noticed yet is noticed when it is asked about", () => {
  let nowMs = 0;
  const stalls = new Stalls(() => nowMs);
  nowMs = 2_000;
  assert.equal(stalls.hit(500), true);
});
