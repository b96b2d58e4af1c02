import assert from "node:assert/strict";
import { test } from "node:test";
import { later, longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { ParseTurns } from "../../../../src/webhook/http/parse-turns.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const megabyte = 1024 * 1024;
const never = later(longAgo, 0) === longAgo ? (Number.POSITIVE_INFINITY as MonotonicMs) : assert.fail();

/** A clock on which a parse can take time. */
function slowClock() {
  const clock = createVirtualClock();
  let spentMs = 0;
  const shifted = { ...clock, monotonicMs: () => later(clock.monotonicMs(), spentMs) };
  return { clock, shifted, spend: (ms: number) => void (spentMs += ms) };
}

test("large reviews are parsed one after the other, in the order in which they came", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const order: number[] = [];
  const all = [1, 2, 3].map((number) => turns.run(megabyte, never, () => order.push(number)));
  assert.deepEqual(order, [], "never in the turn of the event loop that read them");
  await clock.advance(0);
  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
  assert.deepEqual(order, [1, 2, 3]);
});

test("after a turn there is a rest of three times as long", async () => {
  const { clock, shifted, spend } = slowClock();
  const turns = new ParseTurns(shifted);
  const order: string[] = [];
  void turns.run(megabyte, never, () => (spend(200), order.push("a")));
  void turns.run(megabyte, never, () => order.push("b"));
  await clock.advance(599);
  assert.deepEqual(order, ["a"]);
  await clock.advance(1);
  assert.deepEqual(order, ["a", "b"]);
});

test("a review whose turn comes after its deadline is not parsed", async () => {
  const { clock, shifted, spend } = slowClock();
  const turns = new ParseTurns(shifted);
  void turns.run(megabyte, never, () => spend(200));
  const late = turns.run(megabyte, later(shifted.monotonicMs(), 500), () => assert.fail("parsed"));
  await clock.advance(600);
  assert.equal(await late, undefined);
});

test("at most 32 MiB wait for their turn, and there is room again when they had it", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const parse = (): string => "parsed";
  const waiting = Array.from({ length: 4 }, () => turns.run(8 * megabyte, never, parse));
  assert.equal(await turns.run(1, never, parse), undefined);
  await clock.advance(0);
  assert.deepEqual(await Promise.all(waiting), Array.from({ length: 4 }, parse));
  const again = turns.run(64 * megabyte, never, parse);
  await clock.advance(0);
  assert.equal(await again, "parsed");
});

test("a mistake in one turn is told to its caller, and the next one has its turn", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const wrong = turns.run(megabyte, never, () => assert.fail("a mistake"));
  const next = turns.run(megabyte, never, () => "parsed");
  const both = Promise.allSettled([wrong, next]);
  await clock.advance(0);
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ["rejected", "fulfilled"],
  );
});
