import assert from "node:assert/strict";
import { test } from "node:test";
import { later, longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { ParseTurns } from "../../../../src/webhook/http/parse-turns.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const megabyte = 1024 * 1024;
const never = later(longAgo, 0) === longAgo ? (Number.POSITIVE_INFINITY as MonotonicMs) : assert.fail();

const asked = (peer = "10.0.0.1", deadlineMonotonicMs = never) => ({
  deadlineMonotonicMs,
  peer,
  unidentifiedPeer: undefined,
});
const stranger = { deadlineMonotonicMs: never, peer: "10.0.0.9", unidentifiedPeer: "10.0.0.9" };

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
  const all = [1, 2, 3].map((number) => turns.run(megabyte, asked(), () => order.push(number)));
  assert.deepEqual(order, [], "never in the turn of the event loop that read them");
  await clock.advance(0);
  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
  assert.deepEqual(order, [1, 2, 3]);
});

test("after a turn there is a rest of three times as long", async () => {
  const { clock, shifted, spend } = slowClock();
  const turns = new ParseTurns(shifted);
  const order: string[] = [];
  void turns.run(megabyte, asked(), () => (spend(200), order.push("a")));
  void turns.run(megabyte, asked(), () => order.push("b"));
  await clock.advance(599);
  assert.deepEqual(order, ["a"]);
  await clock.advance(1);
  assert.deepEqual(order, ["a", "b"]);
});

test("a review whose turn comes after its deadline is not parsed", async () => {
  const { clock, shifted, spend } = slowClock();
  const turns = new ParseTurns(shifted);
  void turns.run(megabyte, asked(), () => spend(200));
  const late = turns.run(megabyte, asked("10.0.0.1", later(shifted.monotonicMs(), 500)), () => assert.fail("parsed"));
  await clock.advance(600);
  assert.equal(await late, undefined);
});

test("at most 32 MiB wait for their turn, and there is room again when they had it", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const parse = (): string => "parsed";
  const waiting = Array.from({ length: 4 }, () => turns.run(8 * megabyte, asked(), parse));
  assert.equal(await turns.run(1, asked(), parse), undefined);
  await clock.advance(0);
  assert.deepEqual(await Promise.all(waiting), Array.from({ length: 4 }, parse));
  const again = turns.run(64 * megabyte, asked(), parse);
  await clock.advance(0);
  assert.equal(await again, "parsed");
});

test("a mistake in one turn is told to its caller, and the next one has its turn", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const wrong = turns.run(megabyte, asked(), () => assert.fail("a mistake"));
  const next = turns.run(megabyte, asked(), () => "parsed");
  const both = Promise.allSettled([wrong, next]);
  await clock.advance(0);
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ["rejected", "fulfilled"],
  );
});

test("addresses take turns, so that an API server does not wait for all that a stranger has sent", async () => {
  const clock = createVirtualClock();
  const turns = new ParseTurns(clock);
  const order: string[] = [];
  const ask = (from: typeof stranger | ReturnType<typeof asked>, name: string) =>
    turns.run(megabyte, from, () => order.push(name));
  const all = [...["s1", "s2", "s3"].map((name) => ask(stranger, name)), ask(asked(), "a1"), ask(asked(), "a2")];
  await clock.advance(0);
  await Promise.all(all);
  assert.deepEqual(order, ["s1", "a1", "s2", "a2", "s3"]);
});

test("at most 8 MiB of one address wait, unless a client certificate identifies who it is", async () => {
  const turns = new ParseTurns(createVirtualClock());
  const parse = (): string => "parsed";
  void turns.run(7 * megabyte, stranger, parse);
  void turns.run(megabyte, stranger, parse);
  assert.equal(await turns.run(1, stranger, parse), undefined);
  const others = [10, 7, 7].map((size) => turns.run(size * megabyte, asked(), parse));
  assert.equal(await turns.run(1, asked(), parse), undefined, "32 MiB wait");
  assert.equal(others.length, 3);
});
