import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../src/api/object-key.ts";
import { PacedQueue, type Work } from "../../../src/generator/paced-queue.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

const web = objectKey("default", "web");
const api = objectKey("default", "api");

/** A queue whose work a test decides; what happens is in `happened`. */
function bench() {
  const clock = createVirtualClock();
  const happened: string[] = [];
  const leadership = new AbortController();
  const work = { due: (): Work | undefined => async () => {} };
  const queue = new PacedQueue({
    config: { concurrency: 1, backoffBaseMs: 100, backoffMaxMs: 10_000, backoffConflictMs: 10 },
    clock,
    rng: createSeededRng(1),
    due: () => work.due(),
    onReconcile: (_, { kind }) => happened.push(kind),
    onFailed: (key, error) => happened.push(`${key}: ${(error as Error).message}`),
  });
  return { clock, happened, leadership, work, queue };
}

test("what is added before the queue runs is dropped, and the keys that it starts with are worked on", async () => {
  const { queue, clock, happened, leadership } = bench();
  queue.add(web);
  assert.equal(queue.size, 0);
  const running = queue.run([web, api], leadership.signal);
  await clock.advance(0);
  assert.deepEqual(happened, ["done", "done"]);
  queue.add(api);
  await clock.advance(0);
  assert.deepEqual(happened, ["done", "done", "done"]);
  leadership.abort();
  await running;
  queue.add(web);
  assert.equal(queue.size, 0);
});

test("an object about which nothing is to be done takes no turn", async () => {
  const self = bench();
  self.work.due = () => undefined;
  void self.queue.run([web], self.leadership.signal);
  await self.clock.advance(0);
  assert.deepEqual(self.happened, ["done"]);
  assert.equal(self.queue.paced, 0);
  self.leadership.abort();
});

test("an object that is worked on without end is delayed, and others are not", async () => {
  const self = bench();
  let works = 0;
  self.work.due = () => async () => void works++;
  void self.queue.run([], self.leadership.signal);
  for (let event = 0; event < 100; event++) {
    self.queue.add(web);
    await self.clock.advance(1);
  }
  assert.equal(works, 30);
  assert.equal(self.queue.size, 1, "it waits for its next turn");
  self.queue.add(api);
  await self.clock.advance(0);
  assert.equal(works, 31);
  assert.equal(self.queue.paced, 2);
  await self.clock.advance(1000);
  assert.equal(works, 32);
  self.leadership.abort();
});

test("a conflict is retried soon and not reported, any other failure is reported and retried", async () => {
  const self = bench();
  let failure: Error | undefined = new KubeError("conflict", "somebody else was first");
  self.work.due = () => async () => {
    if (failure !== undefined) throw failure;
  };
  void self.queue.run([web], self.leadership.signal);
  await self.clock.advance(0);
  assert.deepEqual(self.happened, ["conflict"]);
  failure = new KubeError("forbidden", "no");
  await self.clock.advance(10);
  assert.deepEqual(self.happened, ["conflict", "default/web: no", "failed"]);
  failure = undefined;
  await self.clock.advance(200);
  assert.deepEqual(self.happened.at(-1), "done");
  self.leadership.abort();
});

test("a failure because the leadership has ended is not reported", async () => {
  const self = bench();
  self.work.due = () => async (signal) => {
    self.leadership.abort();
    throw new KubeError("aborted", String(signal.aborted));
  };
  await self.queue.run([web], self.leadership.signal);
  assert.deepEqual(self.happened, ["failed"]);
});
