/**
 * The disasters that hit Podseidon's own objects: PodProtectors are erased, the core or its etcd is lost or comes back
 * from before, the CRD is deleted. Pods are deleted all the while (docs/disasters.md).
 */
import assert from "node:assert/strict";
import path from "node:path";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type AdminClient, type KubeObject, type ObjectList, type ObjectMeta } from "../../clusters/admin-client.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { applyCrd } from "../../objects/crd.ts";
import { eventMessage } from "../../objects/events.ts";
import { crdFile, type Fleet, startFleet } from "../../fleet/fleet.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { grantIn } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { Siege } from "../../loads/siege.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, deploymentsPath, floorOf, protectorOf, startWorkloads } from "../../loads/workloads.ts";

const minute = 60 * second;
const replicas = 16;
const floor = floorOf(replicas);
const web = "web-0";
/** An admission on the former object may still commit for 75 s; the rest is for lists, barriers and Leases. */
const quotaLimitMs = 240 * second;
/** More than an empty core makes in a minute. */
const oldVersions = 2_000;
const crdName = "podprotectors.podseidon.kubewharf.io";
const podProtectorsPath = "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors";

interface StoredProtector extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta & {
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly unknown[];
  };
  readonly spec: unknown;
  readonly status?: unknown;
}

export const lostProtectorCases = e2eCases({
  "lost: all PodProtectors are erased from etcd during a mass deletion, one cluster: the floor holds": [
    10 * minute,
    erased,
  ],
  "lost: the core is wiped during a mass deletion in its workers: the floor holds": [10 * minute, wiped],
  "lost: the CRD of PodProtectors is deleted, and comes back by the documented procedure: the floor holds": [
    10 * minute,
    crdDeleted,
  ],
  "lost: etcd comes back from before the PodProtectors, one cluster: the floor holds": [
    10 * minute,
    restoredFromBefore,
    { isLong: true },
  ],
});

async function erased(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startWorkloads(context, { count: 1, replicas });
  const { core, namespace } = fleet;
  const before = await fleet.protector(protectorOf(web));
  await core.killApiServer();
  assert.equal(await core.etcd.loseObjects(`podseidon.kubewharf.io/podprotectors/${namespace}/`), 1);
  await core.startApiServer();
  const startMs = performance.now();
  const siege = new Siege(context, fleet);
  const quotaMs = await quotaReturns(context, fleet, siege, startMs);
  assert.notEqual((await fleet.protector(protectorOf(web))).metadata.uid, before.metadata.uid);
  await waitTold(fleet);
  const answers = await siege.end();
  assert.ok(available.minimum >= floor, `${available.minimum} pods served`);
  await waitFor("all pods serve again", 2 * minute, () => available.serving === replicas);
  await fleet.waitCounted(protectorOf(web), replicas, 2 * minute);
  await fleet.waitSettled(protectorOf(web), 2 * minute);
  await waitOver(fleet);
  return { lowest: available.minimum, quotaMs, admitted: answers.deleted, refused: answers.refused };
}

async function restoredFromBefore(context: CaseContext): Promise<Figures> {
  const namespaceOnly = new Map<string, string>();
  const { fleet, available } = await startWorkloads(context, {
    count: 1,
    replicas,
    prepare: async ({ core }) => void namespaceOnly.set("copy", await core.backUp()),
  });
  const { core } = fleet;
  // Pods are gone with the Deployment: only processes remember. Nodes run them on, which no API server shows.
  await core.restore(namespaceOnly.get("copy") ?? "");
  const startMs = performance.now();
  await waitFor("the PodProtector is made again from memory", 2 * minute, async () => {
    const { status, spec } = await fleet.protector(protectorOf(web));
    return spec.minAvailable === floor && status?.conditions?.some((one) => one.type === "Dangling");
  });
  const madeMs = Math.round(performance.now() - startMs);
  // The workload comes back by its manifest, and is protected as before.
  await core.admin.create(deploymentsPath(fleet), deploymentManifest(web, replicas));
  await waitFor("all pods serve again", 2 * minute, () => available.serving === replicas);
  await available.begin(replicas);
  const siege = new Siege(context, fleet);
  const quotaMs = await quotaReturns(context, fleet, siege, startMs);
  const answers = await siege.end();
  assert.ok(available.minimum >= floor, `${available.minimum} pods served`);
  await waitOver(fleet);
  return { madeMs, quotaMs, lowest: available.minimum, admitted: answers.deleted, refused: answers.refused };
}

