import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, messageOf } from "../../../src/util/printable.ts";
import { LineLimit } from "../../../src/util/line-limit.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { assert as assertThat, AssertionError, assertNever } from "../../../src/util/assert.ts";

test("text of others is shown without control characters and turns of direction, in at most 301 characters", () => {
  assert.equal(printable('received "\u001b[31m\n\u0000\u202e"'), 'received "?[31m???"');
  assert.equal(printable("\u009b31m\u2066\u2028\u200b"), "?31m???");
  assert.equal(printable("x".repeat(10_000_000)).length, 301);
  assert.equal(printable("spec.minAvailable: odd"), "spec.minAvailable: odd");
});

test("an error gives its message, and anything else its text", () => {
  assert.equal(messageOf(new TypeError("broken")), "broken");
  assert.equal(messageOf("broken"), "broken");
  assert.equal(messageOf(undefined), "undefined");
});

function create(keysMax = 10) {
  const clock = createVirtualClock();
  const limit = new LineLimit({ everyMs: 10_000, keysMax, clock });
  const lines: string[] = [];
  const tell = (key: string, what: string): void => limit.tell(key, (others) => void lines.push(`${what} +${others}`));
  return { clock, limit, lines, tell };
}

test("the first of a key is told at once, and the others by a line about the last of them", async () => {
  const { clock, lines, tell } = create();
  for (const what of ["a1", "a2", "a3", "a4"]) tell("a", what);
  assert.deepEqual(lines, ["a1 +0"]);
  await clock.advance(9_999);
  assert.deepEqual(lines, ["a1 +0"]);
  await clock.advance(1);
  assert.deepEqual(lines, ["a1 +0", "a4 +2"]);
});

test("what goes on is told once in each time, and nothing is told of what has ended", async () => {
  const { clock, lines, tell } = create();
  for (let second = 0; second < 25; second += 1) {
    tell("a", `a${second}`);
    await clock.advance(1_000);
  }
  await clock.advance(60_000);
  assert.deepEqual(lines, ["a0 +0", "a9 +8", "a19 +9", "a24 +4"]);
  assert.equal(clock.pendingTimers, 0);
  tell("a", "again");
  assert.equal(lines.at(-1), "again +0");
});

test("keys do not delay each other, and those beyond the limit share their lines", async () => {
  const { clock, lines, tell } = create(2);
  for (const key of ["a", "b", "c", "d", "e", "a"]) tell(key, key);
  assert.deepEqual(lines, ["a +0", "b +0", "c +0"]);
  await clock.advance(10_000);
  assert.deepEqual(lines.slice(3), ["e +1", "a +0"]);
  for (const key of ["f", "g"]) tell(key, key);
  assert.deepEqual(lines.slice(5), ["f +0"], "those that were just told keep their room");
  await clock.advance(20_000);
  for (const key of ["h", "i"]) tell(key, key);
  assert.deepEqual(lines.slice(6), ["g +0", "h +0", "i +0"], "those that are quiet leave theirs");
});

test("at the end what was not told is told, and afterwards nothing waits", () => {
  const { clock, limit, lines, tell } = create();
  for (const what of ["a1", "a2", "a3"]) tell("a", what);
  tell("b", "b1");
  limit.close();
  assert.deepEqual(lines, ["a1 +0", "b1 +0", "a3 +1"]);
  tell("a", "a4");
  assert.equal(lines.at(-1), "a4 +0");
  assert.equal(clock.pendingTimers, 0);
});

test("a true condition passes, a false one throws with the message", () => {
  assertThat(true, "unused");
  assert.throws(
    () => assertThat(false, "broken invariant"),
    (error) =>
      error instanceof AssertionError && error.message === "broken invariant" && error.name === "AssertionError",
  );
});

test("a case that the types exclude throws and names the value", () => {
  assert.throws(() => assertNever({ kind: "odd" } as never), /unexpected value \{"kind":"odd"\}/);
});
