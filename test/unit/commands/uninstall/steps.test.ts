import assert from "node:assert/strict";
import { test } from "node:test";
import { type Part, type Step, stepsOf, waitGeneratorGone } from "../../../../src/commands/uninstall/steps.ts";
import { type Obstacle } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { ago, forbid, systemNamespace } from "../support/fleet.ts";
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
