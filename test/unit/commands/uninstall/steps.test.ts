import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { clear, type Cleared } from "../../../../src/commands/uninstall/clear.ts";
import { isEmpty, planJson, planText } from "../../../../src/commands/uninstall/report.ts";
import { type Part, type Step, stepsOf, waitGeneratorGone } from "../../../../src/commands/uninstall/steps.ts";
import { type Found, type Obstacle, type Site, type Target } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { type VirtualClock } from "../../../support/virtual-clock.ts";
import { ago, createFleet, forbid, systemNamespace } from "../support/fleet.ts";
import { installed, InstalledCluster, named } from "./installed-cluster.ts";

function step(part: Part, title: RegExp): Step {
  const found = stepsOf(part).find((one) => title.test(one.title));
  assert(found !== undefined, String(title));
  return found;
}

test("the webhook configuration goes first, finalizers before the CRD, rights after all that, namespaces last", () => {
  const order = stepsOf("single").map(({ title }) => title.split(" ").slice(0, 4).join(" "));
  assert.deepEqual(order, [
    "Delete the webhook configurations:",
    "Delete the Deployments of",
    "Take the finalizer of",
    "Delete all PodProtectors, those",
    "Delete the CRD",
    "Delete the dummy pods",
    "Delete rights, policies, accounts,",
    "Delete the namespaces of",
  ]);
});

test("in a worker nothing of the core is looked for, and no generator is waited for", () => {
  const steps = stepsOf("worker");
  assert.equal(steps.length, 5);
  assert(steps.every((one) => !("afterwards" in one)));
});

test("a namespace with objects of others stays, and says which", async () => {
  const { cluster } = await installed({ isSmall: true });
  const namespaces = step("single", /^Delete the namespaces/);
  assert.equal((await namespaces.find(cluster.site)).targets.length, 2);
  for (const name of ["a", "b", "c", "d"]) await cluster.make("Secret", systemNamespace, named("Secret", name));
  const { targets, kept } = await namespaces.find(cluster.site);
  assert.deepEqual(
    targets.map(({ name }) => name),
    ["podseidon-update-trigger"],
  );
  assert.deepEqual(kept, [
    "Namespace podseidon-system stays: it holds Secret podseidon-system/a, Secret podseidon-system/b, Secret " +
      "podseidon-system/c and 1 more, not of Podseidon",
  ]);
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Podseidon is gone, except what is named above$/m);
});

test("a PodProtector that others hold is left, and so is the CRD", async () => {
  const { cluster } = await installed({ isSmall: true });
  await cluster.protect("held", ["example.com/mine"]);
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 1);
  assert.match(
    stdout.replaceAll(/\s+/g, " "),
    /step 4: not done, 4 changed left: PodProtector shop\/held: it waits for the finalizers example\.com\/mine/,
  );
  assert.equal((await step("single", /^Delete the CRD/).find(cluster.site)).targets.length, 1);
});

test("a generator that runs elsewhere is named before any finalizer is taken off", async () => {
  const { cluster } = await installed({ isSmall: true });
  cluster.isGeneratorElsewhere = true;
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 1);
  assert.match(stdout.replaceAll(/\s+/g, " "), /left: the generator generator-1 still leads/);
  assert.equal((await step("single", /^Take the finalizer/).find(cluster.site)).targets.length, 3);
});

interface Waited {
  readonly obstacle: Obstacle | undefined;
  readonly afterMs: number;
}

/** Waits; `onSecond` runs every second. */
async function wait(cluster: InstalledCluster, onSecond?: () => Promise<unknown>): Promise<Waited> {
  const { clock } = cluster.fleet;
  const startMs = clock.monotonicMs();
  const waited: { end?: Waited } = {};
  const waiting = waitGeneratorGone(cluster.site, () => {}).then(
    (obstacle) => (waited.end = { obstacle, afterMs: clock.monotonicMs() - startMs }),
  );
  for (let second = 0; waited.end === undefined && second < 1_000; second += 1) {
    await onSecond?.();
    await clock.advance(1_000);
  }
  return waiting;
}

async function renew({ fleet: { core, clock } }: InstalledCluster): Promise<void> {
  const lease = core.engine.get(types.leases, systemNamespace, "podseidon-generator");
  const spec = { holderIdentity: "generator-1", leaseDurationSeconds: 15, renewTime: ago(clock, 0) };
  await core.engine.update(types.leases, systemNamespace, "podseidon-generator", { ...lease, spec });
}

