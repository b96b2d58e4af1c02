import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FirstCounts } from "../../../../src/accounting/count/first-counts.ts";
import { longAgo } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";
import { counts } from "../samples.ts";

const windowMs = 75_000;
const by = (countedGeneration: number) => counts(3, { countedGeneration });

/** The watch shows these generations, one a second; "!" after one: it has another selector than the one before. */
function seen(...generations: readonly string[]): FirstCounts {
  const [first = "1", ...others] = generations;
  const wait = new FirstCounts(Number.parseInt(first, 10), at(0));
  for (const [index, text] of others.entries())
    wait.sawGeneration(Number.parseInt(text, 10), !text.endsWith("!"), at(1_000 * (index + 1)));
  return wait;
}

describe("the moment of first counts", () => {
  const wanted = (wait: FirstCounts, wasCounted: boolean, blindUntilMs = longAgo) =>
    wait.fromMs(wait.want("spec", undefined, at(0)), wasCounted, blindUntilMs, windowMs);

  test("is a settle window after this process began to know which PodProtectors there are", () => {
    assert.equal(wanted(seen("1"), false, at(500)), 75_500);
  });

  test("does not wait for that in a cell that has counts: whoever made them has waited", () => {
    assert.equal(wanted(seen("1"), true, at(500)), 0);
  });

  test("is a settle window after a former object was gone, counts or not", () => {
    const wait = seen("1");
    wait.remade(at(200));
    assert.equal(wanted(wait, true), 75_200);
    assert.equal(wanted(wait, false, at(500)), 75_500, "the later of the two");
  });

  test("is after the selector was edited, or might have been", () => {
    assert.equal(wanted(seen("1", "2"), true), 0);
    assert.equal(wanted(seen("1", "2!"), true), 1_000);
    assert.equal(wanted(seen("1", "3"), true), 1_000, "a generation was not seen");
  });
});

describe("recorded counts with a generation", () => {
  const isOutdated = (recorded: number, ...generations: readonly string[]): boolean =>
    seen(...generations).outdatedFromMs(by(recorded)) !== undefined;

  test("are outdated when a generation after them had another selector", () => {
    assert.equal(isOutdated(5, "5", "6!", "7!"), true);
    assert.equal(isOutdated(6, "5", "6!", "7!"), false, "counted by the edit itself: their hash tells");
    assert.equal(isOutdated(7, "5", "6!", "7!"), false);
  });

  test("are outdated when a generation after them was not seen", () => {
    assert.equal(isOutdated(5, "7"), true);
    assert.equal(isOutdated(5, "6", "7"), false, "a process that has just started saw the next one");
    assert.equal(isOutdated(5, "5", "8"), true);
  });

  test("are not outdated by edits that leave the selector, or by a restore that brings earlier generations", () => {
    assert.equal(isOutdated(5, "5", "6", "7", "8"), false);
    assert.equal(isOutdated(5, "5", "6", "3"), false);
  });

  test("are counted again by a barrier that was sent after the present selector was seen", () => {
    assert.equal(seen("5", "6!", "7!", "8").outdatedFromMs(by(5)), 2_000);
  });

  test("those without one are never outdated: nothing orders them", () => {
    assert.equal(seen("9").outdatedFromMs(counts(3)), undefined);
    assert.equal(seen("9").outdatedFromMs(undefined), undefined);
  });
});

test("counts carry the generation that the watch has shown last, over unmarked ones only after a barrier", () => {
  const wait = seen("5", "6!", "7");
  assert.equal(wait.generationOver(by(6), longAgo), 7);
  assert.equal(wait.generationOver(counts(3), at(1_000)), undefined);
  assert.equal(wait.generationOver(counts(3), at(1_001)), 7);
  assert.equal(wait.generationOver(undefined, at(1_001)), 7);
  assert.equal(seen("0").generationOver(undefined, at(1_001)), undefined, "the object has none");
});
