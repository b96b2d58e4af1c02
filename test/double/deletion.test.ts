import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../src/util/clock.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import {
  configMap,
  createLivePod,
  createTestCluster,
  installWebhook,
  mergePatch,
  podBody,
  refusal,
} from "./cluster.ts";
import { asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";

test("a deleted pod on a node stays with its deletionTimestamp until a zero-grace delete confirms it", async () => {
  const { engine, clock } = await createTestCluster();
  await createLivePod(engine, "a");
  await engine.delete(types.pods, "default", "a");
  const { metadata } = engine.get(types.pods, "default", "a");
  assert.equal(metadata.deletionGracePeriodSeconds, 30);
  assert.equal(Date.parse(metadata.deletionTimestamp!), clock.epochMicros() / 1000 + 30_000);
  assert.equal(metadata.generation, 2);
  await engine.delete(types.pods, "default", "a", { gracePeriodSeconds: 0 });
  assert.equal(engine.find(types.pods, "default", "a"), undefined);
});

test("a pod without a node is deleted at once", async () => {
  const { engine } = await createTestCluster();
  await engine.create(types.pods, "default", podBody("a"));
  await engine.delete(types.pods, "default", "a");
  assert.equal(engine.find(types.pods, "default", "a"), undefined);
});

test("deleting a terminating pod again neither shortens its grace nor asks for a review", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  await engine.delete(types.pods, "default", "a");
  const before = engine.get(types.pods, "default", "a");
  await engine.delete(types.pods, "default", "a");
  assert.equal(engine.get(types.pods, "default", "a"), before);
  assert.equal(reviews.length, 1);
});

test("a zero-grace delete of a live pod sends two reviews, the second with a deletionTimestamp", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  await engine.delete(types.pods, "default", "a", { gracePeriodSeconds: 0 });
  const marks = reviews.map(
    (request) => asObject(asObject(request["oldObject"])["metadata"])["deletionTimestamp"] !== undefined,
  );
  assert.deepEqual(marks, [false, true]);
  assert.equal(engine.find(types.pods, "default", "a"), undefined);
});

