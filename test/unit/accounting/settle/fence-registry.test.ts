import assert from "node:assert/strict";
import { test } from "node:test";
import { FenceRegistry } from "../../../../src/accounting/settle/fence-registry.ts";
import { version } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";

const registry = (): FenceRegistry => new FenceRegistry(10_000, 75_000);

test("a pod that was never fenced may be fenced at once", () => {
  assert.equal(registry().nextSendMs("x", "usual"), -Infinity);
  assert.equal(registry().isForbidden("x"), false);
  assert.equal(registry().fenceOf("x"), undefined);
});

test("beyond its limit further pods settle by the window", () => {
  const fences = new FenceRegistry(10_000, 75_000, 1);
  fences.sending("x", ms(0));
  assert.equal(fences.isForbidden("x"), false);
  assert.equal(fences.isForbidden("y"), true);
});

test("repeats double from the first wait up to the longest", () => {
  const fences = registry();
  const waits: number[] = [];
  let nowMs = 1000;
  for (let count = 0; count < 6; count += 1) {
    fences.sending("x", ms(nowMs));
    assert.equal(fences.nextSendMs("x", "usual"), undefined);
    fences.answered("x", ms(nowMs), version(count + 5));
    const next = fences.nextSendMs("x", "usual") ?? 0;
    waits.push(next - nowMs);
    nowMs = next;
  }
  assert.deepEqual(waits, [10_000, 20_000, 40_000, 75_000, 75_000, 75_000]);
});

test("early repeats double from 2 s, by the same count", () => {
  const fences = registry();
  assert.equal(fences.nextSendMs("x", "early"), -Infinity);
  const waits: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    fences.sending("x", ms(1000));
    assert.equal(fences.nextSendMs("x", "early"), undefined, "while a patch is in flight");
    fences.answered("x", ms(1000), version(5));
    waits.push((fences.nextSendMs("x", "early") ?? 0) - 1000);
  }
  assert.deepEqual(waits, [2000, 4000, 8000, 16_000, 32_000, 64_000, 75_000, 75_000]);
  assert.equal(fences.nextSendMs("x", "usual"), 76_000);
});

test("early repeats are never later than the usual ones", () => {
  const fences = new FenceRegistry(500, 75_000);
  fences.sending("x", ms(1000));
  fences.failed("x", ms(1000), "unanswered");
  assert.equal(fences.nextSendMs("x", "early"), 1500);
});

test("a fence was sent before a moment when none was sent since", () => {
  const fences = registry();
  assert.equal(fences.wasSentBefore("x", ms(9)), false);
  fences.sending("x", ms(5));
  assert.deepEqual([fences.wasSentBefore("x", ms(4)), fences.wasSentBefore("x", ms(5))], [false, true]);
  fences.sending("x", ms(8));
  assert.deepEqual([fences.wasSentBefore("x", ms(7)), fences.wasSentBefore("x", ms(9))], [false, true]);
});

test("only an answer makes a fence; a failure proves nothing and keeps an earlier one", () => {
  const fences = registry();
  fences.sending("x", ms(1));
  fences.failed("x", ms(1), "unanswered");
  assert.equal(fences.fenceOf("x"), undefined);
  fences.sending("x", ms(2));
  fences.answered("x", ms(2), version(20));
  fences.sending("x", ms(3));
  fences.failed("x", ms(1), "unanswered");
  assert.deepEqual(fences.fenceOf("x"), { sentAtMs: 2, version: "20" });
});

test("an answer that overtakes an older one stays", () => {
  const fences = registry();
  fences.sending("x", ms(1));
  fences.answered("x", ms(5), version(50));
  fences.answered("x", ms(1), version(10));
  assert.deepEqual(fences.fenceOf("x"), { sentAtMs: 5, version: "50" });
});

test("a refused pod is forbidden, others are not", () => {
  const fences = registry();
  fences.sending("x", ms(1));
  fences.refused("x");
  assert.deepEqual(
    [fences.isForbidden("x"), fences.nextSendMs("x", "usual"), fences.isForbidden("y")],
    [true, undefined, false],
  );
});

test("pods that were not fenced for long are forgotten, except while a patch is in flight", () => {
  const fences = registry();
  for (const uid of ["idle", "in-flight", "recent"]) fences.sending(uid, ms(uid === "recent" ? 900 : 0));
  fences.answered("idle", ms(0), version(1));
  fences.refused("recent");
  fences.prune(ms(1000), 999);
  assert.equal(fences.size, 2);
  assert.deepEqual(
    [fences.nextSendMs("idle", "usual"), fences.nextSendMs("in-flight", "usual"), fences.isForbidden("recent")],
    [-Infinity, undefined, true],
  );
});

test("answers for pods that nobody knows are ignored", () => {
  const fences = registry();
  fences.answered("x", ms(1), version(1));
  fences.failed("x", ms(1), "unanswered");
  fences.refused("x");
  assert.equal(fences.size, 0);
});

test("a full registry sends further pods to the window", () => {
  const fences = registry();
  for (let count = 0; count < 100_000; count += 1) fences.sending(`p${count}`, ms(0));
  assert.deepEqual([fences.isForbidden("one more"), fences.isForbidden("p7")], [true, false]);
});

test("failures are a run from the first patch on, and an answer ends it", () => {
  const fences = registry();
  const fail = (sentAtMs: number, failure: "refused" | "unanswered") => {
    fences.sending("x", ms(sentAtMs));
    fences.failed("x", ms(sentAtMs), failure);
    return fences.failingOf("x");
  };
  assert.equal(fences.failingOf("x"), undefined);
  assert.deepEqual(fail(10, "refused"), { sinceMs: 10, refusedSinceMs: 10, lastSentAtMs: 10 });
  assert.deepEqual(fail(20, "refused"), { sinceMs: 10, refusedSinceMs: 10, lastSentAtMs: 20 });
  assert.deepEqual(fail(30, "unanswered"), { sinceMs: 10, refusedSinceMs: undefined, lastSentAtMs: 30 });
  assert.deepEqual(fail(40, "refused"), { sinceMs: 10, refusedSinceMs: 40, lastSentAtMs: 40 });
  fences.sending("x", ms(50));
  fences.aborted("x");
  assert.deepEqual(fences.failingOf("x"), { sinceMs: 10, refusedSinceMs: 40, lastSentAtMs: 40 });
  fences.sending("x", ms(60));
  fences.answered("x", ms(60), version(7));
  assert.equal(fences.failingOf("x"), undefined);
});

test("an own write is found by when it was sent, and known by when it was answered", () => {
  const fences = registry();
  assert.equal(fences.ownWriteAfter(ms(0)), undefined);
  fences.wrote(ms(100), ms(150));
  assert.equal(fences.ownWriteAfter(ms(99)), 150);
  assert.equal(fences.ownWriteAfter(ms(100)), undefined);
});

test("of own writes every second the newest is known, and for any older moment one a tenth of a window later", () => {
  const fences = registry();
  for (let second = 0; second < 1000; second += 1) fences.wrote(ms(second * 1000), ms(second * 1000 + 5));
  assert.equal(fences.ownWriteAfter(ms(998_999)), 999_005);
  for (const agoMs of [0, 5_000, 30_000, 75_000, 150_000]) {
    const wroteAtMs = fences.ownWriteAfter(ms(998_500 - agoMs)) ?? Infinity;
    assert.ok(wroteAtMs <= 998_500 - agoMs + 8_000, `${agoMs} ms ago: ${wroteAtMs}`);
  }
});
