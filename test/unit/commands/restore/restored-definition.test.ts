import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findLeader,
  inTurns,
  waitEstablished,
  waitGone,
} from "../../../../src/commands/restore/restored-definition.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { mergePatch } from "../../../double/cluster.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { ago, createFleet, type Fleet, systemNamespace } from "../support/fleet.ts";

const { signal } = new AbortController();
const there = { metadata: { uid: "u", deletionTimestamp: "x" } };

function bench() {
  const [core, clock] = [createScriptedKubeClient(), createVirtualClock()];
  return { core, clock, site: { core, clock, signal } };
}

test("a CRD that does not go is waited for a minute", async () => {
  const { core, clock, site } = bench();
  core.onRequest = () => there;
  const waiting = waitGone(site);
  await clock.advance(61_000);
  assert.equal(await waiting, false);
  assert.equal(clock.pendingTimers, 0);
});

test("a CRD that goes ends the wait", async () => {
  const { core, clock, site } = bench();
  core.onRequest = () => {
    if (core.requests.length < 3) return there;
    throw new KubeError("notFound", "404", { code: 404, status: { code: 404 } });
  };
  const waiting = waitGone(site);
  await clock.advance(1_500);
  assert.equal(await waiting, true);
});

test("a CRD is served when its condition says so and its objects can be listed", async () => {
  const { core, clock, site } = bench();
  let isServed = false;
  core.onRequest = ({ path }) => {
    if (!path.endsWith("/podprotectors")) return { status: { conditions: [{ type: "Established", status: "True" }] } };
    if (isServed) return {};
    throw new KubeError("notFound", "404");
  };
  const waiting = waitEstablished(site);
  await clock.advance(2_000);
  isServed = true;
  await clock.advance(500);
  assert.equal(await waiting, true);
});

test("work is done on all items, a few at once, and the first failure ends it", async () => {
  let [running, most] = [0, 0];
  const done: number[] = [];
  await inTurns([...Array(50).keys()], async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running -= 1;
    done.push(item);
  });
  assert.equal(done.length, 50);
  assert.ok(most > 1 && most <= 8);
  await assert.rejects(inTurns([1], async () => Promise.reject(new Error("no"))));
});

const name = "podseidon-generator";

async function lead({ core, clock }: Fleet, renewedAgoMs: number, holderIdentity = "generator-1"): Promise<void> {
  const spec = { holderIdentity, leaseDurationSeconds: 15, renewTime: ago(clock, renewedAgoMs) };
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec };
  await core.create(types.leases, systemNamespace, lease);
}

function find(fleet: Fleet, signal = new AbortController().signal) {
  const told: string[] = [];
  const { core, clock } = fleet;
  const found = findLeader({ core: core.client, clock, signal }, systemNamespace, (line) => void told.push(line));
  return { told, found };
}

test("where no Lease is, or a released or an old one, nobody leads and nobody waits", async () => {
  const none = await createFleet();
  assert.equal(await find(none).found, undefined);
  for (const [renewedAgoMs, holder] of [
    [31_000, "generator-1"],
    [1_000, ""],
  ] as const) {
    const fleet = await createFleet();
    await lead(fleet, renewedAgoMs, holder);
    const { found, told } = find(fleet);
    assert.equal(await found, undefined);
    assert.deepEqual(told, []);
  }
});

test("a Lease that is renewed has a leader; one that is not has none after 20 s", async () => {
  for (const isRenewed of [true, false]) {
    const fleet = await createFleet();
    await lead(fleet, 2_000);
    const { found, told } = find(fleet);
    await fleet.clock.advance(19_000);
    if (isRenewed) {
      const renewed = mergePatch({ spec: { renewTime: ago(fleet.clock, 0) } });
      await fleet.core.engine.patch(types.leases, systemNamespace, name, renewed);
    }
    await fleet.clock.advance(2_000);
    assert.equal(await found, isRenewed ? "generator-1" : undefined);
    assert.deepEqual(told, ["wait up to 20 s, to see whether the generator generator-1 has stopped"]);
  }
});

test("whoever ends the command ends the wait", async () => {
  const fleet = await createFleet();
  await lead(fleet, 2_000);
  const stop = new AbortController();
  const { found } = find(fleet, stop.signal);
  const ended = assert.rejects(found, /aborted/);
  await fleet.clock.advance(3_000);
  stop.abort();
  await fleet.clock.advance(1_000);
  await ended;
});
