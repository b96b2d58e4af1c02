import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { Trickle } from "../../../../src/generator/mass-changes/trickle.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";

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
