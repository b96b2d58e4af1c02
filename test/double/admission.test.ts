import assert from "node:assert/strict";
import { test } from "node:test";
import { createLivePod, createTestCluster, installWebhook, refusal } from "./cluster.ts";
import { builtInResources as types } from "./engine/resources.ts";

test("a webhook that cannot be called refuses under failurePolicy Fail and is skipped under Ignore", async () => {
  for (const [failurePolicy, gone] of [
    ["Fail", false],
    ["Ignore", true],
  ] as const) {
    const { engine, decide } = await createTestCluster();
    await installWebhook(engine, { failurePolicy });
    await createLivePod(engine, "a");
    decide(() => Promise.reject(new Error("connection refused")));
    const deletion = engine.delete(types.pods, "default", "a");
    if (gone) await deletion;
    else
      await assert.rejects(
        deletion,
        refusal(500, 'failed calling webhook "pods.podseidon.test": failed to call webhook: connection refused'),
      );
    assert.equal(engine.get(types.pods, "default", "a").metadata.deletionTimestamp !== undefined, gone);
  }
});

test("a webhook that does not answer within timeoutSeconds has failed", async () => {
  const { engine, clock, decide } = await createTestCluster();
  await installWebhook(engine, { timeoutSeconds: 3 });
  await createLivePod(engine, "a");
  decide(() => new Promise(() => {}));
  const outcome = assert.rejects(engine.delete(types.pods, "default", "a"), refusal(500, "context deadline exceeded"));
  await clock.advance(3000);
  await outcome;
});

test("namespace and object selectors decide which objects are reviewed", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine, {
    namespaceSelector: {
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system"] }],
    },
    objectSelector: { matchLabels: { app: "web" } },
  });
  await createLivePod(engine, "a");
  await createLivePod(engine, "b", { app: "db" });
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "c", labels: { app: "web" } },
    spec: { containers: [{ name: "m" }] },
  };
  await engine.create(types.pods, "kube-system", body);
  await engine.delete(types.pods, "default", "a");
  await engine.delete(types.pods, "default", "b");
  await engine.delete(types.pods, "kube-system", "c");
  assert.deepEqual(
    reviews.map((request) => request["name"]),
    ["a"],
  );
});

test("a webhook with match conditions is refused with 501 rather than called without them", async () => {
  const { engine } = await createTestCluster();
  await assert.rejects(
    installWebhook(engine, { matchConditions: [{ name: "x", expression: "true" }] }),
    refusal(501, "matchConditions"),
  );
});
