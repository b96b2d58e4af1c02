/** The decision order (docs/webhook.md#decision-order). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError, type KubeClient, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { createReplica, settle, world } from "../support/replica.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };
const judgedBy = (criterion: string) => ({ annotations: { [annotations.healthCriterion]: criterion } });
/** 80 required, all 80 there: nothing may go. */
const atFloor = () => protector({ cells: [cell("c1", 80)] });
/** 80 required, 100 there. */
const roomy = () => protector({ cells: [cell("c1", 100)] });

test("the webhook allows a pod that no PodProtector counts, without a write", async () => {
  const { core, replica } = world([atFloor()]);
  const answer = await replica.review(deleteReview(pod("p", { labels: { app: "other" } })));
  assert.equal(answer.allowed, true);
  assert.deepEqual(core.requests, []);
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="Unmatched",cause="DeletePod"}'), 1);
});

test("the webhook allows a terminating pod without a write", async () => {
  const { core, replica } = world([atFloor()]);
  assert.equal((await replica.review(deleteReview(pod("p", { terminating: true })))).allowed, true);
  assert.deepEqual(core.requests, []);
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="AlreadyTerminating"'), 1);
});

test("the webhook allows the deletion of a NotReady pod without a write, even at the floor", async () => {
  const { core, replica } = world([atFloor()]);
  assert.equal((await replica.review(deleteReview(pod("p", { ready: false })))).allowed, true);
  assert.deepEqual(core.requests, []);
});

test("the webhook admits and records a deletion with its UID and version before it answers", async () => {
  const { core, replica } = world([roomy()]);
  const answer = await replica.review(deleteReview(pod("p", { resourceVersion: "77" })));
  assert.equal(answer.allowed, true);
  assert.equal(answer.audit["admit-by-podprotectors"], "core/ns/web=quota");
  const [bucket] = core.buckets("ns/web");
  assert.equal(bucket?.["podUID"], "uid-p");
  assert.equal(bucket?.["podResourceVersion"], "77");
});

test("the webhook refuses other subjects as upstream does, without a look at the PodProtectors", async () => {
  const { replica } = world([atFloor()]);
  for (const extra of [
    { operation: "UPDATE" },
    { resource: { group: "apps", version: "v1", resource: "deployments" } },
    { subResource: "status" },
    { operation: "PATCH", subResource: "status" },
  ]) {
    const answer = await replica.review(deleteReview(pod("p"), extra));
    assert.equal(answer.http, 200);
    assert.equal(answer.code, 500);
    assert.match(answer.message, /^Unexpected review subject; only pod deletions and evictions/);
  }
});

test("the webhook takes name and namespace of oldObject, because a deletecollection has no request.name", async () => {
  const { core, replica } = world([roomy()]);
  const answer = await replica.review(deleteReview(pod("p"), { name: undefined, namespace: undefined }));
  assert.equal(answer.allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
});

const counted = () =>
  protector({
    cells: [cell("c1", 80)],
    selector: { matchLabels: { app: "web", tier: "front" } },
    aggregationSelector: { matchLabels: { app: "web" } },
  });

test("the webhook records the deletion of a pod that is only counted, and needs no quota for it", async () => {
  const { core, replica } = world([counted()]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.equal(answer.audit["admit-by-podprotectors"], "core/ns/web=best-effort");
  assert.equal(core.buckets("ns/web").length, 1);
});

test("the webhook needs quota for a pod that is protected as well", async () => {
  const { replica } = world([counted()]);
  assert.equal(
    (await replica.review(deleteReview(pod("p", { labels: { app: "web", tier: "front" } })))).allowed,
    false,
  );
});

test("the webhook allows a pod that is only counted even when the record fails, and counts that", async () => {
  const { core, replica } = world([counted()]);
  core.script = () => ({ refuse: "forbidden" });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="forbidden"}'), 1);
});

test("the webhook does not wait beyond the deadline for a record that is best effort", async () => {
  const { core, replica } = world([counted()]);
  core.script = () => ({ refuse: "timeout" });
  const answer = await replica.review(deleteReview(pod("p")), { query: "?timeout=3s" });
  assert.equal(answer.allowed, true);
  assert.ok(answer.elapsedMs <= 2001, `${answer.elapsedMs}`);
});

test("the webhook allows force-delete at the floor, records it and warns", async () => {
  const { core, replica } = world([atFloor()]);
  const answer = await replica.review(deleteReview(pod("p", forced)));
  assert.equal(answer.allowed, true);
  assert.equal(answer.audit["dry-run"], "1");
  assert.equal(answer.audit["reject-by-podprotector"], "core/ns/web");
  assert.match(answer.warnings[0] ?? "", /too few available replicas/);
  assert.equal(core.buckets("ns/web").length, 1);
});

test("the webhook allows force-delete before the PodProtectors are listed", async () => {
  const { replica } = world([atFloor()], { unsynced: true });
  assert.equal((await replica.review(deleteReview(pod("p", forced)))).allowed, true);
});

test("the webhook records force-delete in the cores that are listed while another one is not", async () => {
  const clock = createVirtualClock();
  const [east, west] = [new FakeCore(clock), new FakeCore(clock)];
  for (const core of [east, west]) core.put(atFloor());
  const replica = createReplica(clock, { east, west }, { unsynced: true });
  east.deliver();
  const answer = await replica.review(deleteReview(pod("p", forced)));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /the PodProtectors of west are still being listed/);
  assert.equal(east.buckets("ns/web").length, 1);
  assert.equal(west.writes, 0);
});