test("without a Lease there is nothing to wait for", async () => {
  assert.deepEqual(await wait(await InstalledCluster.create({ isSmall: true })), { obstacle: undefined, afterMs: 0 });
});

test("a Lease that nobody renews is free after its time, whatever the clocks say", async () => {
  const { cluster } = await installed({ isSmall: true });
  cluster.fleet.clock.jumpWallClock(3_600_000);
  const { obstacle, afterMs } = await wait(cluster);
  assert.equal(obstacle, undefined);
  assert.equal(afterMs, 20_000);
});

test("a generator that goes on elsewhere is named after a while", async () => {
  const { cluster } = await installed({ isSmall: true });
  const { obstacle } = await wait(cluster, () => renew(cluster));
  assert.match(obstacle?.problem ?? "", /^the generator generator-1 still leads, though its Deployment is gone/);
  assert.equal(obstacle?.isFinal, true);
});

test("a pod of a generator is waited for: it may take the Lease", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  await cluster.install({ isSmall: true });
  const name = "podseidon-generator-1";
  const labels = { "app.kubernetes.io/name": "podseidon", "app.kubernetes.io/component": "generator" };
  const spec = { containers: [{ name: "main", image: ":" }] };
  await cluster.make("Pod", systemNamespace, { ...named("Pod", name), metadata: { name, labels }, spec });
  const { engine } = cluster.fleet.core;
  let seconds = 0;
  const { obstacle, afterMs } = await wait(cluster, async () => {
    seconds += 1;
    if (seconds === 40) await engine.delete(types.pods, systemNamespace, name, { gracePeriodSeconds: 0 });
  });
  assert.equal(obstacle, undefined);
  assert.equal(afterMs, 40_000);
});

test("a Lease that may not be read is an obstacle", async () => {
  const { cluster } = await installed({ isSmall: true });
  forbid(cluster.fleet.core, /leases/);
  const { obstacle } = await wait(cluster);
  assert.match(obstacle?.problem ?? "", /you may not get leases\.coordination\.k8s\.io podseidon-generator/);
});

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

const [stepOfReport] = stepsOf("worker");
assert(stepOfReport !== undefined);

function plan(found: Partial<Found>) {
  assert(stepOfReport !== undefined);
  return [{ step: stepOfReport, found: { targets: [], obstacles: [], ...found } }];
}

function podOfReport(name: string, namespace?: string): Target {
  const resource = { group: "", version: "v1", resource: "pods" };
  return {
    kind: "Pod",
    resource,
    namespace,
    name,
    uid: name,
    resourceVersion: "1",
    finalizers: [],
    isTerminating: false,
  };
}

const title = "1. Delete the webhook configurations: from then on pods can be deleted whatever\n   runs\n";

test("a step names its objects by kind, and of many the first", () => {
  const few = plan({ targets: [podOfReport("a", "shop"), podOfReport("b")] });
  assert.equal(planText(few, { columns: 80 }), `${title}   Pod shop/a, b\n`);
  const many = plan({ targets: Array.from({ length: 1_000 }, (_, index) => podOfReport(`p${index}`)) });
  assert.equal(planText(many, { columns: 80 }), `${title}   1000 × Pod: p0, p1, p2, p3, p4 and 995 more\n`);
});

test("a step without objects says so, and what cannot be seen or stays is said", () => {
  assert.equal(planText(plan({}), { columns: 80 }), `${title}   nothing is there\n`);
  const unseen = plan({ obstacles: [{ isFinal: true, problem: "you may not list pods" }], kept: ["Pod x stays"] });
  assert.equal(planText(unseen, { columns: 80 }), `${title}   cannot be seen: you may not list pods\n   Pod x stays\n`);
  assert.deepEqual(
    [isEmpty(plan({})), isEmpty(unseen), isEmpty(plan({ targets: [podOfReport("a")] }))],
    [true, false, false],
  );
});

test("names from a cluster cannot control the terminal", () => {
  assert.doesNotMatch(planText(plan({ targets: [podOfReport("a\u001b[2J")] }), { columns: 80 }), /\u001b/);
});

test("for programs all objects are listed", () => {
  const [one] = planJson(plan({ targets: [podOfReport("a", "shop"), podOfReport("b")], kept: ["Pod x stays"] }));
  assert.deepEqual(one, {
    step: stepOfReport?.title,
    objects: [
      { kind: "Pod", namespace: "shop", name: "a" },
      { kind: "Pod", name: "b" },
    ],
    unseen: [],
    kept: ["Pod x stays"],
  });
});
