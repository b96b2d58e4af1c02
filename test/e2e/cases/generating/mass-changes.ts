/**
 * Disasters that arrive as valid changes: many workloads are scaled to nothing or deleted at once. The generator holds
 * them for a person, and everyday changes of others go on (docs/mass-changes.md).
 */
import assert from "node:assert/strict";
import { type AdminClient, type KubeObject } from "../../clusters/admin-client.ts";
import { eventMessage } from "../../objects/events.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { Limiter } from "../../clusters/limiter.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import {
  deploymentManifest,
  deploymentsPath,
  floorOf,
  protectorOf,
  scale,
  servingUIDs,
  startWorkloads,
  waitFloor,
  type Workloads,
} from "../../loads/workloads.ts";

const minute = 60 * second;
const count = 60;
const replicas = 2;
const floor = floorOf(replicas);
const requestsInFlight = 16;
/** What a change that is not held may take: the delay of 2 s, and a busy machine. */
const everydayLimitMs = 10 * second;

export const massChangeCases = e2eCases({
  "mass: 60 Deployments are scaled to 0 by one manager: held; another manager's single one goes on": [
    10 * minute,
    scaledToZero,
  ],
  "mass: 60 Deployments whose owners' CRD is deleted are held, and kept with their pods": [
    12 * minute,
    cascade,
    { isLong: true },
  ],
  "mass: etcd brings back last week's specs of 60 Deployments: held, and undone": [
    12 * minute,
    oldSpecs,
    { isLong: true },
  ],
});

async function scaledToZero(context: CaseContext): Promise<Figures> {
  const { fleet, names, available } = await startWorkloads(context, { count: count + 1, replicas });
  const [alone = "", ...many] = names;
  const { admin } = fleet.core;
  await forAll(many, (name) =>
    scale(admin, `${deploymentsPath(fleet)}/${name}`, { replicas: 0, manager: "bad-federation" }),
  );
  const singleStartMs = performance.now();
  await scale(admin, `${deploymentsPath(fleet)}/${alone}`, { replicas: 0, manager: "somebody-else" });
  await waitFloor(fleet, alone, 0, everydayLimitMs);
  const singleMs = Math.round(performance.now() - singleStartMs);
  const told = await waitHeld(fleet, many);
  context.say(told);
  // Whoever deletes now: the floors stand.
  await waitFor("what the floors allow is gone", 3 * minute, () => available.serving === many.length * floor);
  await assertFloors(fleet, many);
  assert.equal(available.minimum, many.length * floor);
  const left = available.serving;
  await forAll(many, (name) =>
    scale(admin, `${deploymentsPath(fleet)}/${name}`, { replicas, manager: "bad-federation" }),
  );
  await waitNothingHeld(fleet, many);
  await waitFor("all pods serve again", 3 * minute, () => available.serving === many.length * replicas);
  return { singleMs, left };
}

