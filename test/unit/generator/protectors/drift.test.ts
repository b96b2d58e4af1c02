import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { protectorTypeMeta, type WantedProtector } from "../../../../src/generator/sources/source-plan.ts";
import { driftPatch, readEditor } from "../../../../src/generator/protectors/drift.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { type JsonObject } from "../../../double/index.ts";
import { type Core, type GeneratorProcess, hasFinalizer, labelsFor, startLeading } from "../core-cluster.ts";

async function withProtector(): Promise<{ core: Core; generator: GeneratorProcess }> {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  return { core, generator };
}

const foreignOwners = ["DaemonSet.apps", "Job.batch", "Node"];

/** What people do to the protector of web, and what must be there a second later. */
const repaired: readonly (readonly [what: string, metadata: JsonObject, spec: JsonObject])[] = [
  ["a lower minAvailable", {}, { minAvailable: 0 }],
  ["another minReadySeconds", {}, { minReadySeconds: 7 }],
  ["another selector", {}, { selector: { matchLabels: { app: "other", more: "x" } } }],
  ["an added expression", {}, { selector: { matchExpressions: [{ key: "x", operator: "Exists" }] } }],
  ["no selector at all", {}, { selector: { matchLabels: null } }],
  ["a lost label", { labels: { "podseidon.kubewharf.io/source-name": null } }, {}],
  ["a changed label", { labels: { "podseidon.kubewharf.io/source-name": "else" } }, {}],
  ["a lost kind label", { labels: { "podseidon.kubewharf.io/source-kind": null } }, {}],
  ["all labels lost", { labels: null }, {}],
  ["labels and owner lost", { labels: null, ownerReferences: null }, {}],
  ["a lost finalizer", { finalizers: null }, {}],
  ["a lost owner", { ownerReferences: null }, {}],
  ["a shorter list of foreign owners", {}, { foreignOwners: ["Node"] }],
  ["a released mark", { annotations: { [annotations.released]: "true" } }, {}],
];

for (const [what, metadata, spec] of repaired) {
  test(`drift is repaired: ${what}`, async () => {
    const { core, generator } = await withProtector();
    const before = core.protector("deployment-web")!;
    await core.patchProtector("deployment-web", { metadata, spec });
    assert.notDeepEqual(core.protector("deployment-web")?.metadata.resourceVersion, before.metadata.resourceVersion);
    await core.clock.advance(1_000);
    const after = core.protector("deployment-web")!;
    assert.deepEqual(after.spec, before.spec);
    assert.deepEqual(after.metadata.labels, before.metadata.labels);
    assert.deepEqual(after.metadata.finalizers, before.metadata.finalizers);
    assert.deepEqual(after.metadata.ownerReferences, before.metadata.ownerReferences);
    assert.equal(after.metadata.annotations?.[annotations.released], undefined);
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.deepEqual(generator.errors(), []);
    await core.deleteDeployment("web");
    await core.clock.advance(1_000);
    assert.equal(core.protector("deployment-web"), undefined);
    await generator.stop();
  });
}

test("drift that happened while no generator ran is repaired by the next one", async () => {
  const { core, generator } = await withProtector();
  await generator.stop();
  const { labels } = core.protector("deployment-web")!.metadata;
  await core.patchProtector("deployment-web", { metadata: { labels: null }, spec: { minAvailable: 1 } });
  await core.patchDeployment("web", { metadata: { finalizers: null } });
  const next = core.startGenerator();
  await next.ready();
  const protector = core.protector("deployment-web")!;
  assert.equal(protector.spec?.["minAvailable"], 8);
  assert.deepEqual(protector.metadata.labels, labels);
  assert.ok(hasFinalizer(core.deployment("web")));
  assert.equal(next.actions("Sync"), 1);
});

test("replicas, minReadySeconds and the strategy of the Deployment reach the protector", async () => {
  const { core } = await withProtector();
  const expect = async (spec: JsonObject, minAvailable: number, minReadySeconds: number): Promise<void> => {
    await core.patchDeployment("web", { spec });
    await core.clock.advance(1_000);
    const protector = core.protector("deployment-web")!;
    assert.deepEqual(
      [protector.spec?.["minAvailable"], protector.spec?.["minReadySeconds"]],
      [minAvailable, minReadySeconds],
    );
  };
  await expect({ replicas: 20 }, 15, 0);
  await expect({ replicas: 1, minReadySeconds: 30 }, 0, 30);
  await expect({ replicas: 20, strategy: { rollingUpdate: { maxUnavailable: 7 } } }, 13, 30);
  await expect({ strategy: { type: "Recreate", rollingUpdate: null }, minReadySeconds: 0 }, 0, 0);
});

