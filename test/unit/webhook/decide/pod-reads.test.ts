import assert from "node:assert/strict";
import { test } from "node:test";
import { later } from "../../../../src/util/clock.ts";
import { PodReads } from "../../../../src/webhook/decide/pod-reads.ts";
import { evictReview, cell, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";
import { createVirtualClock, drainMicrotasks } from "../../../support/virtual-clock.ts";

function reads() {
  const clock = createVirtualClock();
  const podReads = new PodReads(clock);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  /** A read that ends when `endNext` is called. */
  const ask = (name: string, peer: string, cellID = "c1", signal?: AbortSignal) =>
    podReads.run({ cellID, peer, deadlineMs: later(clock.monotonicMs(), 1_000), signal }, async () => {
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

test("a cell reads 32 pods at once, and takes no place of another cell", async () => {
  const { started, ask } = reads();
  for (let index = 0; index < 40; index += 1) void ask(`a${index}`, "a");
  await drainMicrotasks();
  assert.equal(started.length, 32);
  void ask("other", "a", "c2");
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
  const [late, gone] = [ask("late", "b"), ask("gone", "b", "c1", abort.signal)];
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

/** A world whose worker knows the pod p; `paths`: what was asked of it. */
function evictionWorld(unsynced = false) {
  const paths: string[] = [];
  const client = {
    cluster: "worker",
    async request({ path }: { readonly path: string }) {
      paths.push(path);
      return pod("p", { labels: { app: "other" } });
    },
    stream: () => Promise.reject(new Error("no watches here")),
    close: async () => {},
  };
  const workers = { kind: "single", client } as const;
  return { ...world([protector({ cells: [cell("c1", 100)] })], { workers, unsynced }), paths };
}

test("no pod is read for an eviction where no PodProtector is, unless they are not listed yet", async () => {
  const extra = { namespace: "free", name: "p" };
  const { replica, paths } = evictionWorld();
  assert.equal((await replica.review(evictReview("p", {}, extra))).allowed, true);
  assert.deepEqual(paths, []);
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(paths.length, 1);
  assert.equal((await evictionWorld(true).replica.review(evictReview("p", {}, extra))).allowed, false);
});

test("with one worker cluster no pod is read for a cell that nobody vouches for", async () => {
  const { replica, paths } = evictionWorld();
  const answer = await replica.review(evictReview("p"), { cellID: "invented" });
  assert.equal(answer.http, 500);
  assert.match(answer.message, /unknown cell "invented"/);
  assert.deepEqual(paths, []);
});
