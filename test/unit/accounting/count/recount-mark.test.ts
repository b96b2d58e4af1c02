import assert from "node:assert/strict";
import { test } from "node:test";
import { RecountMarks } from "../../../../src/accounting/count/recount-mark.ts";
import { at, counts, timeText } from "../samples.ts";

const day = 86_400;

function marksAt(seconds: number) {
  const refused: string[] = [];
  const marks = new RecountMarks({ now: () => at(seconds), onRefused: (mark) => void refused.push(mark) });
  return { marks, refused };
}

test("a recount is recognized by a later mark than the known one, not by other counts", () => {
  const { marks } = marksAt(0);
  const plain = counts(3);
  const first = counts(3, { recountedAt: timeText(10) });
  const second = counts(2, { recountedAt: timeText(20) });
  assert.equal(marks.isRecountedSince(plain, counts(2)), false);
  assert.equal(marks.isRecountedSince(undefined, plain), false);
  assert.equal(marks.isRecountedSince(plain, first), true);
  assert.equal(marks.isRecountedSince(first, first), false);
  assert.equal(marks.isRecountedSince(first, second), true);
  assert.equal(
    marks.isRecountedSince(second, first),
    false,
    "a backup brought back the state after an earlier recount",
  );
  assert.equal(marks.isRecountedSince(first, plain), false);
  assert.equal(marks.isRecountedSince(first, undefined), false);
});

test("the next mark is the time, or a microsecond after the latest mark before it", () => {
  const { marks } = marksAt(50);
  assert.equal(marks.next([]), timeText(50));
  assert.equal(marks.next([undefined, timeText(7)]), timeText(50));
  assert.equal(marks.next([timeText(50), undefined]), timeText(50.000001));
  assert.equal(marks.next([timeText(1850), timeText(60)]), timeText(1850.000001));
});

test("a mark more than a day ahead of the own clock is read as absent, and told once", () => {
  const { marks, refused } = marksAt(50);
  const edge = timeText(50 + day);
  const forged = timeText(50.000001 + day);
  assert.equal(marks.isRecountedSince(counts(3), counts(3, { recountedAt: edge })), true);
  assert.equal(marks.next([edge]), forged);
  assert.deepEqual(refused, []);
  assert.equal(marks.isRecountedSince(counts(3), counts(3, { recountedAt: forged })), false);
  assert.equal(
    marks.isRecountedSince(counts(3, { recountedAt: forged }), counts(3, { recountedAt: timeText(60) })),
    true,
    "the recount after a forged mark is accepted",
  );
  assert.equal(marks.next([forged]), timeText(50));
  assert.deepEqual(refused, [forged]);
});

test("a mark that was near the clock once is believed without another look at it, and so are earlier ones", () => {
  let seconds = 50;
  let looks = 0;
  const now = () => {
    looks += 1;
    return at(seconds);
  };
  const marks = new RecountMarks({ now, onRefused: () => {} });
  const first = counts(3, { recountedAt: timeText(10) });
  const second = counts(3, { recountedAt: timeText(20) });
  assert.equal(marks.isRecountedSince(first, second), true);
  const before = looks;
  seconds = 50 - 2 * day;
  assert.equal(marks.isRecountedSince(first, second), true);
  assert.equal(marks.isRecountedSince(second, first), false);
  assert.equal(looks, before);
  assert.equal(marks.isRecountedSince(second, counts(3, { recountedAt: timeText(30) })), false);
});
