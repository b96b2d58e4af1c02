import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeWindow } from "../../../../src/generator/mass-changes/change-window.ts";
import { after, noon } from "./samples.ts";

const some = { text: "manager/x", isHalfTooMany: true };
const deletion = { text: "namespace/x", isHalfTooMany: false };

function windowOf(count: number, cause = some.text, { at = noon, isApplied = false, prefix = "" } = {}) {
  const window = new ChangeWindow();
  fill(window, count, cause, { at, isApplied, prefix });
  return window;
}

function fill(window: ChangeWindow, count: number, cause: string, { at = noon, isApplied = false, prefix = "" } = {}) {
  for (let index = 0; index < count; index++)
    window.add({ id: `${prefix}${index}`, cause, at, endsProtection: true, isApplied });
}

test("more than 20, or than a tenth of the PodProtectors, are too many", () => {
  const exceeded = (count: number, protectors: number) =>
    windowOf(count, deletion.text).exceededBy(noon, deletion, protectors, noon);
  assert.deepEqual([exceeded(20, 60), exceeded(21, 60)], [undefined, "namespace/x"]);
  assert.deepEqual([exceeded(100, 1_000), exceeded(101, 1_000)], [undefined, "namespace/x"]);
});

test("more than half of at least six are too many for cascades and scaling", () => {
  const exceeded = (count: number, protectors: number, cause = some) =>
    windowOf(count, cause.text).exceededBy(noon, cause, protectors, noon);
  assert.deepEqual([exceeded(3, 6), exceeded(4, 6), exceeded(5, 5)], [undefined, "manager/x", undefined]);
  assert.equal(exceeded(6, 6, deletion), undefined);
});

test("what was taken away within the window raises the number that the threshold is of", () => {
  const applied = windowOf(4, some.text, { isApplied: true });
  assert.equal(applied.exceededBy(noon, some, 4, noon), undefined, "4 of 8");
  assert.equal(windowOf(4).exceededBy(noon, some, 7, noon), "manager/x", "4 of 7");
});

test("all causes together are too many at five times the threshold", () => {
  const window = new ChangeWindow();
  for (let cause = 0; cause < 6; cause++) fill(window, 17, `namespace/${cause}`, { prefix: `${cause}-` });
  assert.equal(window.exceededBy(noon, { text: "namespace/0", isHalfTooMany: false }, 150, noon), "core");
  window.remove("0-0");
  window.remove("0-1");
  assert.equal(window.exceededBy(noon, { text: "namespace/0", isHalfTooMany: false }, 150, noon), undefined);
});

test("only what lies within ten minutes counts, before or after", () => {
  const window = windowOf(15, deletion.text);
  fill(window, 15, deletion.text, { at: after(601), prefix: "later-" });
  assert.equal(window.exceededBy(noon, deletion, 60, after(601)), undefined);
  fill(window, 15, deletion.text, { at: after(300), prefix: "between-" });
  assert.equal(window.exceededBy(noon, deletion, 60, after(601)), "namespace/x");
  window.clear();
  assert.equal(window.exceededBy(noon, deletion, 60, noon), undefined);
});

test("changes before and after the one that is judged count together, where all lie within ten minutes", () => {
  const window = windowOf(15, deletion.text, { at: after(-60) });
  fill(window, 15, deletion.text, { at: after(60), prefix: "later-" });
  assert.equal(window.exceededBy(noon, deletion, 60, after(60)), "namespace/x");
  const apart = windowOf(15, deletion.text, { at: after(-301) });
  fill(apart, 15, deletion.text, { at: after(300), prefix: "later-" });
  assert.equal(apart.exceededBy(noon, deletion, 60, after(300)), undefined);
});

test("what is twice as old as the window is forgotten", () => {
  const window = windowOf(30, deletion.text);
  assert.equal(window.exceededBy(after(1_300), deletion, 60, after(1_300)), undefined);
  assert.equal(window.exceededBy(noon, deletion, 60, noon), undefined);
});

test("what several count under one ID is one, by the cause of the first, and applied when one of them is", () => {
  const window = windowOf(20);
  const entry = { id: "0", cause: "manager/unknown", at: after(1), endsProtection: false, isApplied: true };
  window.share(entry);
  assert.equal(window.exceededBy(noon, some, 60, noon), undefined, "still 20");
  assert.equal(window.exceededBy(noon, some, 39, noon), undefined, "20 of 39 and the one that has passed");
  assert.equal(window.exceededBy(noon, some, 38, noon), "manager/x");
  window.share({ ...entry, id: "20", cause: some.text });
  assert.equal(window.exceededBy(noon, some, 60, noon), "manager/x", "21");
});
