import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { reasonsAgainst, type Workers } from "../../../../src/commands/uninstall/asking-clusters.ts";
import {
  findConfigurations,
  findDummyPods,
  findGeneratorPods,
  findNamespaces,
  findOthers,
  findPrograms,
  findSettings,
} from "../../../../src/commands/uninstall/inventory.ts";
import { findGuardedSources, readCustomKinds } from "../../../../src/commands/uninstall/source-finalizers.ts";
import { type Part } from "../../../../src/commands/uninstall/steps.ts";
import {
  find,
  type Found,
  nameOf,
  remove,
  removeFinalizer,
  type Site,
  together,
} from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { createCellLease, forbid, systemNamespace } from "../support/fleet.ts";
import { installed, InstalledCluster, installedWorker, named } from "./installed-cluster.ts";

const nobody: Workers = new Map();

async function textsAgainst(part: Part, site: Site, workers = nobody): Promise<readonly string[]> {
  return (await reasonsAgainst(part, site, workers)).map(({ text }) => text);
}

test("a cluster that is core and worker may go by that name, its own cell aside", async () => {
  const { cluster } = await installed();
  assert.deepEqual(await reasonsAgainst("single", cluster.site, nobody), []);
  const [asCore = "", cell = ""] = await textsAgainst("core", cluster.site);
  assert.match(asCore, /^this cluster is a worker, too, by the webhook configuration podseidon/);
  assert.match(cell, /^cell default was heard/);
  const [asWorker = ""] = await textsAgainst("worker", cluster.site);
  assert.match(asWorker, /^this cluster is a core, too/);
});

test("a worker may go at any time", async () => {
  const { cluster } = await installedWorker();
  assert.deepEqual(await reasonsAgainst("worker", cluster.site, nobody), []);
});

test("a cell of another cluster is in the way until it is silent, or its worker asks nobody", async () => {
  const { cluster } = await installed({ overlay: "core" });
  const { core, clock, clusters } = cluster.fleet;
  const worker = clusters.get("w1")!;
  const annotations = { [cellLeaseAnnotations.clusterUID]: "another" };
  await createCellLease(core, clock, "w1", { annotations });
  const ask = (given: boolean) => textsAgainst("single", cluster.site, new Map(given ? [["w1", worker.client]] : []));
  const [unknown = ""] = await ask(false);
  assert.match(unknown, /^cell w1 was heard 2\.0 s ago: its worker asks this core$/);
  assert.deepEqual(await ask(true), []);
  await worker.create(types.validatingWebhookConfigurations, undefined, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "mine" },
    webhooks: [
      {
        name: "podseidon.kubewharf.io",
        clientConfig: { url: "https://127.0.0.1:1/w1" },
        admissionReviewVersions: ["v1"],
        sideEffects: "NoneOnDryRun",
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"] }],
      },
    ],
  });
  const [asks = ""] = await ask(true);
  assert.match(asks, /^the worker of cell w1 asks this core, by its webhook configuration mine$/);
  await clock.advance(196_000);
  assert.deepEqual(await ask(false), []);
});

test("what cannot be seen is in the way, too", async () => {
  const { cluster } = await installed({ overlay: "core" });
  forbid(cluster.fleet.core, /leases/);
  const [reason = ""] = await textsAgainst("core", cluster.site);
  assert.match(reason, /^which cells there are is not known: core: you may not list leases/);
  forbid(cluster.fleet.core, /customresourcedefinitions/);
  assert.match((await textsAgainst("worker", cluster.site))[0] ?? "", /is a core is not known/);
  forbid(cluster.fleet.core, /kube-system/);
  assert.match((await textsAgainst("single", cluster.site))[0] ?? "", /you may not get namespaces/);
});

test("a cluster without Podseidon asks nobody", async () => {
  const { site } = await InstalledCluster.create({ isSmall: true });
  for (const part of ["core", "worker", "single"] as const)
    assert.deepEqual(await reasonsAgainst(part, site, nobody), []);
});

function namesIn({ targets, obstacles }: Found): readonly string[] {
  assert.deepEqual(obstacles, []);
  return targets.map((target) => `${target.kind} ${nameOf(target)}`);
}

const ours = { "app.kubernetes.io/name": "podseidon" };
const podSpec = { containers: [{ name: "main", image: ":" }] };

