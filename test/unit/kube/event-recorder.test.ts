import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createEventRecorder,
  type EventRecorderOptions,
  type ObjectReference,
} from "../../../src/kube/event-recorder.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createCountingMetrics } from "./counting-metrics.ts";
import { createScriptedKubeClient } from "./scripted-kube-client.ts";

function setUp(options: Partial<EventRecorderOptions> = {}) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  client.onRequest = () => ({});
  const metrics = createCountingMetrics();
  const recorder = createEventRecorder({
    client,
    component: "podseidon-test",
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics,
    ...options,
  });
  return { clock, client, metrics, recorder };
}

const protector = (name: string): ObjectReference => ({
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  namespace: "team",
  name,
  uid: `uid-${name}`,
});

test("an Event names the object, and repetitions raise its count", async () => {
  const { clock, client, recorder } = setUp();
  recorder.record(protector("web"), "Warning", "Refused", "no quota");
  await clock.advance(5_000);
  recorder.record(protector("web"), "Warning", "Refused", "still none");
  await clock.advance(0);
  const [post, patch] = client.requests;
  assert.equal(post?.path, "/api/v1/namespaces/team/events");
  const body = post?.body as Record<string, unknown> & { metadata: { name: string } };
  assert.deepEqual(body["involvedObject"], protector("web"));
  assert.deepEqual(
    [body["type"], body["reason"], body["message"], body["count"], body["firstTimestamp"], body["lastTimestamp"]],
    ["Warning", "Refused", "no quota", 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"],
  );
  assert.deepEqual(body["source"], { component: "podseidon-test" });
  assert.equal(patch?.path, `/api/v1/namespaces/team/events/${body.metadata.name}`);
  assert.deepEqual(patch?.body, { count: 2, message: "still none", lastTimestamp: "2026-01-01T00:00:05Z" });
});

test("replicas that share their Events write one, whose count none of them moves", async () => {
  const { clock, client, recorder } = setUp({ isShared: true });
  const other = setUp({ isShared: true, rng: createSeededRng(2) });
  recorder.record(protector("web"), "Warning", "Waits", "for the generator");
  other.recorder.record(protector("web"), "Warning", "Waits", "for the generator");
  await clock.advance(0);
  await other.clock.advance(0);
  const nameOf = (body: unknown) => (body as { metadata: { name: string } }).metadata.name;
  const name = nameOf(client.requests[0]?.body);
  assert.equal(nameOf(other.client.requests[0]?.body), name);
  // The third finds it there, and says only that it lasts.
  const third = setUp({ isShared: true, rng: createSeededRng(3) });
  third.client.onRequest = ({ method }) => {
    if (method === "POST") throw new KubeError("alreadyExists", "it is there");
    return {};
  };
  third.recorder.record(protector("web"), "Warning", "Waits", "for the generator");
  await third.clock.advance(5_000);
  third.recorder.record(protector("web"), "Warning", "Waits", "for the generator");
  await third.clock.advance(0);
  const { path, body } = third.client.requests.at(-1) ?? {};
  assert.equal(path, `/api/v1/namespaces/team/events/${name}`);
  assert.deepEqual(body, { message: "for the generator", lastTimestamp: "2026-01-01T00:00:05Z" });
});

test("a recorder writes no faster than the rate that it was given", async () => {
  const { clock, client, recorder } = setUp({ rate: { qps: 0.2, burst: 2 } });
  for (let pod = 0; pod < 10; pod++) recorder.record(protector(`p${pod}`), "Warning", "Refused", "no quota");
  await clock.advance(0);
  assert.equal(client.requests.length, 2);
  await clock.advance(20_000);
  assert.equal(client.requests.length, 6);
});

test("a flood about one object is a few writes, whose count is right at the end", async () => {
  const { clock, client, recorder } = setUp();
  for (let call = 0; call < 10_000; call++) recorder.record(protector("web"), "Warning", "Refused", "no quota");
  await clock.advance(0);
  assert.ok(client.requests.length <= 3, `${client.requests.length} writes`);
  assert.equal((client.requests.at(-1)?.body as { count?: number } | undefined)?.count, 10_000);
});

test("a flood about many objects is limited, and the rest is counted as dropped", async () => {
  const { clock, client, recorder, metrics } = setUp();
  for (let index = 0; index < 6_000; index++) recorder.record(protector(`p${index}`), "Warning", "Refused", "no quota");
  await clock.advance(0);
  assert.equal(client.requests.length, 25);
  await clock.advance(600_000);
  assert.equal(client.requests.length, 25 + 60);
  assert.equal(metrics.value("kube_events_dropped_total", { reason: "rate" }), 6_000 - 85);
});

test("a failed write is dropped, and a forgotten Event is created again", async () => {
  const { clock, client, recorder, metrics } = setUp();
  recorder.record(protector("web"), "Normal", "Synced", "1");
  await clock.advance(0);
  client.onRequest = () => {
    throw new KubeError("notFound", "gone");
  };
  recorder.record(protector("web"), "Normal", "Synced", "2");
  await clock.advance(0);
  client.onRequest = () => ({});
  recorder.record(protector("web"), "Normal", "Synced", "3");
  await clock.advance(0);
  assert.deepEqual(
    client.requests.map(({ method }) => method),
    ["POST", "PATCH", "POST"],
  );
  assert.equal(metrics.value("kube_events_dropped_total", { reason: "notFound" }), 1);
});

test("after ten minutes a repetition is a new Event", async () => {
  const { clock, client, recorder } = setUp();
  recorder.record(protector("web"), "Normal", "Synced", "1");
  await clock.advance(600_001);
  recorder.record(protector("web"), "Normal", "Synced", "1");
  await clock.advance(0);
  assert.deepEqual(
    client.requests.map(({ method }) => method),
    ["POST", "POST"],
  );
});

test("a closed recorder sends nothing and leaves no timer", async () => {
  const { clock, client, recorder } = setUp();
  for (let index = 0; index < 50; index++) recorder.record(protector(`p${index}`), "Warning", "Refused", "no quota");
  await clock.advance(0);
  recorder.close();
  recorder.record(protector("late"), "Warning", "Refused", "no quota");
  await clock.advance(60_000);
  assert.equal(client.requests.length, 25);
  assert.equal(clock.pendingTimers, 0);
});
