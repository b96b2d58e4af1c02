/** More PodProtectors on one pod than are asked about one deletion (docs/refusals.md#too-many-podprotectors). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, endReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { createReplica, world } from "../support/replica.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };

/** PodProtectors that would each let 20 pods go. */
function roomy(count: number, healthCriterion?: string): Json[] {
  return Array.from({ length: count }, (_, index) => {
    const object = protector({ name: `p-${index + 10}`, cells: [cell("c1", 100)] });
    return healthCriterion === undefined
      ? object
      : { ...object, spec: { ...(object["spec"] as Json), healthCriterion } };
  });
}

const refusals = 'webhook_request{cell="c1",status="TooManyProtectors"';

test("50 PodProtectors on one pod are asked one by one, and the deletion is recorded in each", async () => {
  const { core, replica } = world(roomy(50));
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  assert.equal(core.writes, 50);
});

test("a pod with more than 50 PodProtectors is refused before any write, with what a person needs", async () => {
  const { core, replica } = world(roomy(51));
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, false);
  assert.equal(answer.code, 503);
  assert.equal(
    answer.message,
    "Pod deletion is denied: more than 50 PodProtectors of core core in namespace ns count this pod, and at most 50 " +
      "can be asked about one deletion. Some of them: core/ns/p-10, core/ns/p-11, core/ns/p-12. " +
      "Delete those that nobody needs, or narrow their selectors",
  );
  const { details } = (answer.body["response"] as Json)["status"] as { details: { causes: Json[] } };
  assert.deepEqual(
    details.causes.map(({ reason, field }) => [reason, field]),
    ["p-10", "p-11", "p-12"].map((name) => ["TooManyPodProtectors", `core/ns/${name}`]),
  );
  assert.deepEqual(core.requests, []);
  assert.equal(replica.metrics.count(refusals), 1);
});

test("pods of other labels or another namespace are not affected by a crowd of PodProtectors", async () => {
  const { replica } = world([...roomy(51), protector({ namespace: "other", cells: [cell("c1", 100)] })]);
  for (const parts of [{ labels: { app: "db" } }, { namespace: "other" }])
    assert.equal((await replica.review(deleteReview(pod("p", parts)))).allowed, true);
});

test("with too many PodProtectors what needs no quota goes as ever, and without a write", async () => {
  const { core, replica } = world(roomy(51));
  for (const parts of [{ terminating: true }, { phase: "Failed" }, { phase: "Succeeded" }, { ready: false }]) {
    for (const review of [deleteReview, endReview])
      assert.equal((await replica.review(review(pod("p", parts)))).allowed, true, JSON.stringify(parts));
  }
  assert.deepEqual(core.requests, []);
});

test("with too many PodProtectors a NotReady pod stays if the criterion of one of them needs it", async () => {
  const unready = pod("p", { ready: false });
  for (const [choosy, criterion, allowed] of [
    [1, "Running", false],
    [1, "Ready", true],
    [50, "Ready", true],
    [51, "Ready", false],
  ] as const) {
    const { core, replica } = world([
      ...roomy(51),
      ...roomy(choosy, criterion).map((object) => {
        const metadata = object["metadata"] as Json;
        return { ...object, metadata: { ...metadata, name: `z-${String(metadata["name"])}` } };
      }),
    ]);
    const answer = await replica.review(deleteReview(unready));
    assert.equal(answer.allowed, allowed, `${choosy} by ${criterion}`);
    assert.equal(core.writes, 0);
  }
});

test("a criterion that a crowd of PodProtectors had once, or was released with, keeps no NotReady pod", async () => {
  const choosy = () => roomy(1, "Running")[0]!;
  for (const after of [roomy(1)[0]!, undefined]) {
    const others = roomy(52).slice(1);
    const { core, replica } = world([...others, choosy()]);
    assert.equal((await replica.review(deleteReview(pod("p", { ready: false })))).allowed, false);
    const metadata = choosy()["metadata"] as Json;
    core.put(after ?? { ...choosy(), metadata: { ...metadata, annotations: { [annotations.released]: "" } } });
    assert.equal((await replica.review(deleteReview(pod("p", { ready: false })))).allowed, true);
  }
});

test("dry runs and evictions of a pod with too many PodProtectors get the same refusal", async () => {
  const client = {
    cluster: "worker",
    request: async () => pod("p"),
    stream: () => Promise.reject(new Error("no watches here")),
    close: async () => {},
  };
  const { core, replica } = world(roomy(51), { workers: { kind: "single", client } });
  for (const review of [
    deleteReview(pod("p"), { dryRun: true }),
    evictReview("p"),
    evictReview("p", { deleteOptions: { dryRun: ["All"] } }),
  ])
    assert.match((await replica.review(review)).message, /more than 50 PodProtectors/);
  assert.deepEqual(core.requests, []);
});

test("a forced deletion passes a crowd of PodProtectors, is recorded in no one of it, and is counted", async () => {
  for (const [options, parts, counted] of [
    [{}, forced, 'webhook_request{cell="c1",status="Forced"'],
    [{ dryRun: true }, {}, refusals],
  ] as const) {
    const { core, replica } = world(roomy(51), options);
    const answer = await replica.review(deleteReview(pod("p", parts)));
    assert.equal(answer.allowed, true);
    assert.match(answer.warnings[0] ?? "", /^allowed by force-delete or dry-run: .*more than 50 PodProtectors/);
    assert.equal(core.writes, 0);
    assert.equal(replica.metrics.count('webhook_record_failure{error="TooManyPodProtectors"}'), 1);
    assert.equal(replica.metrics.count(counted), 1);
  }
});

test("too many PodProtectors in one core refuse for all, and the others record a forced deletion", async () => {
  const clock = createVirtualClock();
  const [a, b] = [new FakeCore(clock), new FakeCore(clock)];
  for (const object of roomy(2)) a.put(object);
  for (const object of roomy(51)) b.put(object);
  const replica = createReplica(clock, { a, b });
  assert.match((await replica.review(deleteReview(pod("p")))).message, /PodProtectors of core b .* b\/ns\/p-10/);
  assert.deepEqual([a.writes, b.writes], [0, 0]);
  assert.equal((await replica.review(deleteReview(pod("p", forced)))).allowed, true);
  assert.deepEqual([a.writes, b.writes], [2, 0]);
});

test("pods of a lost node with too many PodProtectors are kept from garbage collection for its grace", async () => {
  const { clock, core, replica } = world(roomy(51), { orphanedPodGraceMs: 60_000 });
  const orphan = pod("p", { nodeName: "node-1" });
  assert.match((await replica.review(endReview(orphan))).message, /more than 50 PodProtectors.* let go in 60 s$/);
  await clock.advance(60_000);
  const answer = await replica.review(endReview(orphan));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /more than 50 PodProtectors/);
  assert.equal(core.writes, 0);
});
