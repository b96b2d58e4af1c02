import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { later } from "../../../../src/util/clock.ts";
import {
  bodyBytesMax,
  ReviewBodies,
  type ReviewBody,
  smallBytesMax,
} from "../../../../src/webhook/http/review-body.ts";
import { createVirtualClock, drainMicrotasks } from "../../../support/virtual-clock.ts";

const megabyte = 1024 * 1024;
const chunk = (megabytes: number): Buffer => Buffer.alloc(megabytes * megabyte, 0x20);
const lengthOf = (body: ReviewBody): number | string => (body.ok ? body.bytes.length : body.problem);

function reader() {
  const clock = createVirtualClock();
  const bodies = new ReviewBodies(clock);
  const read = async (source: Readable, length?: number, timeoutMs = 10_000): Promise<number | string> => {
    const deadline = later(clock.monotonicMs(), timeoutMs);
    return lengthOf(await bodies.read(source, length === undefined ? undefined : String(length), deadline));
  };
  /** A body of which only this much comes. */
  const stalled = (bytes: number, length?: number, timeoutMs?: number) => {
    const source = new Readable({ read() {} });
    source.push(Buffer.alloc(bytes));
    return { source, result: read(source, length, timeoutMs) };
  };
  return { clock, bodies, read, stalled };
}

const isPending = async (promise: Promise<unknown>): Promise<boolean> => {
  await drainMicrotasks();
  return (await Promise.race([promise, drainMicrotasks()])) === undefined;
};

test("bodies of reviews are put together from their chunks", async () => {
  const { clock, bodies } = reader();
  const source = Readable.from([Buffer.from("ab"), Buffer.from("c")]);
  const body = await bodies.read(source, undefined, later(clock.monotonicMs(), 1));
  assert.ok(body.ok);
  assert.equal(body.bytes.toString(), "abc");
});

test("bodies of reviews that say they are too large are refused unread", async () => {
  const source = Readable.from([chunk(1)]);
  assert.equal(await reader().read(source, bodyBytesMax + 1), "tooLarge");
  assert.equal(source.readableDidRead, false);
});

test("bodies of reviews that turn out too large are refused, and no longer read", async () => {
  let produced = 0;
  const endless = new Readable({
    read() {
      produced += 1;
      this.push(chunk(1));
    },
  });
  assert.equal(await reader().read(endless), "tooLarge");
  const before = produced;
  await drainMicrotasks();
  assert.ok(produced - before <= 1, "the buffer of the stream may fill once more");
  endless.destroy();
});

test("bodies of reviews that break off are reported, by an error and by a close alike", async () => {
  for (const error of [new Error("ECONNRESET"), undefined]) {
    const source = new Readable({ read() {} });
    source.push("{");
    const result = reader().read(source);
    source.destroy(error);
    assert.equal(await result, "broken");
  }
});

test("when large bodies under way hold 64 MiB, the first of them makes room for a newcomer", async () => {
  const { read, stalled } = reader();
  const unfinished = Array.from({ length: 9 }, () => stalled(7 * megabyte - 1, 7 * megabyte));
  await drainMicrotasks();
  assert.equal(await read(Readable.from([chunk(7)]), 7 * megabyte), 7 * megabyte);
  assert.equal(await unfinished[0]?.result, "full");
  for (const { result } of unfinished.slice(1)) assert.ok(await isPending(result));
  // What has been read holds nothing any more, however much it was.
  for (let turn = 0; turn < 20; turn += 1) assert.equal(await read(Readable.from([chunk(1)])), megabyte);
  for (const { result } of unfinished.slice(1)) assert.ok(await isPending(result));
});

test("large bodies take no room of small ones, also when they do not say their length", async () => {
  const { read, stalled } = reader();
  const small = stalled(smallBytesMax);
  const large = Array.from({ length: 40 }, () => stalled(2 * megabyte));
  await drainMicrotasks();
  assert.ok(await isPending(small.result));
  assert.equal((await Promise.all(large.slice(0, 8).map(({ result }) => result))).join(), Array(8).fill("full").join());
  assert.equal(await read(Readable.from(["{}"])), 2);
});

test("when small bodies under way hold 64 MiB, the first of them makes room for a newcomer", async () => {
  const { stalled, read } = reader();
  const unfinished = Array.from({ length: 256 }, () => stalled(smallBytesMax));
  await drainMicrotasks();
  assert.equal(await read(Readable.from(["{}"])), 2);
  assert.equal(await unfinished[0]?.result, "full");
  assert.ok(await isPending(unfinished[1]!.result));
});

test("a body that comes slower than 100 kB a second is given up, after two seconds of grace", async () => {
  const { clock, stalled } = reader();
  const steady = stalled(1);
  const stuck = stalled(100_000, 7 * megabyte);
  const lost = stalled(1);
  await drainMicrotasks();
  await clock.advance(2_000);
  for (let second = 3; second <= 5; second += 1) {
    steady.source.push(Buffer.alloc(100_000));
    await clock.advance(1_000);
  }
  assert.equal(await lost.result, "slow");
  assert.equal(await stuck.result, "slow");
  assert.ok(await isPending(steady.result));
  steady.source.push(null);
  assert.equal(await steady.result, 300_001);
  await clock.advance(1_000);
  assert.equal(clock.pendingTimers, 0);
});

test("a body that came while the process stood still is read before it is judged", async () => {
  const virtual = createVirtualClock();
  let stoodStillMs = 0;
  const clock = { ...virtual, monotonicMs: () => later(virtual.monotonicMs(), stoodStillMs) };
  const bodies = new ReviewBodies(clock);
  const read = (source: Readable): Promise<ReviewBody> =>
    bodies.read(source, undefined, later(clock.monotonicMs(), 10_000));
  const [source, stuck] = [new Readable({ read() {} }), new Readable({ read() {} })];
  source.push("a");
  const results = [read(source), read(stuck)] as const;
  await drainMicrotasks();
  stoodStillMs = 5_000;
  await virtual.advance(500);
  source.push("b");
  source.push(null);
  assert.equal(lengthOf(await results[0]), 2);
  // What still does not come is given up, however late the next look is.
  stoodStillMs = 10_000;
  await virtual.advance(500);
  assert.equal(lengthOf(await results[1]), "slow");
});

test("a body that is not there before the deadline of its review is given up", async () => {
  const { clock, stalled } = reader();
  const { result } = stalled(megabyte, undefined, 1_000);
  await clock.advance(1_000);
  assert.equal(await result, "slow");
});