async function crdDeleted(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startWorkloads(context, { count: 1, replicas });
  const { core } = fleet;
  const run = async (...args: readonly string[]): Promise<string> => {
    const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster: core };
    const { code, stdout, stderr } = await kubectl(options, ...args);
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  await createByHand(fleet);
  const handMade = await handMadeProtectors(core.admin);
  const siege = new Siege(context, fleet);
  await run("delete", "crd", crdName, "--wait=false");
  const startMs = performance.now();
  await waitFor("the generator reports the CRD", 2 * minute, async () => {
    const text = await fleet.generator?.metrics();
    return (text?.value("generator_crd_lost") ?? 0) === 1;
  });
  const query = { namespace: "default", reason: "CRDLost" };
  await waitFor("an Event tells of the CRD", minute, () => eventMessage(fleet.core.admin, query));
  const noticedMs = Math.round(performance.now() - startMs);
  await bringBack(fleet, run, handMade);
  const quotaMs = await quotaReturns(context, fleet, siege, startMs);
  const answers = await siege.end();
  assert.ok(available.minimum >= floor, `${available.minimum} pods served`);
  await fleet.waitCounted(protectorOf(web), replicas, 2 * minute);
  await waitOver(fleet);
  return { lowest: available.minimum, noticedMs, quotaMs, admitted: answers.deleted, refused: answers.refused };
}

/** The six steps of docs/disasters.md, "The CRD is lost", with what other cases left behind. */
async function bringBack(
  fleet: Fleet,
  run: (...args: readonly string[]) => Promise<string>,
  handMade: readonly StoredProtector[],
): Promise<void> {
  const { admin } = fleet.core;
  await fleet.generator?.terminate();
  const saved = JSON.parse(await run("get", "podprotectors", "-A", "-o", "json")) as ObjectList<StoredProtector>;
  for (const { metadata } of saved.items) {
    // Those of other cases that have none go by themselves meanwhile.
    if ((metadata.finalizers ?? []).length === 0) continue;
    const patch = '-p={"metadata":{"finalizers":null}}';
    await run("patch", "podprotector", metadata.name, "-n", metadata.namespace ?? "", "--type=merge", patch);
  }
  await run("wait", "--for=delete", `crd/${crdName}`, "--timeout=60s");
  await applyCrd(admin, crdFile);
  const savedNames = new Set(saved.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const isLeft = ({ metadata }: StoredProtector): boolean => !savedNames.has(`${metadata.namespace}/${metadata.name}`);
  await createAgain(admin, [...saved.items, ...handMade.filter(isLeft)]);
  fleet.generator = await fleet.generator?.startAgain();
}

/** A person protects pods that no Deployment has. */
async function createByHand(fleet: Fleet): Promise<void> {
  await fleet.core.admin.create(path.posix.dirname(fleet.protectorPath("by-hand")), {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "by-hand" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: "another" } } },
  });
}

/** As people keep their manifests, also those of other cases: without status. */
async function handMadeProtectors(admin: AdminClient): Promise<readonly StoredProtector[]> {
  const { items } = await admin.get<ObjectList<StoredProtector>>(podProtectorsPath);
  const handMade = items.filter(({ metadata }) => metadata.annotations?.[annotations.generated] === undefined);
  return handMade.map(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }));
}

/** All but the released ones, each with its status where it is known. */
async function createAgain(admin: AdminClient, protectors: readonly StoredProtector[]): Promise<void> {
  for (const { apiVersion, kind, metadata, spec, status } of protectors) {
    const { name, namespace = "", labels, finalizers, ownerReferences } = metadata;
    if (metadata.annotations?.[annotations.released] !== undefined) continue;
    const list = `/apis/${apiVersion}/namespaces/${namespace}/podprotectors`;
    const kept = { name, namespace, labels, annotations: metadata.annotations, finalizers, ownerReferences };
    const created = await admin.create(list, { apiVersion, kind, metadata: kept, spec });
    if (status === undefined) continue;
    // Somebody who was faster keeps what he wrote.
    const { code } = await admin.request("PUT", `${list}/${name}/status`, { body: { ...created, spec, status } });
    assert.ok(code === 200 || code === 409, `${namespace}/${name}: the status is answered with ${code}`);
  }
}

