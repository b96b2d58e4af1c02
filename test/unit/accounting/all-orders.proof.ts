/**
 * Worlds of up to four pods, three admissions and two cells in every order of events: what the random worlds of
 * floor-worlds.test.ts meet by luck is met here for certain. Each actor keeps the order of its own steps; all orders
 * between them are run.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodRecord } from "../../../src/api/pod.ts";
import { AggregatedWorld, type FloorAggregator } from "./floor-aggregator.ts";
import { heal, healedWithinMs } from "./floor-run.ts";
import { type Asked, type Faults, type WorldOptions } from "./floor-world.ts";
import { interleavings } from "./interleavings.ts";

type Step = (world: AggregatedWorld) => void;
type Actor = readonly Step[];

interface Family {
  readonly options: Partial<WorldOptions>;
  readonly actors: readonly Actor[];
}

function podOf(world: AggregatedWorld, index: number): AggregatedWorld["pods"][number] {
  const pod = world.pods[index];
  assert.ok(pod);
  return pod;
}

function aggregatorOf(world: AggregatedWorld, index: number): FloorAggregator {
  const aggregator = world.aggregators[index];
  assert.ok(aggregator);
  return aggregator;
}

const review =
  (
    index: number,
    operation: Asked = "delete",
    seen?: (versions: readonly PodRecord[]) => PodRecord | undefined,
  ): Step =>
  (world) => {
    const pod = podOf(world, index);
    if (pod.isGone || pod.record.isTerminating) return;
    world.review([{ pod, operation, isForced: false, record: seen?.(pod.versions) ?? pod.record }]);
  };

/**
 * What of the pod is in flight reaches etcd; the API server sends a changed pod through admission again, and then
 * deletes it.
 */
const commit =
  (index: number): Step =>
  (world) => {
    const pod = podOf(world, index);
    for (const one of world.inFlight.filter((other) => other.pod === pod)) {
      if (world.commit(one) || pod.record.isTerminating) continue;
      review(index)(world);
      const again = world.inFlight.find((other) => other.pod === pod && other.version === pod.record.resourceVersion);
      if (again !== undefined) world.commit(again);
    }
  };

/** The client gives up before the deletion commits. */
const giveUp =
  (index: number): Step =>
  (world) => {
    world.inFlight = world.inFlight.filter(({ pod }) => pod !== podOf(world, index));
  };

const onPod =
  (act: (world: AggregatedWorld, pod: AggregatedWorld["pods"][number]) => void) =>
  (index: number): Step =>
  (world) => {
    const pod = podOf(world, index);
    if (!pod.isGone) act(world, pod);
  };

const erase = onPod((world, pod) => void world.change(pod, {}, true));
const touch = onPod((world, pod) => void world.change(pod, {}));
const fail = onPod((world, pod) => {
  if (!pod.record.isTerminating) world.change(pod, { isReady: false, readySince: undefined });
});
const recover = onPod((world, pod) => {
  if (!pod.record.isTerminating) world.change(pod, { isReady: true, readySince: world.now });
});

const create =
  (cellID: string): Step =>
  (world) =>
    world.createPod(cellID, world.nowMs / 1000);

const wait =
  (ms: number): Step =>
  (world) => {
    world.nowMs += ms;
  };

const onAggregator =
  (act: (aggregator: FloorAggregator) => void) =>
  (index: number): Step =>
  (world) =>
    act(aggregatorOf(world, index));

const receive = onAggregator((aggregator) => aggregator.receive(Infinity));
const receiveOne = onAggregator((aggregator) => aggregator.receive(1));
const watch = onAggregator((aggregator) => aggregator.watchObjects(Infinity));
const aggregate = onAggregator((aggregator) => aggregator.aggregate());
/** The aggregator sees all and writes. */
const catchUp = onAggregator((aggregator) => {
  aggregator.receive(Infinity);
  aggregator.watchObjects(Infinity);
  aggregator.aggregate();
});
const barrier = onAggregator((aggregator) => aggregator.sendBarrier());
const fence = onAggregator((aggregator) => aggregator.sendFence());
const movePatch = onAggregator((aggregator) => aggregator.movePatch());
const restart = onAggregator((aggregator) => aggregator.restart());

/** Annotated by a person: recorded, and never refused. */
const force =
  (index: number): Step =>
  (world) => {
    const pod = podOf(world, index);
    world.review([{ pod, operation: "delete", isForced: true, record: pod.record }]);
  };

