import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeTimes, News } from "../../../../src/generator/mass-changes/change-times.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type InformerHandler } from "../../../../src/kube/informer.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { type SourceKind, type SourceRecord } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";
import { type Clock } from "../../../../src/util/clock.ts";
import { after, noon } from "./samples.ts";

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