async function wiped(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context);
  const { core, workers, namespace } = fleet;
  // A new history that is beyond the former version at once looks like its continuation (docs/accounting.md).
  await core.etcd.age(oldVersions);
  for (const { cluster } of workers) {
    await createPods(cluster.admin, { namespace, count: replicas / 2, namePrefix: "web", labels: webLabels });
    const kubelet = startKubelet({ admin: cluster.admin, namespace, readyDelayMs: "never" });
    context.cleanup(() => kubelet.stop());
  }
  const labels = { app: "web" };
  await core.admin.create(deploymentsPath(fleet), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: web },
    spec: {
      replicas,
      paused: true,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(replicas);
  await fleet.waitCounted(protectorOf(web), replicas);
  await fleet.waitIntercepted();
  await createByHand(fleet);
  const handMade = await handMadeProtectors(core.admin);
  const protectors = await core.admin.get<ObjectList<StoredProtector>>(podProtectorsPath);
  const namespaces = new Set([namespace, ...protectors.items.flatMap(({ metadata }) => metadata.namespace ?? [])]);
  await core.rebuild();
  const startMs = performance.now();
  const siege = new Siege(context, fleet);
  await waitFor("a refusal names what is lost", 2 * minute, () => siege.refusal(protectorOf(web)) !== undefined);
  // What people do: namespaces, rights, CRD and hand-made PodProtectors, also of other cases. The rest is the
  // generator's.
  for (const lost of namespaces) await createNamespace(core.admin, lost);
  await grantIn(core.admin, namespace);
  await applyCrd(core.admin, crdFile);
  await createAgain(core.admin, handMade);
  const quotaMs = await quotaReturns(context, fleet, siege, startMs);
  await waitFor("what the floor allows is gone", 2 * minute, () => available.serving === floor);
  await waitOver(fleet);
  const answers = await siege.end();
  assert.equal(available.minimum, floor);
  // Conditions are written at a pace of their own.
  await waitFor("its condition says that the workload is gone", minute, async () => {
    const { status } = await fleet.protector(protectorOf(web));
    return status?.conditions?.some(({ type, status: held }) => type === "Dangling" && held === "True") === true;
  });
  const { metadata } = await fleet.protector(protectorOf(web));
  assert.equal(metadata.annotations?.[annotations.generated], "true");
  return { left: available.serving, quotaMs, admitted: answers.deleted, refused: answers.refused };
}

/** Milliseconds since `startMs` when a deletion is admitted again. */
async function quotaReturns(context: CaseContext, fleet: Fleet, siege: Siege, startMs: number): Promise<number> {
  const already = siege.admitted;
  await waitFor("a deletion is admitted again", quotaLimitMs, () => siege.admitted > already);
  const shown = siege.refusal(protectorOf(web));
  if (shown !== undefined) context.say(shown.message);
  assert.equal((await fleet.protector(protectorOf(web))).spec.minAvailable, floor);
  return Math.round(performance.now() - startMs);
}

/**
 * Resolves when an Event tells of the loss: that of the generator, since webhooks whose watch comes back late see only
 * that it was made again.
 */
async function waitTold({ core, namespace }: Fleet): Promise<void> {
  const query = { namespace, reason: "Recreated" };
  await waitFor("an Event tells of the loss", minute, () => eventMessage(core.admin, query));
}

/** Resolves when no replica judges from memory any more, and none misses the CRD. */
async function waitOver(fleet: Fleet): Promise<void> {
  await waitFor("nothing counts as lost any more", minute, async () => {
    const lost = await fleet.webhookCount("webhook_tombstones");
    return lost === 0 && (await fleet.webhookCount("webhook_crd_lost")) === 0;
  });
}
