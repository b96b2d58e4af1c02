/** Inputs that crash upstream (docs/compatibility.md#upstream-defects): each is answered, and the replica serves on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "./support/objects.ts";
import { settle, world } from "./support/replica.ts";
import { workerOf } from "./support/worker.ts";

test("a pod of a cell that is not in the status gets an answer, and adds no cell", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  assert.equal((await replica.review(deleteReview(pod("p")), { cellID: "new" })).code, 429);
  const forced = pod("f", { annotations: { "podseidon.kubewharf.io/force-delete": "" } });
  assert.equal((await replica.review(deleteReview(forced), { cellID: "new" })).allowed, true);
  assert.equal((await replica.review(deleteReview(forced), { cellID: "newer" })).allowed, true);
  const cells = (core.object("ns/web")["status"] as { cells: Json[] }).cells.map((one) => one["cellID"]);
  assert.deepEqual(cells, ["c1"]);
  assert.equal(core.writes, 0);
});

test("a PodProtector without any status gets an answer", async () => {
  const { status: _, ...object } = protector();
  const { replica } = world([object]);
  assert.equal((await replica.review(deleteReview(pod("p")))).code, 429);
  assert.equal((await replica.review(deleteReview(pod("p", { ready: false })))).allowed, true);
});

test("duplicate values in an In expression protect like single ones", async () => {
  const selector = { matchExpressions: [{ key: "app", operator: "In", values: ["web", "web"] }] };
  const { core, replica } = world([protector({ selector, cells: [cell("c1", 80)] })]);
  assert.equal((await replica.review(deleteReview(pod("p")))).code, 429);
  core.put(protector({ selector: { matchLabels: { app: "other" } }, cells: [] }));
  core.remove("ns/web");
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
});

for (const compactThreshold of [0, -1]) {
  test(`compactThreshold ${compactThreshold} counts as 1`, async () => {
    const { core, replica } = world([
      protector({ cells: [cell("c1", 100)], admissionHistoryConfig: { compactThreshold } }),
    ]);
    for (const name of ["p", "q", "r"]) assert.equal((await replica.review(deleteReview(pod(name)))).allowed, true);
    const counters = core.buckets("ns/web").map((bucket) => (bucket["counter"] as number | undefined) ?? 1);
    assert.equal(
      counters.reduce((sum, counter) => sum + counter, 0),
      3,
    );
  });
}

test("a compactThreshold of 0 by flag counts as 1", async () => {
  const { replica } = world([protector({ cells: [cell("c1", 100)] })], {
    history: { maxConcurrentLag: 0, compactThreshold: 0, aggregationRateMs: 1000 },
  });
  for (const name of ["p", "q", "r"]) assert.equal((await replica.review(deleteReview(pod(name)))).allowed, true);
});

test("a bucket with neither podUID nor endTime keeps its weight", async () => {
  const buckets = [{ startTime: "2026-01-01T00:00:00Z" }, { startTime: "nonsense", counter: -5 }];
  const { replica } = world([protector({ cells: [cell("c1", 82, {}, buckets)] })]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.code, 429);
  assert.equal(answer.audit["unconfirmed"], "2");
});

for (const body of [
  "{}",
  "null",
  '{"request":null}',
  '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
]) {
  test(`the review ${body} without a request is refused`, async () => {
    const { replica } = world([protector()]);
    const answer = await replica.review(body);
    assert.equal(answer.http, 400);
    assert.equal(answer.allowed, false);
    assert.equal(answer.body["kind"], "AdmissionReview");
  });
}

test("thousands of requests for one key while batches begin and end leave nothing behind", async () => {
  const { clock, core, replica } = world([protector({ minAvailable: 1, cells: [cell("c1", 1900)] })]);
  core.latencyMs = 1;
  const answers: Promise<{ allowed: boolean }>[] = [];
  for (let index = 0; index < 1500; index++) {
    answers.push(replica.send(deleteReview(pod(`p${index}`)), { query: "?timeout=30s" }));
    if (index % 100 === 0) await clock.advance(3);
  }
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 1500);
  assert.equal(clock.pendingTimers, 0);
});

test("one bad object stops nothing: the others keep protecting", async () => {
  const bad = [
    { metadata: { namespace: "ns", name: "bad", uid: "b" } },
    { ...protector({ name: "bad2" }), spec: null },
    protector({ name: "bad3", selector: { matchExpressions: [{ key: "app", operator: "Gt", values: ["1"] }] } }),
    protector({ name: "bad4", cells: [cell("c1", -3)] }),
  ];
  const { clock, core, replica } = world([
    ...bad,
    protector({ cells: [cell("c1", 80)] }),
    protector({ namespace: "other", cells: [cell("c1", 80)] }),
  ]);
  const elsewhere = deleteReview(pod("p", { namespace: "other" }));
  assert.equal((await replica.review(elsewhere)).audit["reject-by-podprotector"], "core/other/web");
  assert.equal((await replica.review(deleteReview(pod("p")))).code, 503);
  assert.ok(replica.metrics.count("ppr_index_error") >= 3);
  for (const name of ["bad", "bad2", "bad3", "bad4"]) core.remove(`ns/${name}`);
  // The CRD is read.
  await clock.advance(20);
  assert.equal((await replica.review(deleteReview(pod("p")))).audit["reject-by-podprotector"], "core/ns/web");
});

test("a backoff of 0 with a jitter of 0 does not stop at the first conflict", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 100)] })], {
    retryBackoffBaseMs: 0,
    retryJitterMs: 0,
  });
  core.watches = false;
  core.update("ns/web", () => {});
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
});

test("maxConcurrentLag holds within a batch, and a limit below what is open blocks", async () => {
  const { clock, core, replica } = world([
    protector({ cells: [cell("c1", 200)], admissionHistoryConfig: { maxConcurrentLag: 2 } }),
  ]);
  const answers = ["a", "b", "c", "d"].map((name) => replica.send(deleteReview(pod(name))));
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 2);
  core.put({
    ...core.object("ns/web"),
    spec: { ...(core.object("ns/web")["spec"] as Json), admissionHistoryConfig: { maxConcurrentLag: 1 } },
  });
  assert.equal((await replica.review(deleteReview(pod("e")))).code, 429);
});

test("a PodProtector that vanishes between look-up and write is no crash", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  const blocker = replica.send(deleteReview(pod("blocker")));
  await clock.advance(1);
  const waiting = replica.send(deleteReview(pod("p")));
  core.remove("ns/web");
  const [first, second] = await settle(clock, Promise.all([blocker, waiting]));
  // The write met a 404. By the next batch the watch had said that the object is gone, but not the CRD.
  assert.equal(first.code, 429);
  assert.match(second.message, /is gone from the core cluster/);
  await clock.advance(20);
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
});

test("strange reviews are answered: wrong types, hostile names, null objects", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 100)] })], {
    ...workerOf({ kind: "Status" }),
  });
  const reviews: Json[] = [
    deleteReview(undefined),
    deleteReview(7),
    deleteReview([]),
    deleteReview({}),
    deleteReview({ metadata: { name: 7 } }),
    deleteReview({ ...pod("p"), status: { conditions: "none" } }),
    deleteReview({ ...pod("p"), metadata: { ...(pod("p")["metadata"] as Json), labels: [["app", "web"]] } }),
    deleteReview({ ...pod("p"), metadata: { ...(pod("p")["metadata"] as Json), labels: { app: 7 } } }),
    evictReview("..", {}, { namespace: ".." }),
    evictReview("a/../../b"),
    evictReview("p", {}, { object: null }),
    evictReview("p", {}, { object: 7 }),
    evictReview("p", {}, { object: undefined }),
    evictReview("p", { deleteOptions: 7 }),
    evictReview("p", { deleteOptions: { dryRun: "All" } }),
  ];
  for (const review of reviews) {
    const answer = await replica.review(review);
    assert.ok(answer.http === 200 || answer.http === 500, JSON.stringify(review));
  }
  assert.ok(core.requests.every(({ path }) => !path.includes("..")));
  assert.equal((await replica.review(deleteReview(pod("fine")))).allowed, true);
});