test("the webhook allows force-delete when nothing can be recorded", async () => {
  const { core, replica } = world([roomy()]);
  core.script = () => ({ refuse: "serverError" });
  const answer = await replica.review(deleteReview(pod("p", forced)));
  assert.equal(answer.allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="Cancelled"}'), 1);
});

test("--webhook-dry-run allows everything, internal errors included, and says what would have been", async () => {
  const { replica } = world([atFloor()], { dryRun: true });
  const rejected = await replica.review(deleteReview(pod("p")));
  assert.equal(rejected.allowed, true);
  assert.equal(rejected.audit["reject-by-podprotector"], "core/ns/web");
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="Rejected"'), 1);
  const failed = await replica.review(deleteReview(null));
  assert.equal(failed.http, 200);
  assert.equal(failed.allowed, true);
  assert.equal(failed.audit["dry-run"], "1");
});

test("the webhook evaluates a request with dryRun and writes nothing", async () => {
  for (const [object, allowed] of [
    [roomy(), true],
    [atFloor(), false],
  ] as const) {
    const { core, replica } = world([object]);
    assert.equal((await replica.review(deleteReview(pod("p"), { dryRun: true }))).allowed, allowed);
    assert.deepEqual(core.requests, []);
  }
});

test("the webhook writes nothing for a forced deletion with dryRun", async () => {
  const { core, replica } = world([atFloor()]);
  assert.equal((await replica.review(deleteReview(pod("p", forced), { dryRun: true }))).allowed, true);
  assert.deepEqual(core.requests, []);
});

test("the webhook evaluates an eviction whose deleteOptions ask for a dry run", async () => {
  const { core, replica } = world([roomy()], { workers: { kind: "single", client: worker(pod("p")) } });
  assert.equal((await replica.review(evictReview("p", { deleteOptions: { dryRun: ["All"] } }))).allowed, true);
  assert.deepEqual(core.requests, []);
});

test("the webhook refuses with 503 until the handlers have processed the whole initial list", async () => {
  const { core, replica } = world([atFloor()], { unsynced: true });
  const before = await replica.review(deleteReview(pod("p")));
  assert.equal(before.http, 200);
  assert.equal(before.allowed, false);
  assert.equal(before.code, 503);
  assert.match(before.message, /^PodProtector informer is not synced yet/);
  assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /not synced yet/);
  core.deliver();
  assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
  assert.equal((await replica.review(deleteReview(pod("p")))).code, 429);
});

test("the webhook is no longer ready when the watch has been silent for minutes, and still answers", async () => {
  const { replica } = world([roomy()]);
  replica.informers[0]!.silence = 301_000;
  assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /nothing heard from core for 301 s/);
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  replica.informers[0]!.silence = 60_000;
  assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
});

