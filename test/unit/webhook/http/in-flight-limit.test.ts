import assert from "node:assert/strict";
import { test } from "node:test";
import {
  InFlightLimit,
  reviewsInFlightMax,
  reviewsOfAddressMax,
} from "../../../../src/webhook/http/in-flight-limit.ts";
import { type HttpBindings } from "@hono/node-server";
import { Readable } from "node:stream";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

function fullLimit(dryRun = false): InFlightLimit {
  const limit = new InFlightLimit(dryRun);
  for (let count = 0; count < reviewsInFlightMax; count += 1) assert.equal(limit.enter(false), undefined);
  return limit;
}

test("one review too many is refused with a 429 that can be repeated, until another has left", () => {
  const limit = fullLimit();
  const refusal = limit.enter(false);
  assert.equal(refusal?.code, 429);
  assert.equal(refusal.status, "Overloaded");
  assert.match(refusal.message, /4000 other reviews .* Try again/);
  limit.leave();
  assert.equal(limit.inFlight, reviewsInFlightMax - 1);
  assert.equal(limit.enter(false), undefined);
  assert.notEqual(limit.enter(false), undefined);
});

test("a full replica does not refuse what is forced", () => {
  const limit = fullLimit();
  assert.equal(limit.enter(true), undefined);
  assert.notEqual(limit.enter(false), undefined);
});

test("a full replica refuses nothing in a dry run", () => {
  assert.equal(fullLimit(true).enter(false), undefined);
});

test("reviews that hold more than usual share 128 MiB, and others are held without limit", () => {
  const limit = new InFlightLimit(false);
  const megabyte = 1024 * 1024;
  for (let held = 0; held < 128; held += 8) assert.ok(limit.hold(8 * megabyte));
  assert.equal(limit.hold(megabyte), false);
  for (let count = 0; count < 10_000; count += 1) assert.ok(limit.hold(16 * 1024));
  limit.release(8 * megabyte);
  limit.release(16 * 1024);
  assert.ok(limit.hold(8 * megabyte));
  assert.equal(limit.hold(megabyte), false);
});

test("an address whose client is not identified leaves most of the room to others", () => {
  const limit = new InFlightLimit(false);
  for (let count = 0; count < reviewsOfAddressMax; count += 1) assert.equal(limit.enter(false, "stranger"), undefined);
  assert.match(limit.enter(false, "stranger")?.message ?? "", /1250 other reviews from this address/);
  assert.equal(limit.enter(false, "other"), undefined);
  assert.equal(limit.enter(false), undefined);
  limit.leave("stranger");
  assert.equal(limit.enter(false, "stranger"), undefined);
});

test("what is forced beyond the share of its address is not refused, and takes no room from others", () => {
  const limit = new InFlightLimit(false);
  const many = 2 * reviewsInFlightMax;
  for (let count = 0; count < many; count += 1) assert.equal(limit.enter(true, "stranger"), undefined);
  assert.equal(limit.inFlight, reviewsOfAddressMax);
  assert.equal(limit.fullReason, undefined);
  assert.notEqual(limit.enter(false, "stranger"), undefined);
  for (let count = 0; count < many; count += 1) limit.leave("stranger");
  assert.equal(limit.inFlight, 0);
});

test("reviews of one address hold at most a quarter of the memory", () => {
  const limit = new InFlightLimit(false);
  const megabyte = 1024 * 1024;
  for (let held = 0; held < 32; held += 8) assert.ok(limit.hold(8 * megabyte, "stranger"));
  assert.equal(limit.hold(megabyte, "stranger"), false);
  assert.ok(limit.hold(8 * megabyte, "other"));
  limit.release(8 * megabyte, "stranger");
  assert.ok(limit.hold(8 * megabyte, "stranger"));
});

// A core that does not answer fills a replica with waiting reviews; what need not wait is still decided.

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
