/**
 * Reservations that nobody uses come back, and a deletion that is late loses: settlement on real API servers, with the
 * default delays.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { silenceArgs } from "../../fleet/cell-states.ts";
import { deleteNow, type DeletionAttempt } from "../../objects/deletions.ts";
import { type Fleet, webhookTls } from "../../fleet/fleet.ts";
import { type OtherWebhook, startOtherWebhook } from "../../installed/other-webhook.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { grantRules } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** The defaults of --aggregator-settlement-fence-delay and --aggregator-settle-window. */
const fenceDelayMs = 10 * second;
const settleWindowMs = 75 * second;
/** For a webhook that looks every second and a half which cells are silent. */
const soonSilentMs = 18 * second;
/** Short enough for every run of the cases, and longer than the fence delay. */
const shortSettleWindowMs = 20 * second;
/** From the end of the delay: a patch, the watch, an aggregation, and the polls of this test. */
const slackMs = 10 * second;
/** The test sees a bucket a moment after the aggregator may have seen it. */
const pollMs = 500;

export const fencingCases = e2eCases({
  "fencing: unused reservations come back, and a slow deletion is reviewed again and refused": [120 * second, fenced],
  "fencing: where it is forbidden, an unused reservation comes back after a settle window of 20 s, not before": [
    180 * second,
    (context) => forbidden(context, shortSettleWindowMs),
  ],
  "fencing: where it is forbidden, an unused reservation comes back after a settle window of 75 s, not before": [
    180 * second,
    (context) => forbidden(context, settleWindowMs),
    { isLong: true },
  ],
});

function deleteOne(fleet: Fleet, name: string): Promise<DeletionAttempt> {
  return deleteNow(workerOf(fleet).cluster.admin, fleet.namespace, name);
}

function workerOf(fleet: Fleet): Fleet["workers"][number] {
  const worker = present(fleet.workers[0]);
  return worker;
}

async function waitBuckets(fleet: Fleet, count: number): Promise<void> {
  await waitFor(`${count} admissions are unsettled`, 10 * second, async () => {
    const { status } = await fleet.protector("web");
    const buckets = status?.cells.flatMap((cell) => cell.admissionHistory?.buckets ?? []) ?? [];
    return buckets.length === count;
  });
}

async function startOther(
  context: CaseContext,
  fleet: Fleet,
  decide: Parameters<typeof startOtherWebhook>[1]["decide"],
): Promise<OtherWebhook> {
  const tls = await webhookTls(path.join(context.directory, "other-webhook"));
  const { cluster } = workerOf(fleet);
  return startOtherWebhook(context, { cluster, namespace: fleet.namespace, tls, decide, podName: "web-0" });
}

async function fenced(context: CaseContext): Promise<Figures> {
  const floor = 5;
  const options = { workers: ["worker-1"], webhookReplicas: 1, generator: false, podsPerCell: 8, floor };
  // By default a webhook that starts again may need longer than the fence delay to know which cells are silent.
  const commonArgs = silenceArgs(soonSilentMs);
  const { fleet, available } = await startProtectedPods(context, { ...options, commonArgs });
  const { balancer } = fleet;
  const webhook = present(fleet.webhooks[0]);
  const aggregator = present(fleet.aggregators[0]);
  assert.ok(balancer !== undefined);
  const slow = Promise.withResolvers<void>();
  const other = await startOther(context, fleet, async ({ podName }) => {
    if (podName === "web-2") await slow.promise;
    return podName !== "web-1";
  });

  // web-0: the webhook has reserved and dies before its answer arrives.
  balancer.setDelay(60 * second);
  const unanswered = deleteOne(fleet, "web-0");
  await waitBuckets(fleet, 1);
  await webhook.kill();
  balancer.cut();
  assert.equal((await unanswered).code, 500);
  balancer.setDelay(0);
  balancer.heal();
  fleet.webhooks[0] = await webhook.startAgain();
  // web-1: another policy refuses what we have admitted. web-2: admitted, and then the API server waits for the other
  // webhook.
  const denied = await deleteOne(fleet, "web-1");
  assert.match(denied.message, /the other webhook says no/);
  const late = deleteOne(fleet, "web-2");
  await waitBuckets(fleet, 3);
  const startMs = performance.now();
  assert.equal((await deleteOne(fleet, "web-3")).code, 429);

  await fleet.waitSettled("web", fenceDelayMs + slackMs);
  const comebackMs = Math.round(performance.now() - startMs);
  assert.ok(comebackMs >= fenceDelayMs - pollMs, `a reservation was given back after ${comebackMs} ms`);
  const taken = await Promise.all(["web-3", "web-4", "web-5"].map((name) => deleteOne(fleet, name)));
  assert.deepEqual(
    taken.map(({ code }) => code),
    [200, 200, 200],
  );
  await waitFor("three pods are gone", 10 * second, () => available.serving === floor);

  // Only now the first deletion goes on: the pod has another version, so it is reviewed again, at the floor.
  slow.resolve();
  assert.equal((await late).code, 429);
  const [first, again] = other.reviews.filter(({ podName }) => podName === "web-2");
  assert.ok(first !== undefined && again !== undefined, "the slow deletion was reviewed twice");
  assert.ok(BigInt(again.resourceVersion) > BigInt(first.resourceVersion));
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  const metrics = await aggregator.metrics();
  const fences = metrics.value("aggregator_fence_total", { result: "sent" }) ?? 0;
  assert.ok(fences >= 3, `${fences} fences were sent for three reservations`);
  return { comebackMs, fences, left: available.serving };
}

/** What an aggregator needs in a worker, but for the right to patch pods/status. */
const rulesWithoutFencing = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "create", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
];

async function forbidden(context: CaseContext, windowMs: number): Promise<Figures> {
  await grantRules((await context.cluster("worker-1")).admin, "unfenced", rulesWithoutFencing);
  const { fleet, available } = await startProtectedPods(context, {
    workers: ["worker-1"],
    workerUser: "unfenced",
    webhookReplicas: 1,
    generator: false,
    podsPerCell: 4,
    floor: 3,
    aggregatorArgs: [`--aggregator-settle-window=${windowMs}ms`],
  });
  await startOther(context, fleet, ({ podName }) => podName !== "web-1");
  const denied = await deleteOne(fleet, "web-1");
  assert.match(denied.message, /the other webhook says no/);
  await waitBuckets(fleet, 1);
  const startMs = performance.now();
  assert.equal((await deleteOne(fleet, "web-2")).code, 429);

  await fleet.waitSettled("web", windowMs + slackMs);
  const comebackMs = Math.round(performance.now() - startMs);
  assert.ok(comebackMs >= windowMs - pollMs, `the reservation was given back after ${comebackMs} ms`);
  assert.equal((await deleteOne(fleet, "web-2")).code, 200);
  await waitFor("the pod is gone", 10 * second, () => available.serving === 3);
  const metrics = await fleet.aggregators[0]?.metrics();
  const refusedFences = metrics?.value("aggregator_fence_total", { result: "forbidden" }) ?? 0;
  assert.ok(refusedFences > 0, "the aggregator has tried to fence");
  assert.equal(metrics?.value("aggregator_fence_total", { result: "sent" }) ?? 0, 0);
  return { comebackMs, refusedFences };
}
