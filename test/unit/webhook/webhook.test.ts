/** The webhook as a whole: replicas that agree through one core, settings that reach their place, the drain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, pod, protector } from "./support/objects.ts";
import { createReplica, settle, world } from "./support/replica.ts";

for (const watches of [true, false]) {
  const when = watches ? "watches are quick" : "no watch delivers anything";
  // 2 x 50 pods with a floor of 80.
  test(`several replicas on one core keep the floor exactly and admit 20 when ${when}`, async () => {
    const { clock, core } = world([protector({ cells: [cell("c1", 50), cell("c2", 50)] })]);
    const replicas = [1, 2].map((seed) => createReplica(clock, core, { seed }));
    core.watches = watches;
    const answers = Array.from({ length: 100 }, (_, index) =>
      replicas[index % 2]!.send(deleteReview(pod(`p${index}`)), {
        cellID: index < 50 ? "c1" : "c2",
        query: "?timeout=30s",
      }),
    );
    const settled = await settle(clock, Promise.all(answers));
    assert.equal(settled.filter(({ allowed }) => allowed).length, 20);
    assert.equal(core.buckets("ns/web").length, 20);
    assert.ok(settled.every(({ http }) => http === 200));
  });
}

test("several replicas on one core admit each deletion once, although answers are slow or lost", async () => {
  const { clock, core } = world([protector({ cells: [cell("c1", 50), cell("c2", 50)] })]);
  const replicas = [1, 2, 3].map((seed) => createReplica(clock, core, { seed }));
  let count = 0;
  core.script = (request) => {
    count++;
    if (request.method !== "PUT") return "none";
    return count % 3 === 0 ? { loseAnswer: "network" } : count % 7 === 0 ? { refuse: "timeout" } : "none";
  };
  core.latencyMs = 30;
  const answers = Array.from({ length: 60 }, (_, index) =>
    replicas[index % 3]!.send(deleteReview(pod(`p${index}`)), { query: "?timeout=30s" }),
  );
  const settled = await settle(clock, Promise.all(answers));
  const admitted = settled.filter(({ allowed }) => allowed).length;
  const recorded = core.buckets("ns/web").length;
  assert.equal(recorded, 20);
  assert.ok(admitted <= recorded, `${admitted} admitted, ${recorded} recorded`);
});

const roomy = () => protector({ cells: [cell("c1", 100)] });

test("the settings of the webhook write pod names into the buckets of the cells that ask for them", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 100), cell("c2", 0)] })], {
    requiresPodName: (cellID) => cellID === "c2",
  });
  await replica.review(deleteReview(pod("p")));
  await replica.review(deleteReview(pod("q")), { cellID: "c2" });
  assert.deepEqual(
    core.buckets("ns/web").map((bucket) => bucket["podName"]),
    [undefined, "q"],
  );
});

test("the settings of the webhook delay the first batch of a quiet PodProtector only (cold start)", async () => {
  const { replica } = world([roomy()], { coldStartDelayMs: 200 });
  const first = await replica.review(deleteReview(pod("p")));
  const second = await replica.review(deleteReview(pod("q")));
  assert.ok(first.elapsedMs >= 200, `${first.elapsedMs}`);
  assert.ok(second.elapsedMs < 200, `${second.elapsedMs}`);
});

test("the settings of the webhook pack the history at the threshold of the flag", async () => {
  const { core, replica } = world([roomy()], {
    history: { maxConcurrentLag: 0, compactThreshold: 5, aggregationRateMs: 1000 },
  });
  for (let index = 0; index < 8; index++) await replica.review(deleteReview(pod(`p${index}`)));
  const buckets = core.buckets("ns/web");
  assert.ok(buckets.length <= 5, `${buckets.length} buckets`);
  assert.equal(
    buckets.reduce((sum, bucket) => sum + ((bucket["counter"] as number | undefined) ?? 1), 0),
    8,
  );
});

test("the drain of the webhook finishes what runs, and refuses what comes later so that it is repeated", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  const running = replica.send(deleteReview(pod("p")));
  await clock.advance(1);
  const drained = replica.webhook.drain();
  const later = await replica.review(deleteReview(pod("q")));
  assert.equal(later.code, 429);
  assert.match(later.message, /has too many deletions waiting/);
  assert.equal((await settle(clock, running)).allowed, true);
  await settle(clock, drained);
  assert.equal(core.buckets("ns/web").length, 1);
});