test("a selector change replaces labels and expressions instead of merging them", async () => {
  const { core } = await withProtector();
  const expression = { key: "app", operator: "In", values: ["web", "b"] };
  // The selector of a Deployment is immutable; a re-created one may have another.
  core.eraseDeployments();
  await core.createDeployment("web", { spec: { selector: { matchExpressions: [expression] } } });
  await core.clock.advance(1_000);
  const selector = (): unknown => core.protector("deployment-web")?.spec?.["selector"];
  assert.deepEqual(selector(), { matchLabels: {}, matchExpressions: [expression] });
  core.eraseDeployments();
  await core.createDeployment("web", { spec: { selector: { matchLabels: { app: "web" } } } });
  await core.clock.advance(1_000);
  assert.deepEqual(selector(), { matchLabels: { app: "web" } });
});

test("beside a controlling owner of others, ours is added as a plain one: only one may control", async () => {
  const { core, generator } = await withProtector();
  const [ours] = core.protector("deployment-web")!.metadata.ownerReferences!;
  const theirs = { apiVersion: "example.com/v1", kind: "App", name: "web", uid: "u-app", controller: true };
  await core.patchProtector("deployment-web", { metadata: { ownerReferences: [theirs] }, spec: { minAvailable: 1 } });
  await core.clock.advance(1_000);
  const protector = core.protector("deployment-web")!;
  const { controller: _, ...plain } = ours!;
  assert.deepEqual(protector.metadata.ownerReferences, [theirs, plain]);
  assert.equal(protector.spec?.["minAvailable"], 8, "nothing else is held up by it");
  const writes = generator.client.writes.length;
  await core.patchProtector("deployment-web", { metadata: { labels: { touched: "yes" } } });
  await core.clock.advance(1_000);
  assert.equal(generator.client.writes.length, writes);
});

test("what people tune and what others add is kept", async () => {
  const { core } = await withProtector();
  const tuned = {
    admissionHistoryConfig: { maxConcurrentLag: 3, compactThreshold: 50 },
    aggregationSelector: { matchLabels: { app: "web" }, matchExpressions: [{ key: "x", operator: "Exists" }] },
  };
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "u-1" };
  const [ours] = core.protector("deployment-web")!.metadata.ownerReferences!;
  await core.patchProtector("deployment-web", {
    metadata: {
      labels: { team: "a" },
      annotations: { note: "b" },
      finalizers: ["other.example/x", finalizer],
      ownerReferences: [other, ours],
    },
    spec: { ...tuned, minAvailable: 1 },
  });
  core.eraseDeployments();
  const reborn = await core.createDeployment("web");
  await core.clock.advance(1_000);
  const { spec, metadata } = core.protector("deployment-web")!;
  assert.deepEqual(spec, {
    ...tuned,
    minAvailable: 8,
    minReadySeconds: 0,
    selector: { matchLabels: { app: "web" } },
    foreignOwners,
  });
  assert.deepEqual(metadata.labels, { ...labelsFor("web"), team: "a" });
  assert.deepEqual(metadata.annotations, { [annotations.generated]: "true", note: "b" });
  assert.deepEqual(metadata.finalizers, ["other.example/x", finalizer]);
  assert.deepEqual(metadata.ownerReferences, [other, { ...ours, uid: reborn.metadata.uid }]);
});

test("a protector that is as wanted is left alone, however its selector is spelled", async () => {
  const { core, generator } = await withProtector();
  const writes = generator.client.writes.length;
  await core.patchProtector("deployment-web", {
    spec: {
      selector: { matchLabels: null, matchExpressions: [{ key: "app", operator: "In", values: ["web", "web"] }] },
    },
  });
  await core.patchDeployment("web", { metadata: { annotations: { touched: "yes" } } });
  await core.clock.advance(1_000);
  assert.equal(generator.client.writes.length, writes);
});

