import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError, type KubeClient } from "../../../../../src/kube/kube-client.ts";
import { createTokenBucket } from "../../../../../src/kube/token-bucket.ts";
import { later } from "../../../../../src/util/clock.ts";
import { PodReads } from "../../../../../src/webhook/decide/subject/pod-reads.ts";
import { evictReview, cell, pod, protector } from "../../support/objects.ts";
import { type WorkerClients } from "../../../../../src/webhook/index.ts";
import { FakeCore } from "../../support/fake-core.ts";
import { createReplica, settle, world } from "../../support/replica.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../../../support/virtual-clock.ts";

/** A worker cluster that answers with the pod p; `paths`: what was asked of it. */
function worker(config = { qps: 0, burst: 1 }, clock = createVirtualClock()) {
  const paths: string[] = [];
  const bucket = createTokenBucket(config, clock);
  const client: KubeClient = {
    cluster: "worker",
    async request({ path, timeoutMs = 0, signal }) {
      if (!(await bucket.take(timeoutMs, signal))) throw new KubeError("timeout", "no room in time");
      paths.push(path);
      return pod("p", { labels: { app: "other" } });
    },
    stream: () => Promise.reject(new Error("no watches here")),
    close: async () => {},
  };
  return { client, paths };
}
const [first, second] = [worker().client, worker().client];

function reads() {
  const clock = createVirtualClock();
  const podReads = new PodReads(clock);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  /** A read that ends when `endNext` is called. */
  const ask = (name: string, peer: string, of = first, signal?: AbortSignal) =>
    podReads.run({ worker: of, peer, deadlineMs: later(clock.monotonicMs(), 1_000), signal }, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    });
  const endNext = async (): Promise<void> => {
    ends.shift()?.();
    await drainMicrotasks();
  };
  return { clock, started, ask, endNext };
}

test("32 pods of a worker cluster are read at once, which takes no place of another worker cluster", async () => {
  const { started, ask } = reads();
  for (let index = 0; index < 40; index += 1) void ask(`a${index}`, "a");
  await drainMicrotasks();
  assert.equal(started.length, 32);
  void ask("other", "a", second);
  await drainMicrotasks();
  assert.equal(started.at(-1), "other");
});

test("those who wait for a place take turns by their address, each in its order", async () => {
  const { started, ask, endNext } = reads();
  for (let index = 0; index < 200; index += 1) void ask(`a${index}`, "a");
  for (const name of ["b0", "b1"]) void ask(name, "b");
  await drainMicrotasks();
  for (let turn = 0; turn < 6; turn += 1) await endNext();
  assert.deepEqual(started.slice(32), ["a32", "b0", "a33", "b1", "a34", "a35"]);
});

test("who gets no place before the deadline, or leaves, reads nothing, and leaves no timer", async () => {
  const { clock, started, ask, endNext } = reads();
  const running = Array.from({ length: 32 }, (_, index) => ask(`a${index}`, "a"));
  const abort = new AbortController();
  const [late, gone] = [ask("late", "b"), ask("gone", "b", first, abort.signal)];
  await drainMicrotasks();
  abort.abort();
  assert.equal(await gone, undefined);
  await clock.advance(1_000);
  assert.equal(await late, undefined);
  for (const one of running) {
    await endNext();
    await one;
  }
  assert.equal(started.length, 32);
  assert.equal(clock.pendingTimers, 0);
});

/** A world with one worker cluster; `cells`: what is counted. */
function evictionWorld({ unsynced = false, cells = [cell("c1", 100)] } = {}) {
  const { client, paths } = worker();
  const workers = { kind: "single", client } as const;
  return { ...world([protector({ cells })], { workers, unsynced }), paths };
}

test("no pod is read for an eviction where no PodProtector is, unless they are not listed yet", async () => {
  const extra = { namespace: "free", name: "p" };
  const { replica, paths } = evictionWorld();
  assert.equal((await replica.review(evictReview("p", {}, extra))).allowed, true);
  assert.deepEqual(paths, []);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(paths.length, 1);
  assert.equal((await evictionWorld({ unsynced: true }).replica.review(evictReview("p", {}, extra))).allowed, false);
});

test("with one worker cluster no pod is read for a cell that nobody vouches for", async () => {
  const { replica, paths } = evictionWorld();
  const answer = await replica.review(evictReview("p"), { cellID: "invented" });
  assert.equal(answer.http, 500);
  assert.match(answer.message, /unknown cell "invented"/);
  assert.deepEqual(paths, []);
});

test("with one worker cluster an eviction is judged in any cell until an aggregator has counted", async () => {
  const { core, replica, paths } = evictionWorld({ cells: [] });
  // Nothing selects the pod, and a fresh install must not keep it.
  assert.equal((await replica.review(evictReview("p"), { cellID: "any" })).allowed, true);
  assert.equal(paths.length, 1);
  core.put(protector({ cells: [cell("c1", 100)] }));
  assert.equal((await replica.review(evictReview("p"), { cellID: "any" })).http, 500);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(paths.length, 2);
});

/** A replica with these worker clusters, whose PodProtector is counted in the cells c0 to c9. */
function replicaWith(clock: VirtualClock, workers: WorkerClients) {
  const core = new FakeCore(clock);
  core.put(protector({ cells: Array.from({ length: 10 }, (_, index) => cell(`c${index}`, 100)) }));
  return createReplica(clock, core, { workers });
}

test("a flood of evictions in one cell makes none wait in another cell, with a worker cluster each", async () => {
  const clock = createVirtualClock();
  const [flooded, other] = [worker({ qps: 1, burst: 1 }, clock), worker({ qps: 1, burst: 1 }, clock)];
  const clients = new Map([
    ["c1", flooded.client],
    ["c2", other.client],
  ]);
  const replica = replicaWith(clock, { kind: "map", clients });
  const forged = Array.from({ length: 500 }, () => replica.send(evictReview("p"), { cellID: "c1" }));
  const answer = await replica.review(evictReview("p"), { cellID: "c2" });
  assert.equal(answer.allowed, true);
  assert.equal(answer.elapsedMs, 0);
  assert.equal(flooded.paths.length, 1);
  await settle(clock, Promise.all(forged));
});

test("forged evictions in all cells of one worker cluster take no more places than those in one", async () => {
  const clock = createVirtualClock();
  const gate = Promise.withResolvers<void>();
  const { client, paths } = worker();
  const slow: KubeClient = {
    ...client,
    async request(request) {
      const answer = await client.request(request);
      await gate.promise;
      return answer;
    },
  };
  const replica = replicaWith(clock, { kind: "single", client: slow });
  const forged = Array.from({ length: 400 }, (_, index) =>
    replica.send(evictReview("p"), { cellID: `c${index % 10}` }),
  );
  await clock.advance(10);
  assert.equal(paths.length, 32);
  gate.resolve();
  await settle(clock, Promise.all(forged));
});
