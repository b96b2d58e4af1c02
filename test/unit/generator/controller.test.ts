import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { builtInResources, startControllers } from "../../double/index.ts";
import { createCore, hasFinalizer, isInForce, labelsFor, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;
const deploymentPath = "/apis/apps/v1/namespaces/default/deployments/web";
const protectorPath = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors/deployment-web";

test("an explicitly deleted Deployment goes with its protector, which is marked as released before", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  generator.client.writes.length = 0;
  const marks: unknown[] = [];
  generator.client.onWrite = (_, { method }) => {
    if (method === "DELETE") marks.push(core.protector("deployment-web")?.metadata.annotations?.[annotations.released]);
    return undefined;
  };
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.deepEqual(generator.client.writes, [
    "POST /api/v1/namespaces/default/configmaps",
    `PATCH ${protectorPath}`,
    `DELETE ${protectorPath}`,
    `PATCH ${protectorPath}`,
    `PATCH ${deploymentPath}`,
  ]);
  assert.deepEqual(marks, ["true"]);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.equal(core.deployment("web"), undefined);
  assert.equal(generator.actions("Delete"), 1);
  assert.equal(generator.actions("CleanSourceFinalizer"), 1);
});

test("finalizers of others on the Deployment are left alone and in their order", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web", { metadata: { finalizers: ["a.example/x", "b.example/x"] } });
  await core.clock.advance(secondMs);
  await core.patchDeployment("web", {
    metadata: { finalizers: [...core.deployment("web")!.metadata.finalizers!, "c.example/x"] },
  });
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.deepEqual(core.deployment("web")?.metadata.finalizers, ["a.example/x", "b.example/x", "c.example/x"]);
  assert.equal(core.protector("deployment-web"), undefined);
  const writes = generator.client.writes.length;
  await core.patchDeployment("web", { metadata: { labels: { touched: "yes" } } });
  await core.clock.advance(secondMs);
  assert.equal(generator.client.writes.length, writes, "nothing is left to do");
});

test("a Deployment that vanishes leaves its protector in force, and each process reports that once", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const writes = generator.client.writes.length;
  core.eraseDeployments();
  await core.clock.advance(secondMs);
  // Touched again: the same process does not repeat itself.
  await core.patchProtector("deployment-web", { metadata: { labels: { touched: "yes" } } });
  await core.clock.advance(secondMs);
  assert.equal(generator.actions("Dangling"), 1);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);
  const [event, ...more] = core.events();
  assert.equal(more.length, 0);
  assert.equal(event!["reason"], "Dangling");
  assert.equal((event!["involvedObject"] as { name: string }).name, "deployment-web");
  await generator.stop();

  const next = core.startGenerator();
  await next.ready();
  assert.equal(next.actions("Dangling"), 1, "reported again after a restart");
  next.loseLeadership();
  await next.lead();
  await core.clock.advance(secondMs);
  assert.equal(next.actions("Dangling"), 1, "not reported again after another election of the same process");
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.equal(generator.client.writes.length + next.client.writes.length, writes, "nothing was written");

  const reborn = await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const protector = core.protector("deployment-web");
  assert.deepEqual(
    protector?.metadata.ownerReferences?.map(({ uid }) => uid),
    [reborn.metadata.uid],
  );
  assert.ok(hasFinalizer(core.deployment("web")));
  core.eraseDeployments();
  await core.clock.advance(secondMs);
  assert.equal(next.actions("Dangling"), 2, "a second loss is news");
});

test("a dangling protector that the garbage collector deletes stays in force, and a new source adopts it", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const { uid } = core.protector("deployment-web")!.metadata;
  core.eraseDeployments();
  await core.deleteProtector("deployment-web");
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  await generator.stop();
  const next = core.startGenerator();
  await next.ready();
  assert.equal(next.actions("Finalizing"), 1);

  await core.createDeployment("web", { replicas: 20 });
  await core.clock.advance(secondMs);
  const protector = core.protector("deployment-web");
  assert.equal(protector?.metadata.uid, uid, "what it knows of deletions under way is not lost");
  assert.ok(isInForce(protector) && hasFinalizer(protector));
  assert.equal(protector?.spec?.["minAvailable"], 15);
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.equal(core.deployment("web"), undefined);
});

