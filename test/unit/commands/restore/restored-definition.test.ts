import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import {
  findLeader,
  inTurns,
  waitEstablished,
  waitGone,
} from "../../../../src/commands/restore/restored-definition.ts";
import { isReleased, restoreObjects } from "../../../../src/commands/restore/restored-objects.ts";
import { merged, nameOf, readSaved, writeSaved } from "../../../../src/commands/restore/saved-objects.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { mergePatch } from "../../../double/cluster.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { ago, createFleet, type Fleet, systemNamespace } from "../support/fleet.ts";
import { onLostCore } from "./lost-core.ts";

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

test("an object that is there with a status keeps it, one without gets the saved one", () =>
  onLostCore(async ({ fleet }) => {
    const { clock, core, stop } = fleet;
    const site = { core: core.client, clock, signal: stop.signal };
    const metadata = { namespace: "shop", name: "a" };
    const spec = { minAvailable: 1, minReadySeconds: 0, selector: {} };
    const summary = { totalReplicas: 9, aggregatedAvailableReplicas: 9, estimatedAvailableReplicas: 9 };
    const status = { cells: [], summary };
    const made = { metadata: { namespace: "shop", name: "new" }, spec, status };
    const counts = await restoreObjects(site, [{ metadata, spec, status }, made]);
    assert.deepEqual(counts, { created: 1, present: 1, statuses: 1, failures: [] });
  }));

test("an object that cannot be made is told, and the others are made", () =>
  onLostCore(async ({ fleet }) => {
    const site = { core: fleet.core.client, clock: fleet.clock, signal: fleet.stop.signal };
    const spec = { minAvailable: 1, minReadySeconds: 0, selector: {} };
    const { created, failures } = await restoreObjects(site, [
      { metadata: { namespace: "shop", name: "x" }, spec: { minAvailable: -1 } },
      { metadata: { namespace: "shop", name: "y" }, spec },
    ]);
    assert.equal(created, 1);
    assert.match(failures.join(), /^shop\/x: /);
  }));

test("an object that the generator has let go is released", () => {
  assert.equal(isReleased({ metadata: { annotations: { "podseidon.kubewharf.io/released": "x" } } }), true);
  assert.equal(isReleased({ metadata: {} }), false);
});

function fileIn(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-saved-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "saved.json");
}

const item = (name: string, more: object = {}) => ({ metadata: { namespace: "shop", name }, ...more });

test("what is written is read again, by its owner alone, and is a list for kubectl", (t) => {
  const file = fileIn(t);
  const saved = { items: [item("a")], definitionUID: "u", isRestored: false };
  assert.equal(writeSaved(file, saved), undefined);
  assert.deepEqual(readSaved(file), saved);
  assert.equal(statSync(file).mode & 0o077, 0);
  assert.equal((JSON.parse(readFileSync(file, "utf8")) as { kind: string }).kind, "List");
});

test("a file that is not there is none; one that is no list is told", (t) => {
  const file = fileIn(t);
  assert.equal(readSaved(file), undefined);
  for (const text of ["{", "{}", '{"items":1}']) {
    writeFileSync(file, text);
    assert.ok(readSaved(file) instanceof Problem, text);
  }
});

test("a file that cannot be written is told, and the old one stays", (t) => {
  const file = fileIn(t);
  assert.ok(
    writeSaved(path.join(file, "below"), { items: [], definitionUID: "u", isRestored: false }) instanceof Problem,
  );
});

test("objects that are present take the place of saved ones of their name, and others stay", () => {
  const all = merged([item("a", { old: true }), item("b")], [item("a"), item("c")]);
  assert.deepEqual(all, [item("a"), item("b"), item("c")]);
  assert.equal(nameOf(item("a")), "shop/a");
});