test("a pod that changes while its deletion is reviewed is reviewed again at the new version", async () => {
  const { engine, reviews, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  decide(async () => {
    if (reviews.length === 1)
      await engine.patch(types.pods, "default", "a", mergePatch({ metadata: { annotations: { fence: "1" } } }));
    return { allowed: true };
  });
  await engine.delete(types.pods, "default", "a");
  const versions = reviews.map((request) =>
    Number(asObject(asObject(request["oldObject"])["metadata"])["resourceVersion"]),
  );
  assert.equal(versions.length, 2);
  assert.ok(versions[1]! > versions[0]!);
  assert.notEqual(engine.get(types.pods, "default", "a").metadata.deletionTimestamp, undefined);
});

test("a deletion admitted before a fence is refused when the second review refuses", async () => {
  const { engine, reviews, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  decide(async () => {
    if (reviews.length > 1) return { allowed: false, status: { code: 429, message: "floor" } };
    await engine.patch(types.pods, "default", "a", mergePatch({ metadata: { annotations: { fence: "1" } } }), {
      subresource: "status",
    });
    return { allowed: true };
  });
  await assert.rejects(engine.delete(types.pods, "default", "a"), refusal(429, "floor"));
  assert.equal(engine.get(types.pods, "default", "a").metadata.deletionTimestamp, undefined);
});

test("preconditions are checked before admission and again after a race", async () => {
  const { engine, reviews, decide } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  const other = { preconditions: { uid: "other" } };
  await assert.rejects(
    engine.delete(types.pods, "default", "a", other),
    refusal(409, "the UID in the precondition (other) does not match"),
  );
  assert.equal(reviews.length, 0);
  decide(async () => {
    await engine.patch(types.pods, "default", "a", mergePatch({ metadata: { labels: { moved: "yes" } } }));
    return { allowed: true };
  });
  const exact = { preconditions: { resourceVersion: pod.metadata.resourceVersion } };
  await assert.rejects(
    engine.delete(types.pods, "default", "a", exact),
    refusal(409, "ResourceVersion in the precondition"),
  );
  assert.equal(reviews.length, 1);
});

test("a zero-grace delete with a version precondition gets through its own mark", async () => {
  const { engine } = await createTestCluster();
  const pod = await createLivePod(engine, "a");
  const preconditions = { resourceVersion: pod.metadata.resourceVersion };
  await engine.delete(types.pods, "default", "a", { gracePeriodSeconds: 0, preconditions });
  assert.equal(engine.find(types.pods, "default", "a"), undefined);
});

test("an object with finalizers stays until the last one is taken away", async () => {
  const { engine } = await createTestCluster();
  const body = configMap("a");
  await engine.create(types.configMaps, "default", { ...body, metadata: { name: "a", finalizers: ["x.test/one"] } });
  await engine.delete(types.configMaps, "default", "a");
  assert.notEqual(engine.get(types.configMaps, "default", "a").metadata.deletionTimestamp, undefined);
  const add = mergePatch({ metadata: { finalizers: ["x.test/one", "x.test/two"] } });
  await assert.rejects(
    engine.patch(types.configMaps, "default", "a", add),
    refusal(422, "no new finalizers can be added"),
  );
  await engine.patch(types.configMaps, "default", "a", mergePatch({ metadata: { finalizers: [] } }));
  assert.equal(engine.find(types.configMaps, "default", "a"), undefined);
});

test("setting a deletionTimestamp does not move the managedFields times", async () => {
  const { engine, clock } = await createTestCluster();
  const pod = await createLivePod(engine, "a");
  await clock.advance(5000);
  await engine.delete(types.pods, "default", "a");
  assert.deepEqual(engine.get(types.pods, "default", "a").metadata.managedFields, pod.metadata.managedFields);
});

test("deletecollection reviews item by item without a name and ends at the first refusal", async () => {
  const { engine, reviews, decide } = await createTestCluster();
  await installWebhook(engine);
  for (const name of ["a", "b", "c"]) await createLivePod(engine, name);
  await createLivePod(engine, "other", { app: "db" });
  decide(() =>
    reviews.length === 2 ? { allowed: false, status: { code: 429, message: "floor" } } : { allowed: true },
  );
  await assert.rejects(
    engine.deleteCollection(types.pods, "default", { labelSelector: "app=web" }),
    refusal(429, "floor"),
  );
  assert.deepEqual(
    reviews.map((request) => [request["name"], asObject(asObject(request["oldObject"])["metadata"])["name"]]),
    [
      [undefined, "a"],
      [undefined, "b"],
    ],
  );
  const terminating = engine.list(types.pods).items.filter((pod) => pod.metadata.deletionTimestamp !== undefined);
  assert.deepEqual(
    terminating.map((pod) => pod.metadata.name),
    ["a"],
  );
});

/** Pods whose reviews take `reviewMs` each, and a deletecollection of all of them. */
async function slowCollection(reviewMs: number, names: readonly string[]) {
  const cluster = await createTestCluster();
  const { engine, clock, decide } = cluster;
  await installWebhook(engine, { timeoutSeconds: 30 });
  for (const name of names) await createLivePod(engine, name);
  decide(async () => {
    await sleep(clock, reviewMs);
    return { allowed: true };
  });
  let answer: unknown;
  engine.deleteCollection(types.pods, "default").then(
    () => (answer = "deleted"),
    (error: unknown) => (answer = error),
  );
  const terminating = () =>
    engine
      .list(types.pods)
      .items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name);
  return { ...cluster, answer: () => answer, terminating };
}

const isOver = refusal(504, "Timeout: request did not complete within requested timeout");

test("deletecollection is over after the request timeout of 60 s, and what it has deleted stays deleted", async () => {
  const { clock, reviews, answer, terminating } = await slowCollection(25_000, ["a", "b", "c", "d"]);
  await clock.advance(59_990);
  assert.equal(answer(), undefined);
  await clock.advance(10);
  assert.ok(isOver(answer()));
  await clock.advance(60_000);
  assert.deepEqual(terminating(), ["a", "b"]);
  assert.equal(reviews.length, 3);
});

test("deletecollection that ends within 60 s is not cut short", async () => {
  const { clock, answer, terminating } = await slowCollection(29_000, ["a", "b"]);
  await clock.advance(58_000);
  assert.equal(answer(), "deleted");
  assert.deepEqual(terminating(), ["a", "b"]);
});

test("the last review of a deletecollection is given no more time than the request has left", async () => {
  const timeouts: number[] = [];
  const clock = createVirtualClock();
  const { engine } = await createTestCluster({
    clock,
    async callWebhook(_webhook, review, timeoutMs) {
      timeouts.push(timeoutMs);
      await sleep(clock, 8_000);
      return { ...review, response: { uid: asObject(review["request"])["uid"], allowed: true } };
    },
  });
  await installWebhook(engine);
  for (const name of ["a", "b", "c", "d", "e", "f", "g", "h", "i"]) await createLivePod(engine, name);
  const over = assert.rejects(engine.deleteCollection(types.pods, "default"), isOver);
  await clock.advance(60_000);
  await over;
  assert.deepEqual(timeouts, [...Array<number>(7).fill(10_000), 4_000]);
});

test("what the storage has been asked for when a deletecollection is over is still deleted", async () => {
  const clock = createVirtualClock();
  const { engine } = await createTestCluster({
    clock,
    async beforeCommit(_type, key) {
      if (key === "default/a") await sleep(clock, 70_000);
      return true;
    },
  });
  await engine.create(types.pods, "default", podBody("a"));
  await engine.create(types.pods, "default", podBody("b"));
  const over = assert.rejects(engine.deleteCollection(types.pods, "default"), isOver);
  await clock.advance(70_000);
  await over;
  const left = engine.list(types.pods).items.map(({ metadata }) => metadata);
  assert.deepEqual(
    left.map(({ name, deletionTimestamp }) => [name, deletionTimestamp !== undefined]),
    [
      ["a", true],
      ["b", false],
    ],
  );
});

test("a dry run is reviewed as such and changes nothing", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  const { revision } = engine;
  await engine.delete(types.pods, "default", "a", { dryRun: ["All"], gracePeriodSeconds: 0 });
  assert.equal(reviews[0]!["dryRun"], true);
  assert.equal(engine.get(types.pods, "default", "a"), pod);
  assert.equal(engine.revision, revision);
});