test("before the PodProtectors are listed the webhook allows only pods that meet no criterion at all", async () => {
  const { replica } = world([atFloor()], { unsynced: true });
  const running = pod("p", { ready: false });
  assert.equal((await replica.review(deleteReview(running))).code, 503, "one may have the criterion Running");
  const asking = pod("p", { ready: false, ...judgedBy("Ready") });
  assert.equal((await replica.review(deleteReview(asking))).allowed, true);
  const bare = { ...(pod("p", { phase: "Pending" }) as object), status: { phase: "Pending", conditions: [] } };
  assert.equal((await replica.review(deleteReview(bare))).allowed, true);
});

test("the webhook answers 429 with reason, causes, numbers and advice, and no retryAfterSeconds", async () => {
  const { replica } = world([atFloor()]);
  const answer = await replica.review(deleteReview(pod("p")));
  const status = (answer.body["response"] as Json)["status"] as Json;
  assert.equal(status["code"], 429);
  assert.equal(status["reason"], "TooManyRequests");
  assert.equal(status["status"], "Failure");
  const details = status["details"] as { causes: Json[] };
  assert.deepEqual(Object.keys(details), ["causes"]);
  assert.equal(details.causes[0]?.["reason"], "TooFewReplicas");
  assert.equal(details.causes[0]?.["field"], "core/ns/web");
  assert.match(answer.message, /^PodProtector core\/ns\/web reports too few available replicas to admit pod deletion/);
  assert.match(answer.message, /Must stay 80, available 80, promised 0, free 0; by cell: "c1" 80/);
  assert.match(answer.message, /scale the workload up/);
  assert.deepEqual(answer.audit, {
    "reject-by-podprotector": "core/ns/web",
    criterion: "Available",
    required: "80",
    aggregated: "80",
    estimated: "80",
    unconfirmed: "0",
  });
});

test("the webhook answers 429 for a full buffer too, so that a drain tries again", async () => {
  const buckets = [{ startTime: "2026-01-01T00:00:00Z", podUID: "u", podResourceVersion: "1" }];
  const { replica } = world([protector({ cells: [cell("c1", 81, {}, buckets)] })]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.code, 429);
  assert.match(
    answer.message,
    /^PodProtector core\/ns\/web has promised all pods that may go and is temporarily unable to admit/,
  );
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="RetryAdvised"'), 1);
});

test("the webhook answers CountsPending for a cell without counts, or with those of another spec", async () => {
  for (const cells of [[], [cell("c1", 100, { countedSpec: "abcdef" })]]) {
    const { core, replica } = world([protector({ cells })]);
    const answer = await replica.review(deleteReview(pod("p")));
    assert.equal(answer.code, 429);
    const details = ((answer.body["response"] as Json)["status"] as Json)["details"] as { causes: Json[] };
    assert.equal(details.causes[0]?.["reason"], "CountsPending");
    assert.equal(core.writes, 0);
  }
});

test("the webhook answers a second before the API server gives up when the core does not answer", async () => {
  const { core, replica } = world([roomy()]);
  core.script = () => ({ refuse: "network" });
  const answer = await replica.review(deleteReview(pod("p")), { query: "?timeout=4s" });
  assert.equal(answer.allowed, false);
  assert.equal(answer.code, 429);
  assert.match(answer.message, /could not record the pod deletion in time: its core cluster does not accept writes/);
  assert.ok(answer.elapsedMs >= 2990 && answer.elapsedMs <= 3001, `${answer.elapsedMs}`);
});

test("the webhook executes nothing for a review whose caller has left", async () => {
  const { clock, core, replica } = world([roomy()]);
  const gone = new AbortController();
  core.latencyMs = 1000;
  const first = replica.send(deleteReview(pod("first")));
  await clock.advance(10);
  // Waits for the running batch, and goes.
  const second = replica.send(deleteReview(pod("second")), { signal: gone.signal });
  await clock.advance(10);
  gone.abort();
  assert.equal((await settle(clock, second)).allowed, false);
  assert.equal((await settle(clock, first)).allowed, true);
  await clock.advance(5000);
  assert.deepEqual(
    core.buckets("ns/web").map((bucket) => bucket["podUID"]),
    ["uid-first"],
  );
  assert.equal(core.writes, 1);
});

