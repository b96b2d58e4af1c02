import assert from "node:assert/strict";
import { test } from "node:test";
import { waitGeneratorGone } from "../../../../src/commands/uninstall/generator-gone.ts";
import { type Obstacle } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { ago, forbid, systemNamespace } from "../support/fleet.ts";
import { InstalledCluster, installed, named } from "./installed-cluster.ts";

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