test("what the manifests and the roles made is found, each in its place", async () => {
  const { cluster } = await installed();
  const { site } = cluster;
  assert.deepEqual(namesIn(await findConfigurations(site)), ["ValidatingWebhookConfiguration podseidon"]);
  assert.equal(namesIn(await findPrograms(site)).length, 3);
  assert.deepEqual(namesIn(await findDummyPods(site)), ["Pod podseidon-update-trigger/podseidon-update-trigger"]);
  assert.deepEqual(namesIn(await findNamespaces(site)), [
    "Namespace podseidon-system",
    "Namespace podseidon-update-trigger",
  ]);
  const settings = namesIn(await findSettings(site));
  for (const one of [
    "ValidatingAdmissionPolicy podseidon-fence",
    "RoleBinding podseidon-update-trigger/podseidon-update-trigger",
    "ClusterRole podseidon-check",
    "ServiceAccount podseidon-system/podseidon-webhook",
    "Lease podseidon-system/podseidon-generator",
    "Lease podseidon-system/cell-37a8eec1ce19687d",
    "ConfigMap podseidon-system/podseidon-generator-state",
    "Secret podseidon-system/podseidon-webhook-tls",
  ])
    assert(settings.includes(one), one);
});

test("objects of others with our label, or with our name, are not ours", async () => {
  const { cluster } = await installed();
  await cluster.make("ConfigMap", "shop", { ...named("ConfigMap", "web"), metadata: { name: "web", labels: ours } });
  await cluster.make("Secret", "shop", named("Secret", "podseidon-webhook-tls"));
  await cluster.make("Pod", "default", { ...named("Pod", "podseidon-other"), spec: podSpec });
  const all = [...namesIn(await findSettings(cluster.site)), ...namesIn(await findDummyPods(cluster.site))];
  for (const one of ["ConfigMap shop/web", "Secret shop/podseidon-webhook-tls", "Pod default/podseidon-other"])
    assert(!all.includes(one), one);
});

test("a generator's pods are found", async () => {
  const { cluster } = await installed();
  const labels = { ...ours, "app.kubernetes.io/component": "generator" };
  const name = "podseidon-generator-1";
  await cluster.make("Pod", systemNamespace, { ...named("Pod", name), metadata: { name, labels }, spec: podSpec });
  assert.deepEqual(namesIn(await findGeneratorPods(cluster.site)), [`Pod ${systemNamespace}/${name}`]);
});

test("in our namespaces others are told from what Kubernetes and people make for Podseidon", async () => {
  const { cluster } = await installed();
  const others = async () => namesIn(await findOthers(cluster.site, systemNamespace, []));
  assert.deepEqual(await others(), []);
  await cluster.make("ConfigMap", systemNamespace, named("ConfigMap", "kube-root-ca.crt"));
  await cluster.make("RoleBinding", systemNamespace, {
    ...named("RoleBinding", "on-call"),
    apiVersion: "rbac.authorization.k8s.io/v1",
    roleRef: { kind: "Role", name: "podseidon-look" },
  });
  const annotations = { "kubernetes.io/service-account.name": "podseidon-webhook" };
  await cluster.make("Secret", systemNamespace, {
    ...named("Secret", "token"),
    metadata: { name: "token", annotations },
  });
  assert.deepEqual(await others(), []);
  await cluster.make("Secret", systemNamespace, named("Secret", "mine"));
  assert.deepEqual(await others(), ["Secret podseidon-system/mine"]);
  assert.deepEqual(namesIn(await findOthers(cluster.site, "podseidon-update-trigger", [])), []);
});

test("a custom resource of others is found where its kind is asked for", async () => {
  const { cluster } = await installed();
  const body = { apiVersion: "example.com/v1", kind: "Database", metadata: { name: "mine" }, spec: {} };
  await cluster.make("Database", systemNamespace, body);
  const kind = { kind: "Database", resource: { group: "example.com", version: "v1", resource: "databases" } };
  assert.deepEqual(namesIn(await findOthers(cluster.site, systemNamespace, [kind])), [
    "Database podseidon-system/mine",
  ]);
});

test("workloads with our finalizer are found, built-in and custom, terminating or not, and no others", async () => {
  const { cluster } = await installed();
  await cluster.fleet.core.engine.delete(types.deployments, "shop", "web");
  const { targets, obstacles } = await findGuardedSources(cluster.site);
  assert.deepEqual(obstacles, []);
  assert.deepEqual(
    targets.map((target) => [target.kind, nameOf(target), target.isTerminating]),
    [
      ["Deployment", "shop/web", true],
      ["StatefulSet", "shop/db", false],
      ["Database", "default/main", false],
    ],
  );
});

