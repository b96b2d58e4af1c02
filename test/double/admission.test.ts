import assert from "node:assert/strict";
import { test } from "node:test";
import { createLivePod, createTestCluster, installWebhook, mergePatch, refusal } from "./cluster.ts";
import { builtInResources as types } from "./engine/resources.ts";
import { isApiError } from "./engine/status.ts";

test("a review carries who asks, what for, and the object with its version", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  const pod = await createLivePod(engine, "a");
  const caller = { username: "jane", groups: ["devs"] };
  await engine.delete(types.pods, "default", "a", { gracePeriodSeconds: 5 }, { caller });
  const { uid, ...request } = reviews[0]!;
  assert.match(String(uid), /^[0-9a-f]{8}-/);
  assert.deepEqual(request, {
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    requestKind: { group: "", version: "v1", kind: "Pod" },
    requestResource: { group: "", version: "v1", resource: "pods" },
    name: "a",
    namespace: "default",
    operation: "DELETE",
    userInfo: caller,
    object: null,
    oldObject: pod,
    dryRun: false,
    options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", gracePeriodSeconds: 5 },
  });
});

test("a denial passes on the webhook's code, reason and details under the server's words", async () => {
  const { engine, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  const details = { causes: [{ reason: "Quota", message: "2 of 2 needed" }] };
  decide(() => ({
    allowed: false,
    status: { code: 429, reason: "TooManyRequests", message: "at the floor", details },
  }));
  await assert.rejects(engine.delete(types.pods, "default", "a"), (error) => {
    assert.ok(isApiError(error));
    assert.equal(error.code, 429);
    assert.equal(error.reason, "TooManyRequests");
    assert.equal(error.message, 'admission webhook "pods.podseidon.test" denied the request: at the floor');
    assert.deepEqual(error.status.details, details);
    return true;
  });
});

test("a denial without an explanation is a 400 that says so", async () => {
  const { engine, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  decide(() => ({ allowed: false }));
  await assert.rejects(
    engine.delete(types.pods, "default", "a"),
    refusal(400, "denied the request without explanation"),
  );
});

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

test("an answer for another review is a failure of the webhook", async () => {
  const { engine, decide } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  decide(() => ({ allowed: true, uid: "another" }));
  await assert.rejects(engine.delete(types.pods, "default", "a"), refusal(500, "expected response.uid"));
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

test("updates and status patches are not reviewed when no rule names them", async () => {
  const { engine, reviews } = await createTestCluster();
  await installWebhook(engine);
  await createLivePod(engine, "a");
  await engine.patch(types.pods, "default", "a", mergePatch({ status: { phase: "Running" } }), {
    subresource: "status",
  });
  assert.equal(reviews.length, 0);
});

test("a webhook with match conditions is refused with 501 rather than called without them", async () => {
  const { engine } = await createTestCluster();
  await assert.rejects(
    installWebhook(engine, { matchConditions: [{ name: "x", expression: "true" }] }),
    refusal(501, "matchConditions"),
  );
});
