/** Reviews and the decision order (docs/webhook.md#decision-order). What becomes of each is in told/handler.txt. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import {
  cell,
  deleteReview,
  evictReview,
  type Json,
  pod,
  type PodParts,
  protector,
  type ProtectorParts,
} from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";
import { atFloor, roomy, tellsAll } from "../support/told.ts";
import { FakeWorker, workerOf } from "../support/worker.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };
const judgedBy = (criterion: string) => ({ annotations: { [annotations.healthCriterion]: criterion } });
/** The review of the deletion of the pod p. */
const deleted = (parts: PodParts = {}, extra: Json = {}) => deleteReview(pod("p", parts), extra);
const dryRun = { dryRun: true };

/** Counts app=web and protects the front tier of these alone; 80 must stay, 80 are there. */
const counted = () =>
  protector({
    cells: [cell("c1", 80)],
    selector: { matchLabels: { app: "web", tier: "front" } },
    aggregationSelector: { matchLabels: { app: "web" } },
  });

/** With a criterion of its own; 80 must stay, and 80 are there by all criteria but Available. */
function having(healthCriterion: unknown, parts: ProtectorParts = {}): Json {
  const object = protector({ cells: [cell("c1", 80, { availableReplicas: 100 })], ...parts });
  return { ...object, spec: { ...(object["spec"] as Json), healthCriterion } };
}

const bare = { ...pod("p", { phase: "Pending" }), status: { phase: "Pending", conditions: [] } };
const notReady = (resourceVersion: string) => pod("p", { ready: false, resourceVersion });
const ready = (resourceVersion: string) => pod("p", { resourceVersion });
const promised = [{ startTime: "2026-01-01T00:00:00Z", podUID: "u", podResourceVersion: "1" }];

