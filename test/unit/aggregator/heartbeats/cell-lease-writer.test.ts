import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { CellLeaseWriter } from "../../../../src/aggregator/heartbeats/cell-lease-writer.ts";
import { isKubeError, KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources as types } from "../../../double/engine/resources.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { cellID, type Rig, rigFor } from "../rig.ts";

const signal = new AbortController().signal;
const name = cellLeaseName(cellID);

function writerOf(rig: Rig, identity = "me"): { readonly writer: CellLeaseWriter; readonly client: EngineClient } {
  const client = new EngineClient("core", rig.coreEngine);
  const writer = new CellLeaseWriter({
    client,
    namespace: "default",
    cellID,
    identity,
    productVersion: "1.2.3",
    silentAfterMs: 180_000,
    timeoutMs: 20_000,
    clock: rig.clock,
  });
  return { writer, client };
}

async function annotate(rig: Rig, annotations: Record<string, string>): Promise<void> {
  const patch = { contentType: "application/merge-patch+json", body: { metadata: { annotations } } };
  await rig.coreEngine.patch(types.leases, "default", name, patch);
}

test("the first beat creates the Lease with the cell's labels, the cluster and the holder", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  assert.equal(await writer.read(signal), undefined);
  const lease = await writer.beat(undefined, { clusterUID: "cluster-1", behind: undefined }, signal);
  assert.deepEqual([lease.cellID, lease.holderIdentity, lease.clusterUID], [cellID, "me", "cluster-1"]);
  assert.equal(lease.productVersion, "1.2.3");
  const { metadata, spec } = rig.coreEngine.get(types.leases, "default", name);
  assert.deepEqual(metadata.labels, { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID });
  assert.equal(spec?.["leaseDurationSeconds"], 180);
  assert.equal(spec?.["acquireTime"], spec?.["renewTime"]);
});

test("each beat differs from the last one, also while the clock stands still", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const beat = { clusterUID: undefined, behind: undefined };
  const first = await writer.beat(undefined, beat, signal);
  const second = await writer.beat(first, beat, signal);
  const third = await writer.beat(second, beat, signal);
  assert.equal(new Set([first.beat, second.beat, third.beat]).size, 3);
});

test("a renewal clears the mark of silence, and keeps what people have written", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const beat = { clusterUID: "cluster-1", behind: undefined };
  await writer.beat(undefined, beat, signal);
  await annotate(rig, {
    [cellLeaseAnnotations.silentSince]: "2026-01-01T00:00:00.000000Z",
    [cellLeaseAnnotations.keepUntil]: "2027-01-01T00:00:00.000000Z",
    "example.com/note": "mine",
  });
  const lease = await writer.beat(await writer.read(signal), beat, signal);
  assert.equal(lease.silentSince, undefined);
  assert.notEqual(lease.keepUntil, undefined);
  assert.equal(rig.coreEngine.get(types.leases, "default", name).metadata.annotations?.["example.com/note"], "mine");
});

test("what is behind is named in the beat, and no longer once it is not", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const first = await writer.beat(undefined, { clusterUID: undefined, behind: "AAAA" }, signal);
  assert.equal(first.behind, "AAAA");
  const second = await writer.beat(first, { clusterUID: undefined, behind: "BBBB" }, signal);
  assert.equal(second.behind, "BBBB");
  assert.equal((await writer.beat(second, { clusterUID: undefined, behind: undefined }, signal)).behind, undefined);
});

test("a beat over what somebody else has written meanwhile is a conflict, and changes nothing", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const beat = { clusterUID: undefined, behind: undefined };
  const known = await writer.beat(undefined, beat, signal);
  const other = await writerOf(rig, "other").writer.beat(known, beat, signal);
  await assert.rejects(writer.beat(known, beat, signal), (error) => isKubeError(error, "conflict"));
  assert.deepEqual(await writer.read(signal), other);
  await assert.rejects(writer.beat(undefined, beat, signal), (error) => isKubeError(error, "alreadyExists"));
});

test("a beat without the cluster's UID keeps the recorded one", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const first = await writer.beat(undefined, { clusterUID: "cluster-1", behind: undefined }, signal);
  const second = await writer.beat(first, { clusterUID: undefined, behind: undefined }, signal);
  assert.equal(second.clusterUID, "cluster-1");
});

test("a Lease that has lost its labels gets them back when it is read", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  await writer.beat(undefined, { clusterUID: undefined, behind: undefined }, signal);
  const body = { metadata: { labels: { [cellLeaseLabels.heartbeat]: null } } };
  await rig.coreEngine.patch(types.leases, "default", name, { contentType: "application/merge-patch+json", body });
  assert.equal((await writer.read(signal))?.cellID, cellID);
});

test("an answer that is not the cell's Lease is malformed, and other errors pass through", async (t) => {
  const rig = await rigFor(t);
  const { writer, client } = writerOf(rig);
  client.onRequest = () => new KubeError("forbidden", "no");
  await assert.rejects(writer.read(signal), (error) => isKubeError(error, "forbidden"));
  const scripted = createScriptedKubeClient();
  scripted.onRequest = () => ({});
  const odd = new CellLeaseWriter({
    client: scripted,
    namespace: "default",
    cellID,
    identity: "me",
    productVersion: "1",
    silentAfterMs: 1,
    timeoutMs: 1,
    clock: rig.clock,
  });
  await assert.rejects(odd.read(signal), (error) => isKubeError(error, "malformed"));
});

test("a fault of the gate is named in the beat, stays while nothing is known, and goes with the fault", async (t) => {
  const rig = await rigFor(t);
  const { writer } = writerOf(rig);
  const named = (): string | undefined =>
    rig.coreEngine.get(types.leases, "default", name).metadata.annotations?.[cellLeaseAnnotations.gate];
  const beat = { clusterUID: undefined, behind: undefined };
  const first = await writer.beat(undefined, { ...beat, gate: "missing" }, signal);
  assert.equal(named(), "missing");
  const second = await writer.beat(first, beat, signal);
  assert.equal(named(), "missing");
  await writer.beat(second, { ...beat, gate: null }, signal);
  assert.equal(named(), undefined);
});
