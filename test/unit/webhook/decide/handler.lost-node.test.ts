/** Deletions in disguise (docs/system-deletions.md#node-objects-that-are-gone). */
import { type HttpBindings } from "@hono/node-server";
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { cell, endReview, type Json, pod, protector } from "../support/objects.ts";
import { type Replica, settle, world } from "../support/replica.ts";

const minuteMs = 60_000;
const orphan = (name = "p", parts: Json = {}) => pod(name, { nodeName: "node-1", ...parts });
/** 80 required, all 80 there: nothing may go. */
const atFloor = () => protector({ cells: [cell("c1", 80)] });
/** 80 required, 100 there. */
const roomy = () => protector({ cells: [cell("c1", 100)] });

function requests({ metrics }: Replica, status: string, cellID = "c1"): number {
  return metrics.count(`webhook_request{cell="${cellID}",status="${status}",cause="EndPod"}`);
}

test("the webhook admits the end of a pod like a DELETE, and records the version before it", async () => {
  const { core, replica } = world([roomy()]);
  const answer = await replica.review(endReview(orphan("p", { resourceVersion: "77" })));
  assert.equal(answer.allowed, true);
  assert.equal(answer.audit["admit-by-podprotectors"], "core/ns/web=quota");
  const [bucket] = core.buckets("ns/web");
  assert.equal(bucket?.["podUID"], "uid-p");
  assert.equal(bucket?.["podResourceVersion"], "77");
  assert.equal(requests(replica, "AdmittedAll"), 1);
  assert.equal(replica.metrics.count("webhook_handle_pod_in_ppr{"), 1);
  assert.ok([...replica.metrics.values.keys()].some((text) => text.includes('request_type="EndPod"')));
});

test("the webhook refuses the end of a pod at the floor, names the lost Node object and says what to do", async () => {
  const { core, replica } = world([atFloor()]);
  const answer = await replica.review(endReview(orphan()));
  assert.equal(answer.allowed, false);
  assert.equal(answer.code, 429);
  assert.match(answer.message, /too few available replicas.*The Node object "node-1" of the pod is gone/);
  assert.match(answer.message, /restarting its kubelet.*let go in 60 min$/);
  assert.doesNotMatch(answer.message, new RegExp(annotations.forceDelete));
  assert.equal(answer.audit["lost-node"], "node-1");
  assert.deepEqual(core.buckets("ns/web"), []);
  assert.equal(requests(replica, "Rejected"), 1);
});

test("the webhook allows the end of a NotReady, terminating or finished pod without a write", async () => {
  const { core, replica } = world([atFloor()]);
  for (const parts of [{ ready: false }, { terminating: true }, { phase: "Failed" }, { phase: "Succeeded" }])
    assert.equal((await replica.review(endReview(orphan("p", parts)))).allowed, true);
  assert.deepEqual(core.requests, []);
});

test("the webhook allows other status writes without a look at the PodProtectors, whatever they hold", async () => {
  const { core, replica } = world([atFloor()], { unsynced: true });
  for (const extra of [
    { userInfo: { username: "system:node:node-1" } },
    { userInfo: { username: "admin" } },
    { object: orphan() },
    { object: null },
    { object: undefined },
    { object: orphan(), oldObject: null },
  ] satisfies Json[])
    assert.equal((await replica.review(endReview(orphan(), extra))).allowed, true);
  // Nobody has vouched for the cell yet.
  assert.equal(requests(replica, "NotADeletion", "other"), 6);
  assert.deepEqual(core.requests, []);
});

test("an end of a pod that is not shown as it was is an error, so that the failure policy decides", async () => {
  const { replica } = world([atFloor()]);
  assert.equal((await replica.review(endReview({}, { object: { status: { phase: "Failed" } } }))).http, 500);
});

test("a dry run of the end of a pod is judged and neither written nor remembered", async () => {
  const { clock, core, replica } = world([atFloor()]);
  assert.equal((await replica.review(endReview(orphan(), { dryRun: true }))).allowed, false);
  await clock.advance(20 * minuteMs);
  assert.match((await replica.review(endReview(orphan()))).message, /let go in 60 min$/);
  assert.deepEqual(
    core.requests.filter(({ method }) => method === "PUT"),
    [],
  );
});

test("the webhook judges the end of a pod by the criterion that its annotation names", async () => {
  const { replica } = world([atFloor()]);
  const judged = { annotations: { [annotations.healthCriterion]: "Running" }, ready: false };
  assert.equal((await replica.review(endReview(orphan("p", judged)))).allowed, false);
});

/** Asked again every 20 minutes, as a collector that comes more often would. */
async function keptForAnHour(replica: Replica, advance: (ms: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await replica.review(endReview(orphan()))).allowed, false);
    await advance(20 * minuteMs);
  }
}

test("the webhook lets go of the pods of a node an hour after its first refusal, and records them", async () => {
  const { clock, core, replica } = world([atFloor()]);
  await keptForAnHour(replica, (ms) => clock.advance(ms));
  const answer = await replica.review(endReview(orphan()));
  assert.equal(answer.allowed, true);
  assert.equal(answer.audit["orphan-let-go"], "1");
  assert.equal(answer.audit["reject-by-podprotector"], "core/ns/web");
  assert.match(answer.warnings[0] ?? "", /^allowed after --orphaned-pod-grace: .*too few available replicas/);
  assert.equal(core.buckets("ns/web").length, 1);
  assert.equal(requests(replica, "OrphanLetGo"), 1);
  assert.equal((await replica.review(endReview(orphan("q")))).allowed, true, "another pod of the node");
  assert.equal((await replica.review(endReview(orphan("r", { nodeName: "node-2" })))).allowed, false);
});

test("a deletion of the same pod is not let go", async () => {
  const { clock, replica } = world([atFloor()]);
  await keptForAnHour(replica, (ms) => clock.advance(ms));
  const { request } = endReview(orphan()) as { request: Json };
  const deletion = { request: { ...request, operation: "DELETE", subResource: "" } };
  assert.equal((await replica.review(deletion)).allowed, false);
});

test("without a grace the webhook never refuses the end of a pod, and records it", async () => {
  const { core, replica } = world([atFloor()], { orphanedPodGraceMs: 0 });
  assert.equal((await replica.review(endReview(orphan()))).allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
});

test("a stranger who has the end of a pod refused in advance shortens no grace of the API server", async () => {
  const { clock, replica } = world([atFloor()]);
  const allows = async (remoteAddress: string): Promise<unknown> => {
    const body = Readable.from([Buffer.from(JSON.stringify(endReview(orphan())))]);
    const parts = { method: "POST", url: "/c1?timeout=10s", headers: {}, socket: { remoteAddress } };
    const bindings = { incoming: Object.assign(body, parts) } as unknown as HttpBindings;
    const request = new Request("http://webhook/c1", { method: "POST" });
    const response = await settle(clock, Promise.resolve(replica.webhook.fetch(request, bindings)));
    return ((await response.json()) as { readonly response: Json }).response["allowed"];
  };
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(await allows("192.0.2.66"), false);
    await clock.advance(20 * minuteMs);
  }
  assert.equal(await allows("192.0.2.1"), false);
  assert.equal(await allows("192.0.2.66"), true, "nothing is deleted by that");
});