const oldest = (versions: readonly PodRecord[]): PodRecord | undefined => versions[0];
const deletion = (index: number): Actor => [review(index), commit(index)];
const eviction = (index: number): Actor => [review(index, "evict"), commit(index)];

const families: Readonly<Record<string, Family>> = {
  "three deletions of four pods": {
    options: { minAvailable: 2, podsPerCell: 4 },
    actors: [deletion(0), deletion(1), deletion(2), [catchUp(0), receive(0), aggregate(0)]],
  },
  "deletions in two cells": {
    options: { minAvailable: 2, podsPerCell: 2, cells: ["a", "b"] },
    actors: [deletion(0), deletion(1), deletion(2), [catchUp(0)], [receive(1), catchUp(1)]],
  },
  "a deletion that hangs, and its fence": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0), commit(0)],
      [review(1), commit(1)],
      [catchUp(0), wait(10_500), aggregate(0), fence(0), movePatch(0), receive(0), movePatch(0), aggregate(0)],
    ],
  },
  "a fence, and a pod that is reviewed again while it is under way": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0), giveUp(0), review(0), commit(0)],
      [review(1)],
      [catchUp(0), wait(10_500), aggregate(0), fence(0), movePatch(0), movePatch(0), catchUp(0)],
    ],
  },
  "evictions settle by the window": {
    options: { minAvailable: 2, podsPerCell: 3, takesVersions: "evictions" },
    actors: [
      eviction(0),
      [review(1), commit(1)],
      [catchUp(0), wait(5_000), barrier(0), catchUp(0), wait(71_000), barrier(0), catchUp(0)],
    ],
  },
  "a deletion of a pod that the aggregator does not know yet": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [create("a"), review(3), commit(3)],
      [review(0)],
      [review(1)],
      [watch(0), aggregate(0), receive(0), watch(0), aggregate(0)],
    ],
  },
  "a forced deletion beside others": {
    options: { minAvailable: 2, podsPerCell: 4 },
    actors: [[force(0), commit(0)], deletion(1), deletion(2), [catchUp(0), receive(0), aggregate(0)]],
  },
  "an eviction of a pod that changes": {
    options: { minAvailable: 2, podsPerCell: 3, takesVersions: "evictions" },
    actors: [eviction(0), [touch(0)], deletion(1), [receive(0), catchUp(0), aggregate(0)]],
  },
  "an eviction that names the version, between its two writes": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0, "named"), commit(0), commit(0)],
      deletion(1),
      [catchUp(0), wait(10_500), aggregate(0), fence(0), movePatch(0), movePatch(0), catchUp(0)],
    ],
  },
  "an eviction that names the version beside a deletion of the same pod": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0, "named"), commit(0), commit(0)],
      [review(0), commit(0)],
      [review(1), commit(1)],
      [catchUp(0), receive(0), catchUp(0)],
    ],
  },
  "an eviction of a pod that has a deletion in flight": {
    options: { minAvailable: 2, podsPerCell: 3, takesVersions: "evictions" },
    actors: [
      [review(0), review(0, "evict"), commit(0)],
      [touch(0)],
      deletion(1),
      [catchUp(0), receive(0), aggregate(0)],
    ],
  },
  "two leaders, one of them behind": {
    options: { minAvailable: 2, podsPerCell: 3, aggregatorsPerCell: 2 },
    actors: [deletion(0), deletion(1), [catchUp(0), catchUp(0)], [receiveOne(1), watch(1), aggregate(1)]],
  },
  "a pod that fails and recovers": {
    options: { minAvailable: 2, podsPerCell: 4 },
    actors: [[fail(0), recover(0)], deletion(0), deletion(1), [catchUp(0), receive(0), watch(0), aggregate(0)]],
  },
  "a client gives up and asks again while another pod fails": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0), giveUp(0), review(0), commit(0)],
      [fail(1), recover(1)],
      [review(2)],
      [catchUp(0), catchUp(0)],
    ],
  },
  "reviews of an old state": {
    options: { minAvailable: 2, podsPerCell: 4 },
    actors: [
      [touch(0), review(0, "delete", oldest), commit(0)],
      deletion(1),
      [review(2)],
      [receive(0), watch(0), aggregate(0), catchUp(0)],
    ],
  },
  "pods that are replaced": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [
      [review(0), commit(0), erase(0), create("a")],
      deletion(1),
      [catchUp(0), receive(0), watch(0), aggregate(0)],
    ],
  },
  "an aggregator that restarts with a list of its own": {
    options: { minAvailable: 2, podsPerCell: 3 },
    actors: [deletion(0), deletion(1), [catchUp(0), restart(0), receiveOne(0), barrier(0), aggregate(0), catchUp(0)]],
  },
  "a Go component that strips the versions": {
    options: { minAvailable: 2, podsPerCell: 3, takesVersions: "evictions and a Go component" },
    actors: [deletion(0), deletion(1), [(world) => world.strip()], [catchUp(0), barrier(0), receive(0), catchUp(0)]],
  },
};

