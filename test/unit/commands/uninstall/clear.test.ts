import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { clear, type Cleared } from "../../../../src/commands/uninstall/clear.ts";
import { type Step } from "../../../../src/commands/uninstall/steps.ts";
import { type Found, type Obstacle, type Site, type Target } from "../../../../src/commands/uninstall/target.ts";
import { type VirtualClock } from "../../../support/virtual-clock.ts";
import { createFleet } from "../support/fleet.ts";

interface Stage {
  readonly clock: VirtualClock;
  readonly left: Map<string, Target>;
  readonly told: string[];
  /** Milliseconds of a change. */
  changeMs: number;
  obstacle: Obstacle | undefined;
  unseen: readonly Obstacle[];
  onChange: (target: Target) => Obstacle | undefined;
  run(): Promise<Cleared>;
}

function pod(name: string, more: Partial<Target> = {}): Target {
  const resource = { group: "", version: "v1", resource: "pods" };
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1", finalizers: [], isTerminating: false };
  return { kind: "Pod", resource, ...metadata, ...more };
}

/** A step that changes the pods; those that are changed are gone, unless `onChange` has an obstacle. */
async function createStage(...targets: readonly Target[]): Promise<Stage> {
  const { clock, core, stop } = await createFleet();
  const site: Site = {
    client: core.client,
    cluster: "core",
    clock,
    signal: stop.signal,
    namespace: "podseidon-system",
  };
  const step: Step = {
    title: "Delete pods",
    isOpen: ({ isTerminating }) => !isTerminating,
    async find(): Promise<Found> {
      return { targets: [...stage.left.values()], obstacles: stage.unseen };
    },
    async change(_site, target) {
      await new Promise<void>((resolve) => void clock.setTimer(stage.changeMs, resolve));
      const obstacle = stage.onChange(target);
      if (obstacle === undefined) stage.left.delete(target.name);
      return obstacle;
    },
    async afterwards() {
      return stage.obstacle;
    },
  };
  const stage: Stage = {
    clock,
    left: new Map(targets.map((target) => [target.name, target])),
    told: [],
    changeMs: 0,
    obstacle: undefined,
    unseen: [],
    onChange: () => undefined,
    async run() {
      const ran: { end?: Cleared } = {};
      const running = clear(step, site, (line) => void stage.told.push(line)).then((cleared) => (ran.end = cleared));
      for (let round = 0; ran.end === undefined && round < 1_000; round += 1) await clock.advance(500);
      return running;
    },
  };
  return stage;
}

test("a step is done when nothing of it is found any more", async () => {
  const stage = await createStage(pod("a"), pod("b"));
  assert.deepEqual(await stage.run(), { changed: 2, left: [], kept: [] });
});

test("what comes back, or conflicts, is changed again", async () => {
  const stage = await createStage(pod("a"), pod("b"));
  let conflicts = 2;
  stage.onChange = ({ name }) => {
    if (name === "a" && conflicts-- > 0) return { isFinal: false, problem: "conflict" };
    return undefined;
  };
  assert.deepEqual(await stage.run(), { changed: 2, left: [], kept: [] });
});

test("it goes on for as long as less is left each time", async () => {
  const names = ["a", "b", "c"];
  const stage = await createStage(...names.map((name) => pod(name, { isTerminating: true })));
  names.forEach((name, index) => void stage.clock.setTimer((index + 1) * 100_000, () => void stage.left.delete(name)));
  assert.deepEqual(await stage.run(), { changed: 0, left: [], kept: [] });
  assert(stage.clock.monotonicMs() >= 300_000);
});

test("what is still there two minutes after the last progress is left, with what it waits for", async () => {
  const stage = await createStage(pod("a"));
  stage.left.set("stuck", pod("stuck", { isTerminating: true, finalizers: ["example.com/a", finalizer] }));
  const { changed, left } = await stage.run();
  assert.equal(changed, 1);
  assert.deepEqual(left, ["Pod shop/stuck: it waits for the finalizers example.com/a"]);
  assert.equal(Math.round(stage.clock.monotonicMs() / 10_000), 12);
});

test("a right that is missing ends it at once, and what went well is not named", async () => {
  const stage = await createStage(pod("a"), pod("b"));
  stage.left.set("held", pod("held"));
  stage.onChange = ({ name }) => (name === "held" ? { isFinal: true, problem: "you may not" } : undefined);
  assert.deepEqual(await stage.run(), { changed: 2, left: ["you may not"], kept: [] });
});

test("what cannot be read is left", async () => {
  const stage = await createStage();
  stage.unseen = [{ isFinal: true, problem: "you may not list pods" }];
  assert.deepEqual(await stage.run(), { changed: 0, left: ["you may not list pods"], kept: [] });
});

test("what is to be waited for afterwards belongs to the step", async () => {
  const stage = await createStage(pod("a"));
  stage.obstacle = { isFinal: true, problem: "a generator leads" };
  assert.deepEqual(await stage.run(), { changed: 1, left: ["a generator leads"], kept: [] });
});

test("of many there are lines of progress", async () => {
  const stage = await createStage(...Array.from({ length: 100 }, (_, index) => pod(`pod-${index}`)));
  stage.changeMs = 1_000;
  assert.equal((await stage.run()).changed, 100);
  assert.deepEqual(stage.told.slice(0, 2), ["33 of 100", "73 of 100"]);
});