async function cascade(context: CaseContext): Promise<Figures> {
  const { fleet, names, available } = await startOwned(context);
  const { admin } = fleet.core;
  const before = await servingUIDs(fleet);
  await admin.remove(`${crds}/${ownerCrd.metadata.name}`);
  const told = await waitHeld(fleet, names);
  context.say(told);
  assert.equal(available.minimum, count * replicas, "no pod is touched while the Deployments are held");
  // By hand, as docs/mass-changes.md has it: orphan, take our finalizer off, apply the manifest again.
  const startMs = performance.now();
  await forAll(names, async (name) => {
    const path = `${deploymentsPath(fleet)}/${name}`;
    await admin.remove(path, { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Orphan" });
    await waitFor(`the ReplicaSet of ${name} has no owner`, 2 * minute, async () => {
      const { metadata } = await admin.get<KubeObject & { metadata: { finalizers?: readonly string[] } }>(path);
      return metadata.finalizers?.includes("orphan") !== true;
    });
    await admin.mergePatch(path, { metadata: { finalizers: null } });
    await waitFor(`${name} is gone`, minute, async () => (await admin.request("GET", path)).code === 404);
    await admin.create(deploymentsPath(fleet), deploymentManifest(name, replicas));
  });
  await waitNothingHeld(fleet, names);
  const undoneMs = Math.round(performance.now() - startMs);
  await assertFloors(fleet, names);
  assert.deepEqual(await servingUIDs(fleet), before, "the pods are the same");
  assert.equal(available.minimum, count * replicas);
  return { undoneMs, left: available.serving };
}

async function oldSpecs(context: CaseContext): Promise<Figures> {
  const { fleet, names, available } = await startWorkloads(context, { count, replicas: 1 });
  const { core } = fleet;
  const copy = await core.backUp();
  await forAll(names, (name) =>
    scale(core.admin, `${deploymentsPath(fleet)}/${name}`, { replicas: 4, manager: "kubectl" }),
  );
  await waitFor("all pods serve", 4 * minute, () => available.serving === count * 4);
  for (const name of names) await waitFloor(fleet, name, floorOf(4), minute);
  await core.restore(copy);
  const told = await waitHeld(fleet, names);
  context.say(told);
  for (const name of names) await waitFloor(fleet, name, floorOf(4), 2 * minute);
  await forAll(names, (name) =>
    scale(core.admin, `${deploymentsPath(fleet)}/${name}`, { replicas: 4, manager: "kubectl" }),
  );
  await waitNothingHeld(fleet, names);
  return { held: names.length };
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ownerCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "shops.e2e.example.com" },
  spec: {
    group: "e2e.example.com",
    scope: "Namespaced",
    names: { plural: "shops", singular: "shop", kind: "Shop" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
} as const;

/** Each Deployment is owned by a custom resource, as an operator makes them. */
async function startOwned(context: CaseContext): Promise<Workloads> {
  const uids = new Map<string, string>();
  return startWorkloads(context, {
    count,
    replicas,
    prepare: async ({ core, namespace }) => {
      await core.admin.apply(`${crds}/${ownerCrd.metadata.name}`, ownerCrd);
      context.cleanup(() => core.admin.remove(`${crds}/${ownerCrd.metadata.name}`));
      const path = `/apis/e2e.example.com/v1/namespaces/${namespace}/shops`;
      await waitFor("owners can be made", minute, async () => (await core.admin.request("GET", path)).code === 200);
      const names = Array.from({ length: count }, (_, index) => `web-${index}`);
      await forAll(names, async (name) => {
        const owner = { apiVersion: "e2e.example.com/v1", kind: "Shop", metadata: { name } };
        uids.set(name, (await core.admin.create(path, owner)).metadata.uid);
      });
      // The garbage collector looks for new kinds every 30 s, and takes nothing for a kind that it does not know.
      await waitCollects(core.admin, namespace, path);
    },
    metadata: (name) => ({
      ownerReferences: [{ apiVersion: "e2e.example.com/v1", kind: "Shop", name, uid: uids.get(name) ?? "" }],
    }),
  });
}

/** Resolves when a ConfigMap goes with its owner. */
async function waitCollects(admin: AdminClient, namespace: string, owners: string): Promise<void> {
  const probe = { apiVersion: "e2e.example.com/v1", kind: "Shop", metadata: { name: "probe" } };
  const { metadata } = await admin.create(owners, probe);
  const { name, uid } = metadata;
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const ownerReferences = [{ apiVersion: probe.apiVersion, kind: probe.kind, name, uid }];
  await admin.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", ownerReferences } });
  await admin.remove(`${owners}/probe`);
  await waitFor("the garbage collector knows the owners' kind", 2 * minute, async () => {
    return (await admin.request("GET", `${configMaps}/probe`)).code === 404;
  });
}

/** Resolves when all are held, to what an Event says. */
async function waitHeld(fleet: Fleet, names: readonly string[]): Promise<string> {
  await waitConditions(fleet, names, "True");
  const query = { namespace: fleet.namespace, reason: "ChangeHeld" };
  return waitFor("an Event tells of it", minute, () => eventMessage(fleet.core.admin, query));
}

async function waitNothingHeld(fleet: Fleet, names: readonly string[]): Promise<void> {
  await waitConditions(fleet, names, "False");
}

async function waitConditions(fleet: Fleet, names: readonly string[], value: "True" | "False"): Promise<void> {
  for (const name of names) {
    await waitFor(`the condition ChangeHeld of ${name} is ${value}`, 3 * minute, async () => {
      const { status } = await fleet.protector(protectorOf(name));
      return status?.conditions?.some((one) => one.type === "ChangeHeld" && one.status === value);
    });
  }
}

async function assertFloors(fleet: Fleet, names: readonly string[]): Promise<void> {
  for (const name of names) {
    assert.equal((await fleet.protector(protectorOf(name))).spec.minAvailable, floor, `the floor of ${name}`);
  }
}

async function forAll(names: readonly string[], job: (name: string) => Promise<void>): Promise<void> {
  await new Limiter(requestsInFlight).all(names, job);
}
