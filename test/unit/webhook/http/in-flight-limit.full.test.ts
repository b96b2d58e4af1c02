/** A core that does not answer fills a replica with waiting reviews; what need not wait is still decided. */
import { type HttpBindings } from "@hono/node-server";
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { reviewsInFlightMax, reviewsOfAddressMax } from "../../../../src/webhook/http/in-flight-limit.ts";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

test("a full replica refuses only reviews that would have to wait", { timeout: 60_000 }, async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 10_000)] })]);
  core.latencyMs = 1_000_000;
  const waiting = Array.from({ length: reviewsInFlightMax }, (_, index) =>
    replica.send(deleteReview(pod(`p${index}`))),
  );
  await clock.advance(10);

  for (const [what, review] of [
    ["terminating, as kubelet's last delete finds it", deleteReview(pod("a", { terminating: true }))],
    ["not Ready", deleteReview(pod("b", { ready: false }))],
    ["of no PodProtector", deleteReview(pod("c", { labels: { app: "other" } }))],
    ["a dry run", deleteReview(pod("d"), { dryRun: true })],
  ] as const) {
    const answer = await replica.review(review);
    assert.equal(answer.allowed, true, what);
  }
  for (const [cause, review] of [
    ["DeletePod", deleteReview(pod("e"))],
    ["EvictPod", evictReview("f")],
  ] as const) {
    const answer = await replica.review(review);
    assert.equal(answer.code, 429);
    assert.match(answer.message, /4000 other reviews/);
    assert.equal(answer.elapsedMs, 0);
    assert.equal(replica.metrics.count(`webhook_request{cell="c1",status="Overloaded",cause="${cause}"}`), 1);
  }
  await settle(clock, Promise.all(waiting));
  assert.notEqual((await replica.review(evictReview("g"))).code, 429, "over when reviews have ended");
});

test("waiting reviews of one address refuse none of another, and leave the replica ready", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 10_000)] })]);
  core.latencyMs = 3_000;
  const send = async (remoteAddress: string, name: string): Promise<Json> => {
    const body = Readable.from([Buffer.from(JSON.stringify(deleteReview(pod(name))))]);
    const parts = { method: "POST", url: "/c1?timeout=30s", headers: {}, socket: { remoteAddress } };
    const bindings = { incoming: Object.assign(body, parts) } as unknown as HttpBindings;
    const request = new Request("http://webhook/c1", { method: "POST" });
    const answer = (await (await replica.webhook.fetch(request, bindings)).json()) as { readonly response: Json };
    return answer.response;
  };
  const waiting = Array.from({ length: reviewsOfAddressMax + 1 }, (_, index) => send("192.0.2.66", `p${index}`));
  const other = send("192.0.2.1", "other");
  const answers = await settle(clock, Promise.all(waiting));
  assert.equal(answers.filter(({ allowed }) => allowed !== true).length, 1);
  assert.equal((await other)["allowed"], true);
  assert.equal(replica.webhook.overloadReason(), undefined);
});