test("a person releases a dangling protector by marking it", async () => {
  const { core } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  core.eraseDeployments();
  await core.clock.advance(secondMs);
  assert.match(String(core.events()[0]?.["message"]), /podseidon\.kubewharf\.io\/released/);
  await core.patchProtector("deployment-web", { metadata: { annotations: { [annotations.released]: "" } } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
});

test("a protector that a person deletes while it is wanted stays in force, and is kept in sync", async () => {
  const { core } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  await core.deleteProtector("deployment-web");
  await core.clock.advance(secondMs);
  await core.patchDeployment("web", { spec: { replicas: 100 } });
  await core.clock.advance(secondMs);
  const protector = core.protector("deployment-web");
  assert.ok(isInForce(protector));
  assert.notEqual(protector?.metadata.deletionTimestamp, undefined);
  assert.equal(protector?.spec?.["minAvailable"], 75);
});

test("a protector that a person deletes and strips of its finalizer while it is wanted is recreated", async () => {
  const { core } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const { uid } = core.protector("deployment-web")!.metadata;
  await core.deleteProtector("deployment-web");
  await core.patchProtector("deployment-web", { metadata: { finalizers: null } });
  await core.clock.advance(secondMs);
  const protector = core.protector("deployment-web");
  assert.ok(isInForce(protector) && hasFinalizer(protector));
  assert.notEqual(protector?.metadata.uid, uid);
});

test("a Deployment is released when the selector stops matching it, and protected when it matches again", async () => {
  const { core } = await startLeading({ protectionSelector: { matchLabels: { protect: "yes" } } });
  await core.createDeployment("web", { metadata: { labels: { protect: "yes" } } });
  await core.createDeployment("other");
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-other"), undefined);
  assert.ok(!hasFinalizer(core.deployment("other")));
  assert.ok(isInForce(core.protector("deployment-web")));
  await core.patchDeployment("web", { metadata: { labels: { protect: "no" } } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.ok(!hasFinalizer(core.deployment("web")));
  await core.patchDeployment("web", { metadata: { labels: { protect: "yes" } } });
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
});

test("an invalid protection selector is a programmer error, not a reason to release everything", async () => {
  const core = await createCore();
  const broken = { matchExpressions: [{ key: "a", operator: "In", values: [] }] } as const;
  assert.throws(() => core.startGenerator({ protectionSelector: broken }), /protection selector/);
});

test("with protect-non-zero a deleted Deployment keeps its protector until it is scaled to zero", async () => {
  const { core } = await startLeading({ protectNonZero: true });
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  await core.patchDeployment("web", { spec: { replicas: 4 } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 3, "it is kept in sync meanwhile");
  await core.patchDeployment("web", { spec: { replicas: 0 } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.equal(core.deployment("web"), undefined);
});

test("a source that was terminating before it had our finalizer gets no protector", async () => {
  const core = await createCore();
  await core.createDeployment("web", { metadata: { finalizers: ["other.example/x"] } });
  await core.deleteDeployment("web");
  for (const protectNonZero of [false, true]) {
    const generator = core.startGenerator({ protectNonZero });
    await generator.ready();
    assert.equal(core.protector("deployment-web"), undefined);
    assert.deepEqual(generator.client.writes, []);
    assert.deepEqual(generator.errors(), []);
    await generator.stop();
  }
});

test("a terminating source without our finalizer keeps its protector under protect-non-zero only", async () => {
  const { core, generator } = await startLeading({ protectNonZero: true });
  await core.createDeployment("web", { metadata: { finalizers: ["other.example/x"] } });
  await core.clock.advance(secondMs);
  await core.deleteDeployment("web");
  await core.patchDeployment("web", { metadata: { finalizers: ["other.example/x"] }, spec: { replicas: 100 } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 75);
  assert.deepEqual(generator.errors(), []);
  await generator.stop();
  const next = core.startGenerator({ protectNonZero: false });
  await next.ready();
  assert.equal(core.protector("deployment-web"), undefined);
  assert.deepEqual(next.errors(), []);
});

test("a hand-made PodProtector with the generated name is never overwritten, and the log says what to do", async () => {
  const core = await createCore();
  const theirs = await core.createProtector("deployment-web");
  const generator = core.startGenerator();
  await generator.ready();
  await core.createDeployment("web");
  await core.clock.advance(600 * secondMs);
  assert.deepEqual(core.protector("deployment-web"), theirs);
  assert.match(String(generator.errors()[0]?.fields["err"]), /deployment-web exists.*rename or delete/);
  assert.ok(generator.errors().length < 30, "it is retried with backoff");
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(core.deployment("web"), undefined, "the Deployment can go");
  assert.deepEqual(core.protector("deployment-web"), theirs);
});

test("a hand-made protector with copied labels is neither changed nor deleted nor called dangling", async () => {
  const { core, generator } = await startLeading();
  const theirs = await core.createProtector("mine", { metadata: { labels: labelsFor("web") } });
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.deepEqual(core.protector("mine"), theirs);
  assert.equal(generator.actions("Dangling"), 0);
});

test("a protector that others hold with a finalizer is released once, and does not block its Deployment", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const { finalizers = [] } = core.protector("deployment-web")!.metadata;
  await core.patchProtector("deployment-web", { metadata: { finalizers: [...finalizers, "other.example/x"] } });
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(core.deployment("web"), undefined);
  assert.deepEqual(core.protector("deployment-web")?.metadata.finalizers, ["other.example/x"]);
  let requests = 0;
  generator.client.onRequest = () => void requests++;
  for (let touch = 0; touch < 5; touch++) {
    await core.patchProtector("deployment-web", { metadata: { labels: { touch: String(touch) } } });
    await core.clock.advance(secondMs);
  }
  assert.equal(requests, 0);
  assert.equal(generator.actions("Delete"), 1);
  assert.equal(generator.actions("Dangling"), 0);
});

test("a Deployment with the longest name is protected and released like any other", async () => {
  const { core } = await startLeading();
  const name = `w${"x".repeat(250)}`;
  await core.createDeployment(name);
  await core.clock.advance(secondMs);
  const [protector] = core.engine.list(core.protectorType, "default").items;
  assert.ok(protector !== undefined && protector.metadata.name.length <= 253);
  // The owner reference is the only place that has the whole name; a dangling protector still leads to its source.
  await core.patchProtector(protector.metadata.name, { metadata: { ownerReferences: null } });
  await core.clock.advance(secondMs);
  assert.equal(core.protector(protector.metadata.name)?.metadata.ownerReferences?.length, 1);
  await core.deleteDeployment(name);
  await core.clock.advance(secondMs);
  assert.equal(core.protector(protector.metadata.name), undefined);
  assert.equal(core.deployment(name), undefined);
});

test("a Deployment that is deleted while its finalizer is on the way gets no protector", async () => {
  const { core, generator } = await startLeading();
  generator.client.onWrite = async (index) => {
    if (index === 1) await core.deleteDeployment("web");
    return undefined;
  };
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(core.deployment("web"), undefined);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.deepEqual(generator.errors(), []);
});

test("a protector that the watch has not delivered yet is released with its source anyway", async () => {
  const { core, generator } = await startLeading();
  generator.client.lagMs = (path) => (path.includes("podprotectors") ? 5 * secondMs : 0);
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  await core.deleteDeployment("web");
  await core.clock.advance(60 * secondMs);
  assert.equal(core.deployment("web"), undefined);
  assert.equal(core.protector("deployment-web"), undefined);
});

test("an invalid Deployment is named in the log, and its protector stays in force", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.createDeployment("good");
  await core.clock.advance(secondMs);
  await core.patchDeployment("web", { spec: { minReadySeconds: "soon" } });
  await core.patchDeployment("good", { spec: { replicas: 100 } });
  await core.clock.advance(secondMs);
  assert.ok(generator.logger.entries.some(({ level, fields }) => level === "warn" && fields["key"] === "default/web"));
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.equal(core.protector("deployment-good")?.spec?.["minAvailable"], 75);
});

test("beside the controllers of a cluster a Deployment is protected, rolled out, and goes with its pods", async () => {
  const core = await createCore();
  const controllers = await startControllers(core.engine, { readyDelayMs: 1_000, terminationMs: 1_000 });
  const generator = core.startGenerator();
  await generator.ready();
  const pods = (): number => core.engine.list(builtInResources.pods, "default").items.length;
  await core.createDeployment("web", { replicas: 8 });
  await core.clock.advance(30 * secondMs);
  assert.equal(pods(), 8);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 6);
  const container = { name: "main", image: "web:2" };
  await core.patchDeployment("web", { spec: { replicas: 4, template: { spec: { containers: [container] } } } });
  await core.clock.advance(60 * secondMs);
  assert.equal(pods(), 4);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 3);
  await core.deleteDeployment("web");
  await core.clock.advance(60 * secondMs);
  assert.deepEqual([pods(), core.deployment("web"), core.protector("deployment-web")], [0, undefined, undefined]);
  assert.deepEqual(generator.errors(), []);
  controllers.stop();
});