tellsAll(new URL("told/handler.txt", import.meta.url), {
  "the webhook allows a pod that no PodProtector counts, without a write": {
    of: [atFloor()],
    do: [deleted({ labels: { app: "other" } })],
  },
  "the webhook allows a terminating pod without a write": { of: [atFloor()], do: [deleted({ terminating: true })] },
  "the webhook allows the deletion of a NotReady pod without a write, even at the floor": {
    of: [atFloor()],
    do: [deleted({ ready: false })],
  },
  "the webhook admits and records a deletion with its UID and version before it answers": {
    of: [roomy()],
    do: [deleted({ resourceVersion: "77" })],
  },
  "the webhook refuses other subjects as upstream does, without a look at the PodProtectors": {
    of: [atFloor()],
    do: [
      deleted({}, { operation: "UPDATE" }),
      deleted({}, { resource: { group: "apps", version: "v1", resource: "deployments" } }),
      deleted({}, { subResource: "status" }),
      deleted({}, { operation: "PATCH", subResource: "status" }),
    ],
  },
  "the webhook takes name and namespace of oldObject, because a deletecollection has no request.name": {
    of: [roomy()],
    do: [deleted({}, { name: undefined, namespace: undefined })],
  },
  "the webhook records the deletion of a pod that is only counted, and needs no quota for it": {
    of: [counted()],
    do: [deleted()],
  },
  "the webhook needs quota for a pod that is protected as well": {
    of: [counted()],
    do: [deleted({ labels: { app: "web", tier: "front" } })],
  },
  "the webhook allows a pod that is only counted even when the record fails, and counts that": {
    of: [counted()],
    do: [({ core }) => void (core.script = () => ({ refuse: "forbidden" })), deleted()],
  },
  "the webhook does not wait beyond the deadline for a record that is best effort": {
    of: [counted()],
    do: [
      ({ core }) => void (core.script = () => ({ refuse: "timeout" })),
      ({ replica }) => replica.review(deleted(), { query: "?timeout=3s" }),
    ],
  },
  "the webhook allows force-delete at the floor, records it and warns": { of: [atFloor()], do: [deleted(forced)] },
  "the webhook allows force-delete before the PodProtectors are listed": {
    of: [atFloor()],
    with: { unsynced: true },
    do: [deleted(forced)],
  },
  "the webhook allows force-delete of a pod that no PodProtector counts, and writes nothing": {
    of: [atFloor()],
    do: [deleted({ ...forced, labels: { app: "other" } })],
  },
  "--webhook-dry-run allows deletions before the PodProtectors are listed, and says so": {
    of: [atFloor()],
    with: { ...dryRun, unsynced: true },
    do: [deleted()],
  },
  "the webhook records force-delete in the cores that are listed while another one is not": {
    of: { east: [atFloor()], west: [atFloor()] },
    with: { unsynced: true },
    do: [({ core }) => core.deliver(), deleted(forced)],
  },
  "the webhook allows force-delete when nothing can be recorded": {
    of: [roomy()],
    do: [({ core }) => void (core.script = () => ({ refuse: "serverError" })), deleted(forced)],
  },
  "--webhook-dry-run allows everything, internal errors included, and says what would have been": {
    of: [atFloor()],
    with: dryRun,
    do: [deleted(), deleteReview(null)],
  },
  "the webhook evaluates a request with dryRun and writes nothing": [
    { of: [roomy()], do: [deleted({}, dryRun)] },
    { of: [atFloor()], do: [deleted({}, dryRun)] },
  ],
  "the webhook writes nothing for a forced deletion with dryRun": { of: [atFloor()], do: [deleted(forced, dryRun)] },
  "the webhook evaluates an eviction whose deleteOptions ask for a dry run": {
    of: [roomy()],
    with: workerOf(pod("p")),
    do: [evictReview("p", { deleteOptions: { dryRun: ["All"] } })],
  },
  "the webhook refuses with 503 until the handlers have processed the whole initial list": {
    of: [atFloor()],
    with: { unsynced: true },
    do: [
      deleted(),
      ({ core, replica }) => {
        assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /not synced yet/);
        core.deliver();
        assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
      },
      deleted(),
    ],
  },
  "before the PodProtectors are listed the webhook allows only pods that meet no criterion at all": {
    of: [atFloor()],
    with: { unsynced: true },
    // The first one may have the criterion Running.
    do: [deleted({ ready: false }), deleted({ ready: false, ...judgedBy("Ready") }), deleteReview(bare)],
  },
  "the webhook answers 429 with reason, causes, numbers and advice, and no retryAfterSeconds": {
    of: [atFloor()],
    do: [
      async ({ replica }) => {
        const answer = await replica.review(deleted());
        const { status } = answer.body["response"] as { status: { details: object } };
        assert.deepEqual(Object.keys(status.details), ["causes"]);
        return answer;
      },
    ],
  },
  "the webhook answers 429 for a full buffer too, so that a drain tries again": {
    of: [protector({ cells: [cell("c1", 81, {}, promised)] })],
    do: [deleted()],
  },
  "the webhook answers CountsPending for a cell without counts, or with those of another spec": [
    { of: [protector({ cells: [] })], do: [deleted()] },
    { of: [protector({ cells: [cell("c1", 100, { countedSpec: "abcdef" })] })], do: [deleted()] },
  ],
  "the webhook answers a second before the API server gives up when the core does not answer": {
    of: [roomy()],
    do: [
      ({ core }) => void (core.script = () => ({ refuse: "network" })),
      async ({ core, replica }) => {
        const answer = await replica.review(deleted(), { query: "?timeout=4s" });
        core.requests.length = 0;
        return answer;
      },
    ],
  },
  "the webhook records the eviction of a NotReady pod, which is not reviewed again": {
    of: [atFloor()],
    with: workerOf(pod("p", { ready: false })),
    do: [evictReview("p")],
  },
  "the webhook answers 404 with the API server's words when the pod is gone": {
    of: [roomy()],
    with: workerOf(undefined),
    do: [evictReview("p")],
  },
  "a dry run of an eviction does not tell whether a pod is there that nothing protects": [
    { of: [roomy()], with: workerOf(undefined), do: [evictReview("p", {}, dryRun)] },
    { of: [roomy()], with: workerOf(pod("p", { labels: { app: "other" } })), do: [evictReview("p", {}, dryRun)] },
  ],
  "the Eviction's annotations take precedence over the Pod's": {
    of: [atFloor()],
    with: workerOf(pod("p", { ready: false, ...judgedBy("Available") })),
    do: [evictReview("p", { metadata: judgedBy("Running") }), evictReview("p", { metadata: forced })],
  },
  "the webhook allows a forced eviction even when the pod cannot be read": {
    of: [atFloor()],
    do: [evictReview("p"), evictReview("p", { metadata: forced })],
  },
  "the webhook protects NotReady pods with a stricter criterion": {
    of: [atFloor()],
    do: ["Scheduled", "Initialized", "Running"].map((one) => deleted({ ready: false, ...judgedBy(one) })),
  },
  "the webhook compares with the count of the criterion that was asked for": {
    of: [protector({ cells: [cell("c1", 80, { scheduledReplicas: 100 })] })],
    do: [deleted(judgedBy("Scheduled")), deleteReview(pod("q"))],
  },
  "the webhook needs no quota for a pod that does not contribute to its criterion": {
    of: [atFloor()],
    do: [deleted({ ready: false, scheduled: false, phase: "Pending", ...judgedBy("Scheduled") })],
  },
  "the webhook records a pod that is too young, without quota": {
    of: [protector({ cells: [cell("c1", 80)], minReadySeconds: 600 })],
    do: [deleted({ readySince: "2025-12-31T23:59:00Z" })],
  },

  // PodProtectors with a criterion of their own (docs/webhook.md#health-criteria).
  "a deletion that asks for no criterion is judged by that of the PodProtector: count and pod alike": [
    { of: [having("Running")], do: [deleted({ ready: false }), deleteReview(pod("q"))] },
    { of: [having("Ready")], do: [deleted({ ready: false }), deleteReview(pod("q"))] },
  ],
  "what the deletion asks for takes precedence": {
    of: [having("Running")],
    do: [deleted({ ready: false, ...judgedBy("Ready") })],
  },
  "several PodProtectors judge by their own each": {
    of: [having("Available"), having("Scheduled", { name: "other", minAvailable: 50 })],
    do: [deleted({ ready: false })],
  },
  "a pod that meets the criterion of none is let go without a write": {
    of: [having("Available"), having("Ready", { name: "other" })],
    do: [deleted({ ready: false })],
  },
  "an unknown criterion counts as absent, whatever it is": ["running", "", 5, null, { a: 1 }].map((odd) => ({
    of: [having(odd)],
    do: [deleted({ ready: false }), deleteReview(pod("q"))],
  })),

  // The pod of an eviction is bound to no version: it may change between its reading and the record of its eviction.
  "an evicted pod that was not healthy is read once more after its eviction was recorded": {
    of: [atFloor()],
    with: workerOf(notReady("5")),
    do: [evictReview("p")],
  },
  "an evicted pod that was not healthy is judged and read again when it changed and is still not": {
    of: [atFloor()],
    with: workerOf(notReady("5"), notReady("6"), notReady("6")),
    do: [evictReview("p")],
  },
  "an evicted pod is not read again when it was healthy, or when the eviction is forced": [
    { of: [protector({ cells: [cell("c1", 90)] })], with: workerOf(ready("5")), do: [evictReview("p")] },
    { of: [atFloor()], with: workerOf(notReady("5")), do: [evictReview("p", { metadata: forced })] },
  ],
  "an evicted pod that was not healthy needs quota when it has become healthy meanwhile": [
    { of: [atFloor()], with: workerOf(notReady("5"), ready("6")), do: [evictReview("p")] },
    { of: [protector({ cells: [cell("c1", 81)] })], with: workerOf(notReady("5"), ready("6")), do: [evictReview("p")] },
  ],
  "an evicted pod that was not healthy is not admitted when it changes at every read": {
    of: [atFloor()],
    with: workerOf(...["5", "6", "7", "8", "9"].map(notReady)),
    do: [evictReview("p")],
  },
});

test("the webhook reads the pod of an eviction with resourceVersion unset", async () => {
  const client = new FakeWorker(pod("p"));
  const { core, replica } = world([roomy()], { workers: { kind: "single", client } });
  assert.equal((await replica.review(evictReview("p"))).allowed, true);
  assert.equal(client.requests[0]?.path, "/api/v1/namespaces/ns/pods/p");
  assert.equal(client.requests[0]?.query?.["resourceVersion"], undefined);
  assert.equal(core.buckets("ns/web")[0]?.["podResourceVersion"], undefined);
});

test("the webhook is no longer ready when the watch has been silent for minutes, and still answers", async () => {
  const { replica } = world([roomy()]);
  replica.informers[0]!.silence = 301_000;
  assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /nothing heard from core for 301 s/);
  assert.equal((await replica.review(deleted())).allowed, true);
  replica.informers[0]!.silence = 60_000;
  assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
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
  const uids = core.buckets("ns/web").map((bucket) => bucket["podUID"]);
  assert.deepEqual([uids, core.writes], [["uid-first"], 1]);
});
