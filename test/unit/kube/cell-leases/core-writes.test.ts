import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseWitness } from "../../../../src/kube/cell-leases/lease-witness.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../scripted-kube-client.ts";
import { rawLease, rig } from "./rig.ts";

const cannotPatch = new KubeError(
  "forbidden",
  'leases.coordination.k8s.io "podseidon-cell-witness" is forbidden: User "webhook" cannot patch resource "leases" ' +
    'in API group "coordination.k8s.io" in the namespace "heartbeats"',
);
const full = new KubeError("serverError", "etcdserver: mvcc: database space exceeded");

test("while the core takes no writes no cell falls silent, and the log names the core once", async () => {
  const { clock, cells, world, log, value } = rig();
  world.leases = [rawLease("a", 1), rawLease("b", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2), rawLease("b", 2)];
  await clock.advance(20_000);
  world.writeFailure = full;
  assert.equal(cells.unwrittenForMs(), undefined);
  await clock.advance(600_000);
  assert.deepEqual(
    ["a", "b"].map((cell) => cells.stateOf(cell, "uid").kind),
    ["beating", "beating"],
  );
  assert.deepEqual([cells.lateForMs("a"), cells.generatorAwayForMs()], [undefined, undefined]);
  assert.ok((cells.unwrittenForMs() ?? 0) >= 570_000);
  assert.ok(value("cell_lease_list_total", { result: "no-writes" }) >= 36);
  assert.deepEqual(log, [
    "E The core takes no heartbeats: no cell that falls silent is noticed, and none is because of that",
  ]);
  world.writeFailure = undefined;
  await clock.advance(15_000);
  assert.equal(cells.unwrittenForMs(), undefined);
  assert.equal(log[1], "I The core takes heartbeats again");
  world.leases = [rawLease("a", 3), rawLease("b", 2)];
  await clock.advance(160_000);
  assert.equal(cells.stateOf("b", "uid").kind, "beating", "three minutes begin when writes are taken again");
  await clock.advance(60_000);
  assert.equal(cells.stateOf("b", "uid").kind, "silent");
});

test("where everybody else has died, the observer's own writes prove the silence", async () => {
  const { clock, client, cells, world, log } = rig();
  world.leases = [rawLease("a", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2)];
  await clock.advance(220_000);
  assert.equal(cells.stateOf("a", "uid").kind, "silent");
  const { signal: _, ...write } = client.requests.find(({ method }) => method !== "GET")!;
  assert.deepEqual(write, {
    method: "PATCH",
    path: "/apis/coordination.k8s.io/v1/namespaces/heartbeats/leases/podseidon-cell-witness",
    contentType: "application/merge-patch+json",
    body: {
      metadata: { labels: { "podseidon.kubewharf.io/heartbeat": "witness" } },
      spec: { holderIdentity: "webhook", renewTime: "2026-01-01T00:00:20.000000Z" },
    },
    timeoutMs: 15_000,
  });
  assert.deepEqual(log, ["E Cell is silent: its pods count for nothing, and deletions in it are refused a"]);
});

test("on a good day nothing is written once a generator has made the Lease and knows who is silent", async () => {
  const { clock, client, world } = rig({ role: "generator" });
  world.witness = 0;
  const writes = (): number => client.requests.filter(({ method }) => method !== "GET").length;
  const beats = async (from: number, to: number): Promise<void> => {
    for (let beat = from; beat < to; beat++) {
      world.leases = [rawLease("a", beat)];
      await clock.advance(15_000);
    }
  };
  await beats(1, 3);
  const atFirst = writes();
  const create = client.requests.find(({ method }) => method === "POST");
  assert.equal(create?.path, "/apis/coordination.k8s.io/v1/namespaces/heartbeats/leases");
  await beats(3, 40);
  assert.equal(writes(), atFirst);
});

