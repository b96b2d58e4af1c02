/**
 * Deletions in disguise (docs/system-deletions.md#node-objects-that-are-gone). What becomes of each review is in
 * told/handler.lost-node.txt.
 */
import { type HttpBindings } from "@hono/node-server";
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { endReview, type Json, pod } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";
import { atFloor, type Happening, roomy, tellsAll } from "../support/told.ts";

const minuteMs = 60_000;
const orphan = (name = "p", parts: Json = {}) => pod(name, { nodeName: "node-1", ...parts });
const ended = (parts: Json = {}, extra: Json = {}) => endReview(orphan("p", parts), extra);
const deleted = ended({}, { operation: "DELETE", subResource: "" });
const later: Happening = ({ clock }) => clock.advance(20 * minuteMs);
/** So that 20 minutes between two questions are no pause. */
const five = { coreUnavailable: { isLastKnownAllowed: () => false, isUnreadyWhenSilent: () => true, replicas: 5 } };
/** Asked again every 20 minutes, as one of five replicas may be. */
const keptForAnHour = [ended(), later, ended(), later, ended(), later];

tellsAll(new URL("told/handler.lost-node.txt", import.meta.url), {
  "the webhook admits the end of a pod like a DELETE, and records the version before it": {
    of: [roomy()],
    do: [
      ended({ resourceVersion: "77" }),
      ({ replica: { metrics } }) => {
        assert.equal(metrics.count("webhook_handle_pod_in_ppr{"), 1);
        assert.ok([...metrics.values.keys()].some((text) => text.includes('request_type="EndPod"')));
      },
    ],
  },
  "the webhook refuses the end of a pod at the floor, names the lost Node object and says what to do": {
    of: [atFloor()],
    do: [ended()],
  },
  "the webhook allows the end of a NotReady, terminating or finished pod without a write": {
    of: [atFloor()],
    do: [{ ready: false }, { terminating: true }, { phase: "Failed" }, { phase: "Succeeded" }].map((one) => ended(one)),
  },
  // Nobody has vouched for the cell yet.
  "the webhook allows other status writes without a look at the PodProtectors, whatever they hold": {
    of: [atFloor()],
    with: { unsynced: true },
    do: [
      { userInfo: { username: "system:node:node-1" } },
      { userInfo: { username: "admin" } },
      { object: orphan() },
      { object: null },
      { object: undefined },
      { object: orphan(), oldObject: null },
    ].map((extra) => ended({}, extra)),
  },
  "an end of a pod that is not shown as it was is an error, so that the failure policy decides": {
    of: [atFloor()],
    do: [endReview({}, { object: { status: { phase: "Failed" } } })],
  },
  "a dry run of the end of a pod is judged and neither written nor remembered": {
    of: [atFloor()],
    do: [ended({}, { dryRun: true }), later, ended()],
  },
  "the webhook judges the end of a pod by the criterion that its annotation names": {
    of: [atFloor()],
    do: [ended({ annotations: { [annotations.healthCriterion]: "Running" }, ready: false })],
  },
  "the webhook lets go of the pods of a node that it was asked about for an hour, and records them": {
    of: [atFloor()],
    with: five,
    do: [...keptForAnHour, ended(), endReview(orphan("q")), endReview(orphan("r", { nodeName: "node-2" }))],
  },
  "a deletion of the same pod is not let go": {
    of: [atFloor()],
    with: five,
    do: [...keptForAnHour, deleted],
  },
  "without a grace the webhook never refuses the end of a pod, and records it": {
    of: [atFloor()],
    with: { orphanedPodGraceMs: 0 },
    do: [ended()],
  },
});

test("a stranger who has the end of a pod refused in advance shortens no grace of the API server", async () => {
  const { clock, replica } = world([atFloor()], five);
  const allows = async (remoteAddress: string): Promise<unknown> => {
    const body = Readable.from([Buffer.from(JSON.stringify(ended()))]);
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