/**
 * What is left to chance in the world: nothing of it, or all (deletions at once, lost answers, reads after a conflict).
 */
const chances = [0.999, 0.001] as const;

/** To heal every world takes too long; one in so many is healed. */
const healedOneIn = 250;

function begin(family: Family, chance: number, faults: Faults): AggregatedWorld {
  const options: WorldOptions = {
    minAvailable: 2,
    minReadySeconds: 0,
    cells: ["a"],
    podsPerCell: 3,
    aggregatorsPerCell: 1,
    takesVersions: "nothing",
    ...family.options,
    faults,
  };
  const draw = { value: 0.999 };
  const world = new AggregatedWorld(options, { next: () => draw.value });
  // First counts, known to all.
  for (const aggregator of world.aggregators) {
    aggregator.receive(Infinity);
    aggregator.watchObjects(Infinity);
    aggregator.aggregate();
    world.nowMs += 1_000;
    aggregator.sendBarrier();
    aggregator.aggregate();
  }
  for (const aggregator of world.aggregators) aggregator.watchObjects(Infinity);
  draw.value = chance;
  return world;
}

/** Lives all orders of a family. Returns how many, and how many admissions took quota. */
function liveAll(family: Family, faults: Faults = {}): { readonly orders: number; readonly quotaAdmissions: number } {
  let orders = 0;
  let quotaAdmissions = 0;
  for (const order of interleavings(family.actors.map(({ length }) => length))) {
    for (const chance of chances) {
      const world = begin(family, chance, faults);
      const done = family.actors.map(() => 0);
      for (const actor of order) {
        const number = done[actor] ?? 0;
        done[actor] = number + 1;
        world.nowMs += 10;
        world.inFlight = world.inFlight.filter(({ diesAtMs }) => diesAtMs > world.nowMs);
        try {
          family.actors[actor]?.[number]?.(world);
        } catch (error) {
          throw new Error(`order ${order.join("")}, chance ${chance}: ${String(error)}`, { cause: error });
        }
      }
      quotaAdmissions += world.quotaAdmissions;
      orders += 1;
      if (orders % healedOneIn !== 0) continue;
      const healedMs = heal(world);
      assert.ok(healedMs <= healedWithinMs, `order ${order.join("")}: still open after ${healedMs} ms`);
    }
  }
  return { orders, quotaAdmissions };
}

for (const [name, family] of Object.entries(families)) {
  test(`the floor holds in every order of ${name}`, (t) => {
    const { orders, quotaAdmissions } = liveAll(family);
    t.diagnostic(`${orders} orders, ${quotaAdmissions} admissions took quota`);
    assert.ok(quotaAdmissions >= orders, "the world is too quiet");
  });
}

/** Each rule, switched off, and the family that breaks then. */
const brokenRules: Readonly<Record<string, readonly [Faults, keyof typeof families]>> = {
  "barriers that pass at once": [
    { barriersPassAtOnce: true },
    "a deletion of a pod that the aggregator does not know yet",
  ],
  "a settle window of one second": [{ settleWindowMs: 1000 }, "evictions settle by the window"],
  "fences without a patch": [{ fencesWithoutPatch: true }, "a deletion that hangs, and its fence"],
  "counts from older snapshots": [{ oldSnapshotsWrite: true }, "two leaders, one of them behind"],
  "no record without quota": [{ quotaOnlyIsRecorded: true }, "a forced deletion beside others"],
  "free repeats": [{ repeatsAreFree: true }, "a client gives up and asks again while another pod fails"],
  "evictions with a version": [{ evictionsHaveVersions: true }, "an eviction of a pod that changes"],
  "evictions that name a version as DELETEs": [
    { namedAreDeletes: true },
    "an eviction that names the version, between its two writes",
  ],
};
for (const [rule, [faults, name]] of Object.entries(brokenRules)) {
  test(`some order of ${name} notices a switched-off rule: ${rule}`, () => {
    const family = families[name];
    assert.ok(family);
    assert.throws(() => liveAll(family, faults), /floor broken/);
  });
}