test("where the generator never was, none is found", async () => {
  const { site } = await InstalledCluster.create({ isSmall: true });
  assert.deepEqual((await findGuardedSources(site)).targets, []);
});

test("more workloads than a page has are all found", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  const spec = { selector: { matchLabels: { app: "a" } }, template };
  for (let index = 0; index < 300; index += 1) {
    const metadata = { name: `many-${index}`, finalizers: [finalizer] };
    await cluster.make("Deployment", "shop", { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
  }
  const { log } = cluster.fleet.core.client;
  assert.equal((await findGuardedSources(cluster.site)).targets.length, 300);
  assert.equal(log.filter((what) => what.endsWith("/apis/apps/v1/deployments")).length, 2);
});

test("custom kinds are those of namespaced CRDs, or only those with a scale, and never PodProtectors", async () => {
  const { cluster } = await installed();
  const scaled = await readCustomKinds(cluster.site, { mustScale: true });
  const database = { kind: "Database", resource: { group: "example.com", version: "v1", resource: "databases" } };
  assert.deepEqual(scaled, { kinds: [database], obstacles: [] });
  const { kinds } = await readCustomKinds(cluster.site, { mustScale: false });
  const names = kinds.map(({ kind }) => kind);
  assert(names.includes("RoleBinding"));
  assert(!names.includes("ClusterRole"));
  assert(!names.includes("PodProtector"));
});

test("CRDs that may not be listed are an obstacle", async () => {
  const { cluster } = await installed({ isSmall: true });
  forbid(cluster.fleet.core, /customresourcedefinitions$/);
  const { kinds, obstacles } = await readCustomKinds(cluster.site, { mustScale: true });
  assert.deepEqual(kinds, []);
  assert.match(obstacles[0]?.problem ?? "", /you may not list customresourcedefinitions/);
});

const kind = { kind: "Deployment", resource: { group: "apps", version: "v1", resource: "deployments" } };

async function findWeb(cluster: InstalledCluster) {
  const { targets } = await find(cluster.site, kind, ({ metadata }) => (metadata as { name: string }).name === "web");
  const [web] = targets;
  assert(web !== undefined);
  return web;
}

test("an object is found with what its deletion needs", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const { uid, resourceVersion, ...rest } = await findWeb(cluster);
  const stored = cluster.fleet.core.engine.get(types.deployments, "shop", "web").metadata;
  assert.deepEqual([uid, resourceVersion], [stored.uid, stored.resourceVersion]);
  assert.deepEqual(rest, {
    ...kind,
    namespace: "shop",
    name: "web",
    finalizers: ["example.com/other"],
    isTerminating: false,
  });
  assert.equal(nameOf(rest), "shop/web");
  assert.equal(nameOf({ namespace: undefined, name: "web" }), "web");
});

test("a kind that is not served has no objects, and one that may not be read says which right is missing", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const unknown = { kind: "Thing", resource: { group: "example.com", version: "v1", resource: "things" } };
  assert.deepEqual(await find(cluster.site, unknown, () => true), { targets: [], obstacles: [] });
  forbid(cluster.fleet.core, /deployments/);
  const problem = "core: you may not list deployments.apps; ask for the role cluster-admin";
  const unread = await find(cluster.site, kind, () => true);
  assert.deepEqual(unread, { targets: [], obstacles: [{ isFinal: true, problem }] });
  assert.deepEqual(together([unread, unread]).obstacles.length, 2);
});

test("a deletion is for that very object, and one that is gone needs none", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const web = await findWeb(cluster);
  const other = await remove(cluster.site, { ...web, uid: "another" });
  assert.equal(other?.isFinal, false);
  assert.equal(await remove(cluster.site, web), undefined);
  assert.equal((await findWeb(cluster)).isTerminating, true);
  assert.equal(await remove(cluster.site, { ...web, name: "gone" }), undefined);
});

test("a finalizer is taken off the version that was seen, and the others stay", async () => {
  const cluster = await InstalledCluster.create({ isSmall: true });
  const before = await findWeb(cluster);
  await cluster.guard("Deployment", "shop", "web");
  const stale = await removeFinalizer(cluster.site, before, "podseidon.kubewharf.io/generator");
  assert.equal(stale?.isFinal, false);
  const guarded = await findWeb(cluster);
  assert.equal(guarded.finalizers.length, 2);
  assert.equal(await removeFinalizer(cluster.site, guarded, "podseidon.kubewharf.io/generator"), undefined);
  assert.deepEqual((await findWeb(cluster)).finalizers, ["example.com/other"]);
});
