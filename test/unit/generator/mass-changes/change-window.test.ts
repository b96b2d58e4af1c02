import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeWindow } from "../../../../src/generator/mass-changes/change-window.ts";
import { after, noon } from "./samples.ts";
import { ChangeTimes, News } from "../../../../src/generator/mass-changes/change-times.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type InformerHandler } from "../../../../src/kube/informer.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { type SourceKind, type SourceRecord } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";
import { type Clock } from "../../../../src/util/clock.ts";

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

test("a change lies between the times before it and now, wherever its own time lies", () => {
  const times = new News();
  times.arrived(noon);
  times.arrived(after(3_600));
  times.arrived(after(3_600.5));
  const now = after(3_601);
  assert.equal(times.timeOf(after(-604_800), now), noon, "the time of a backup");
  assert.equal(times.timeOf(after(1_800), now), after(1_800), "deleted while the watch was down");
  assert.equal(times.timeOf(after(9_999), now), now, "another clock");
  assert.equal(times.timeOf(undefined, now), now);
});

test("as long as nothing was seen before, a change is of now", () => {
  const times = new News();
  assert.equal(times.timeOf(after(-60), noon), noon);
  times.arrived(noon);
  assert.equal(times.timeOf(after(-60), noon), noon);
});

test("what the watch of one kind brings says nothing of the changes of another", () => {
  const handlers = new Map<SourceKind, InformerHandler<SourceRecord>>();
  const subscribe = (handlerOf: (kind: SourceKind) => InformerHandler<SourceRecord>): void => {
    for (const kind of [deployments, statefulSets]) handlers.set(kind, handlerOf(kind));
  };
  const time = { now: noon };
  const times = new ChangeTimes({ subscribe }, { epochMicros: () => time.now } as Clock);
  for (const handler of handlers.values()) handler.onProgress?.("1" as ResourceVersion);
  time.now = after(3_600);
  handlers.get(deployments)?.onProgress?.("2" as ResourceVersion);
  time.now = after(7_200);
  for (const handler of handlers.values()) handler.onProgress?.("3" as ResourceVersion);
  const long = after(-60);
  assert.equal(times.timeOf(deployments, long, time.now), after(3_600));
  assert.equal(times.timeOf(statefulSets, long, time.now), noon);
  assert.equal(times.timeOf({ ...deployments }, long, time.now), time.now, "a kind that nobody watches");
});