test("a generator that may not make the Lease does not ask again and again", async () => {
  const { clock, client, world, log } = rig({ role: "generator" });
  world.witness = 0;
  world.writeFailure = cannotPatch;
  for (let beat = 1; beat < 10; beat++) {
    world.leases = [rawLease("a", beat)];
    await clock.advance(beat === 1 ? 1_000 : 15_000);
  }
  assert.equal(client.requests.filter(({ method }) => method !== "GET").length, 1);
  assert.deepEqual(log, [], "nobody misses it yet");
});

const cannotBeWritten =
  "W Nobody is heard, and the Lease that tells a core without writes from silent cells cannot be written: the " +
  "generator makes it, and the manifests have the right to it";

test("where no generator has made the Lease a webhook finds cells silent without it, and says so once", async () => {
  const { clock, client, cells, world, log } = rig();
  world.witness = 0;
  world.leases = [rawLease("a", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2)];
  await clock.advance(210_000);
  assert.equal(cells.stateOf("a", "uid").kind, "silent");
  assert.deepEqual(log, [
    cannotBeWritten,
    "E Cell is silent: its pods count for nothing, and deletions in it are refused a",
  ]);
  assert.deepEqual(
    client.requests.filter(({ method }) => method === "POST"),
    [],
  );
});

test("an account that may not write the Lease finds cells silent without it, and says so once", async () => {
  const { clock, client, cells, world, log } = rig();
  world.writeFailure = cannotPatch;
  world.leases = [rawLease("a", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2)];
  await clock.advance(10_000);
  assert.deepEqual(log, [], "nobody misses it yet");
  assert.equal(client.requests.filter(({ method }) => method === "PATCH").length, 0);
  await clock.advance(200_000);
  assert.equal(cells.stateOf("a", "uid").kind, "silent");
  assert.deepEqual(log, [
    cannotBeWritten,
    "E Cell is silent: its pods count for nothing, and deletions in it are refused a",
  ]);
});

test("a 403 of a policy, a quota or a webhook of others is a core that takes no heartbeats", async () => {
  const { clock, cells, world } = rig();
  world.leases = [rawLease("a", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2)];
  world.writeFailure = new KubeError("forbidden", 'admission webhook "x" denied the request: no Leases today');
  await clock.advance(400_000);
  assert.equal(cells.stateOf("a", "uid").kind, "beating");
  assert.ok(cells.unwrittenForMs() !== undefined);
});

test("where no cell has a Lease nothing is written, no core is accused, and a dead generator is missed", async () => {
  const { clock, client, cells, world } = rig();
  world.leases = [rawLease(undefined, 1)];
  await clock.advance(10_000);
  world.leases = [rawLease(undefined, 2)];
  await clock.advance(600_000);
  assert.deepEqual(new Set(client.requests.map(({ method }) => method)), new Set(["GET"]));
  assert.equal(cells.unwrittenForMs(), undefined);
  assert.ok((cells.generatorAwayForMs() ?? 0) > 500_000);
});

test("a policy that knows nothing of the Lease is not asked about it again and again", async () => {
  const { clock, client, world } = rig({ role: "generator" });
  world.witness = 0;
  world.writeFailure = new KubeError(
    "forbidden",
    "ValidatingAdmissionPolicy denied: the generator may create ... only",
  );
  for (let beat = 1; beat < 30; beat++) {
    world.leases = [rawLease("a", beat)];
    await clock.advance(beat === 1 ? 1_000 : 15_000);
  }
  assert.equal(client.requests.filter(({ method }) => method !== "GET").length, 1);
});

test("each renewal of the witness differs from the one before, on a clock that stands still too", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({});
  const clock = createVirtualClock();
  const witness = new LeaseWitness({
    client,
    namespace: "heartbeats",
    role: "webhook",
    isMaker: false,
    timeoutMs: 1_000,
    clock,
  });
  const { signal } = new AbortController();
  assert.deepEqual(await witness.write(signal), { kind: "written" });
  assert.deepEqual(await witness.write(signal), { kind: "written" });
  const times = client.requests.map(({ body }) => (body as { spec: { renewTime: string } }).spec.renewTime);
  assert.equal(new Set(times).size, 2);
});