test("the webhook reads the pod of an eviction with resourceVersion unset", async () => {
  const requests: KubeRequest[] = [];
  const { core, replica } = world([roomy()], { workers: { kind: "single", client: worker(pod("p"), requests) } });
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(requests[0]?.path, "/api/v1/namespaces/ns/pods/p");
  assert.equal(requests[0]?.query?.["resourceVersion"], undefined);
  assert.equal(core.buckets("ns/web")[0]?.["podResourceVersion"], undefined);
});

test("the webhook records the eviction of a NotReady pod, which is not reviewed again", async () => {
  const { core, replica } = world([atFloor()], {
    workers: { kind: "single", client: worker(pod("p", { ready: false })) },
  });
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
});

test("the webhook answers 404 with the API server's words when the pod is gone", async () => {
  const { replica } = world([roomy()], { workers: { kind: "single", client: worker(undefined) } });
  const answer = await replica.review(evictReview("p"));
  assert.equal(answer.code, 404);
  assert.equal(answer.message, 'pods "p" not found');
});

test("a dry run of an eviction does not tell whether a pod is there that nothing protects", async () => {
  const other = pod("p", { labels: { app: "other" } });
  const answers = await Promise.all(
    [undefined, other].map((answer) =>
      world([roomy()], { workers: { kind: "single", client: worker(answer) } }).replica.review(
        evictReview("p", {}, { dryRun: true }),
      ),
    ),
  );
  assert.equal(answers[0]?.allowed, true);
  assert.deepEqual(answers[0]?.body, answers[1]?.body);
});

test("the Eviction's annotations take precedence over the Pod's", async () => {
  const clients = { kind: "single", client: worker(pod("p", { ready: false, ...judgedBy("Available") })) } as const;
  const { replica } = world([atFloor()], { workers: clients });
  const answer = await replica.review(evictReview("p", { metadata: judgedBy("Running") }));
  assert.match(answer.message, /too few running replicas/);
  assert.equal((await replica.review(evictReview("p", { metadata: forced }))).allowed, true);
});

test("the webhook allows a forced eviction even when the pod cannot be read", async () => {
  const { replica } = world([atFloor()]);
  assert.equal((await replica.review(evictReview("p"))).http, 500);
  assert.equal((await replica.review(evictReview("p", { metadata: forced }))).allowed, true);
});

test("the webhook protects NotReady pods with a stricter criterion", async () => {
  for (const [criterion, noun] of [
    ["Scheduled", "scheduled"],
    ["Initialized", "initialized"],
    ["Running", "running"],
  ] as const) {
    const { replica } = world([atFloor()]);
    const answer = await replica.review(deleteReview(pod("p", { ready: false, ...judgedBy(criterion) })));
    assert.equal(answer.code, 429, criterion);
    assert.match(answer.message, new RegExp(`too few ${noun} replicas`));
  }
});

test("the webhook compares with the count of the criterion that was asked for", async () => {
  const { replica } = world([protector({ cells: [cell("c1", 80, { scheduledReplicas: 100 })] })]);
  assert.equal((await replica.review(deleteReview(pod("p", judgedBy("Scheduled"))))).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, false);
});

test("the webhook needs no quota for a pod that does not contribute to its criterion", async () => {
  const { core, replica } = world([atFloor()]);
  const unscheduled = pod("p", { ready: false, scheduled: false, phase: "Pending", ...judgedBy("Scheduled") });
  assert.equal((await replica.review(deleteReview(unscheduled))).allowed, true);
  assert.deepEqual(core.requests, []);
});

test("the webhook records a pod that is too young, without quota", async () => {
  const young = protector({ cells: [cell("c1", 80)], minReadySeconds: 600 });
  const { core, replica } = world([young]);
  assert.equal((await replica.review(deleteReview(pod("p", { readySince: "2025-12-31T23:59:00Z" })))).allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
});

/** A worker cluster with one pod, or none. */
function worker(object: Json | undefined, requests: KubeRequest[] = []): KubeClient {
  return {
    cluster: "worker",
    async request(request) {
      requests.push(request);
      if (object !== undefined) return object;
      throw new KubeError("notFound", "GET: 404", { code: 404, status: { message: 'pods "p" not found' } });
    },
    stream: () => Promise.reject(new KubeError("serverError", "no watches here")),
    close: () => Promise.resolve(),
  };
}
