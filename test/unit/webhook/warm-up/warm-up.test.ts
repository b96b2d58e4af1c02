import assert from "node:assert/strict";
import { test } from "node:test";
import { later } from "../../../../src/util/clock.ts";
import { warmUp } from "../../../../src/webhook/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { RecordedLog, RecordedMetrics, settings, settle } from "../support/replica.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type InformerEvent } from "../../../../src/kube/informer.ts";
import { resourcePath } from "../../../../src/kube/kube-client.ts";
import { podProtectors, readProtector } from "../../../../src/kube/resources.ts";
import { MadeUpCore } from "../../../../src/webhook/warm-up/made-up-core.ts";
import { type WatchedProtector } from "../../../../src/webhook/protector/protector-view.ts";
import { protector } from "../support/objects.ts";
import { madeUpProtectors, madeUpReviews } from "../../../../src/webhook/warm-up/made-up-objects.ts";

/** The options of a webhook of which nothing may be used: its core answers nothing. */
function ofWebhook() {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const metrics = new RecordedMetrics();
  const options = {
    ...settings,
    clock,
    rng: createSeededRng(1),
    logger: log,
    metrics,
    cores: [],
    refusalHoldMs: 60_000,
  };
  return { clock, log, metrics, options };
}

test("thousands of made-up reviews are answered, admitted and refused, and nobody sees any of it", async () => {
  const { clock, log, metrics, options } = ofWebhook();
  const { reviews, admitted } = await settle(clock, warmUp(options));
  assert.equal(reviews, 4000);
  assert.ok(admitted > reviews / 2, `${admitted} of ${reviews} admitted`);
  assert.ok(admitted < reviews, "none was refused");
  assert.deepEqual(log.lines, []);
  assert.deepEqual(metrics.values, new Map());
});

test("a slow machine waits for it for a second at most", async () => {
  const { clock, options } = ofWebhook();
  let readings = 0;
  // Each look at the clock takes a millisecond.
  const slow = { ...options.clock, monotonicMs: () => later(clock.monotonicMs(), readings++) };
  const { reviews, durationMs } = await settle(clock, warmUp({ ...options, clock: slow }));
  assert.ok(reviews > 0 && reviews < 4000, `${reviews} reviews`);
  assert.ok(durationMs >= 1000 && durationMs < 2000, `${durationMs} ms`);
});

const metadata = { namespace: "ns", name: "web", uid: "u" };
const path = resourcePath(podProtectors, metadata);

function core() {
  const { spec, status } = protector() as { spec: Record<string, unknown>; status: Record<string, unknown> };
  const made = new MadeUpCore([{ metadata, spec, status }]);
  const { client, informer } = made.asWebhookCore();
  const events: InformerEvent<WatchedProtector>[] = [];
  informer.subscribe({ onEvent: (event) => void events.push(event) });
  made.deliver();
  return { client, informer, events, status };
}

test("a status write is answered with a new version, which the watch shows", async () => {
  const { client, informer, events, status } = core();
  const written = { ...status, cells: [{ cellID: "a" }] };
  const answer = await client.request({ method: "PUT", path: `${path}/status`, body: { status: written } });
  const { metadata: stored } = answer as { metadata: { resourceVersion: string } };
  assert.deepEqual(
    events.map(({ type }) => type),
    ["added", "modified"],
  );
  assert.equal(informer.get(objectKey("ns", "web"))?.resourceVersion, stored.resourceVersion);
  assert.deepEqual(await client.request({ method: "GET", path }), answer);
});

test("after some writes the admissions are settled, as an aggregator would", async () => {
  const { client, status } = core();
  const written = { ...status, cells: [{ cellID: "a" }] };
  for (let write = 1; write <= 4; write++) {
    await client.request({ method: "PUT", path: `${path}/status`, body: { status: written } });
  }
  const { status: settled } = (await client.request({ method: "GET", path })) as { status: unknown };
  assert.deepEqual(settled, status);
});

test("what it does not have is not found", async () => {
  await assert.rejects(core().client.request({ method: "GET", path: "/api/v1/pods" }), { kind: "notFound" });
});

test("the made-up PodProtectors are valid", () => {
  for (const { metadata, ...rest } of madeUpProtectors()) {
    const read = readProtector({ metadata: { ...metadata, resourceVersion: "1" }, ...rest });
    assert.ok(read.ok, metadata.name);
  }
});

test("each made-up review is of a pod of its own, and all kinds come within a dozen", () => {
  const bodies = madeUpReviews();
  const requests = Array.from({ length: 12 }, (_, index) => {
    const { request } = JSON.parse(bodies(index)) as { request: Record<string, unknown> };
    return request;
  });
  assert.equal(new Set(requests.map(({ name }) => name)).size, requests.length);
  assert.deepEqual(new Set(requests.map(({ operation }) => operation)), new Set(["DELETE", "CREATE"]));
  assert.ok(requests.some(({ dryRun }) => dryRun === true));
});