test("a terminating protector is asked for no new finalizer, which the API server would refuse", () => {
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "d-1", controller: true } as const;
  const spec = { minAvailable: 1, minReadySeconds: 0, selector: {} };
  const wanted: WantedProtector = {
    kind: deployments,
    name: "deployment-web",
    namespace: "default",
    labels: {},
    annotations: {},
    finalizer,
    ownerReference: owner,
    spec,
    foreign: undefined,
    optional: {},
  };
  const actual = (deletionTimestamp?: string): PodProtector => ({
    ...protectorTypeMeta,
    metadata: {
      name: "deployment-web",
      namespace: "default",
      uid: "p-1",
      resourceVersion: "7",
      finalizers: ["other.example/x"],
      ownerReferences: [owner],
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec,
  });
  assert.deepEqual(driftPatch(actual(), wanted), {
    metadata: { finalizers: ["other.example/x", finalizer], resourceVersion: "7" },
  });
  assert.equal(driftPatch(actual("2026-01-01T00:00:00Z"), wanted), undefined);
});

test("a protector of an earlier release gets the mark of ownership once, and again when it is removed", async () => {
  const { core, generator } = await withProtector();
  const writes = generator.client.writes.length;
  for (const value of [null, "no"]) {
    await core.patchProtector("deployment-web", { metadata: { annotations: { [annotations.generated]: value } } });
    await core.clock.advance(1_000);
    assert.equal(core.protector("deployment-web")?.metadata.annotations?.[annotations.generated], "true");
  }
  await core.clock.advance(60_000);
  assert.equal(generator.client.writes.length, writes + 2);
});

const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const floor = { "f:spec": { "f:minAvailable": {} } };
const generated = { "f:metadata": { "f:annotations": { "f:podseidon.kubewharf.io/generated": {} } } };

test("the editor is who wrote one of the fields last", () => {
  const fields = [
    { manager: "podseidon", time: at(0), fieldsV1: { ...generated, "f:spec": { "f:selector": {} } } },
    { manager: "argocd", time: at(1), fieldsV1: floor },
    { manager: "kubectl-edit", time: at(2), fieldsV1: floor },
  ];
  assert.equal(readEditor(fields, ["minAvailable"]), "kubectl-edit");
  assert.equal(readEditor(fields, ["selector"]), undefined, "the generator's own");
  assert.equal(readEditor(fields, []), undefined);
});

test("whoever made the object is no editor, and neither is another role or command", () => {
  const made = { manager: "velero-server", time: at(1), fieldsV1: { ...generated, ...floor } };
  assert.equal(readEditor([made], ["minAvailable"]), undefined);
  const command = { manager: "podseidon-command", time: at(1), fieldsV1: floor };
  assert.equal(readEditor([command], ["minAvailable"]), undefined);
});

test("what is not understood has no editor", () => {
  for (const wrong of [undefined, null, 3, "x", {}, [undefined], [{ manager: 3, fieldsV1: floor }], [{ manager: "a" }]])
    assert.equal(readEditor(wrong, ["minAvailable"]), undefined);
});

test("one that is older than the list of foreign owners gets it when a person or its owner says so", async () => {
  const { core, generator } = await withProtector();
  const list = () => core.protector("deployment-web")?.spec?.["foreignOwners"];
  await core.patchProtector("deployment-web", { spec: { foreignOwners: null, minAvailable: 0 } });
  await core.clock.advance(1_000);
  assert.equal(list(), undefined, "it is repaired, and has no list");
  await core.patchProtector("deployment-web", { spec: { foreignOwners: ["Job.batch"] } });
  await core.clock.advance(1_000);
  assert.deepEqual(list(), foreignOwners, "a person has approved");
  await core.patchProtector("deployment-web", { spec: { foreignOwners: null } });
  const named = { "podseidon.kubewharf.io/foreign-owners": "Workflow.argoproj.io" };
  await core.patchDeployment("web", { metadata: { annotations: named } });
  await core.clock.advance(1_000);
  assert.deepEqual(list(), [...foreignOwners, "Workflow.argoproj.io"], "its owner has");
  await core.patchDeployment("web", { metadata: { annotations: { "podseidon.kubewharf.io/foreign-owners": null } } });
  await core.clock.advance(1_000);
  assert.deepEqual(list(), foreignOwners);
  assert.deepEqual(generator.errors(), []);
});
