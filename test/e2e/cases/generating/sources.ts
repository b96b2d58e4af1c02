/** Workloads other than Deployments (docs/generator.md#sources), with the controllers that they really have. */
import assert from "node:assert/strict";
import { type ObjectList } from "../../clusters/admin-client.ts";
import { accountUser, grantRules } from "../../clusters/role-accounts.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { Siege } from "../../loads/siege.ts";
import { applyDefinition, type Crd } from "../../objects/crd.ts";
import { deletePods } from "../../objects/deletions.ts";
import { eventMessage } from "../../objects/events.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createPods, listPods, type Pod } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { contractCases } from "../../../source-contract/cases.ts";
import { crdCases } from "../../../source-contract/crd-cases.ts";
import { startRealTargets } from "../../../source-contract/real.ts";
import { sourceSamples } from "../../../source-contract/samples.ts";

const minute = 60 * second;

export const sourceCases = e2eCases({
  "source: a StatefulSet is updated in its order, deleted in masses and let go, above its floor": [
    5 * minute,
    statefulSet,
  ],
  "source: a custom resource is guarded by the replicas of its scale, and by the last ones while it has none": [
    3 * minute,
    customResource,
  ],
});

const statefulReplicas = 6;
/** By default a StatefulSet gives up one pod at a time. */
const statefulFloor = statefulReplicas - 1;

async function statefulSet(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, {
    workers: ["core"],
    generatorArgs: ["--generator-sources=statefulsets.apps"],
  });
  const { core, namespace } = fleet;
  const { admin } = core;
  // Longer than a wave of deletions: a pod that is made again is not deleted in the same wave.
  const kubelet = startKubelet({ admin, namespace, bindTo: "node-0", readyDelayMs: 500 });
  context.cleanup(() => kubelet.stop());
  const collection = `/apis/apps/v1/namespaces/${namespace}/statefulsets`;
  await admin.create(collection, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web" },
    spec: {
      replicas: statefulReplicas,
      serviceName: "web",
      podManagementPolicy: "Parallel",
      selector: { matchLabels: webLabels },
      template: { metadata: { labels: webLabels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(statefulReplicas);
  await waitFloor(fleet, "statefulset-web", statefulFloor);
  await fleet.waitCounted("statefulset-web", statefulReplicas);
  await fleet.waitIntercepted();

  const template = { metadata: { annotations: { "e2e/revision": "2" } } };
  await admin.mergePatch(`${collection}/web`, { spec: { template } });
  const rolloutStartMs = performance.now();
  await waitFor("all pods are of the new template, and serve", 2 * minute, async () => {
    const pods = await listPods(admin, namespace, "app=web");
    const isNew = ({ metadata }: Pod): boolean => metadata.annotations?.["e2e/revision"] === "2";
    return pods.length === statefulReplicas && pods.every(isNew) && available.serving === statefulReplicas;
  });
  const rolloutMs = Math.round(performance.now() - rolloutStartMs);
  assert.equal(available.minimum, statefulFloor, "pods that served in the update");

  const siege = new Siege(context, fleet);
  await waitFor("the siege was refused, and admitted more than once", minute, () => {
    return siege.admitted > 1 && siege.refusal(`${namespace}/statefulset-web`) !== undefined;
  });
  const answers = await siege.end();
  assert.equal(available.minimum, statefulFloor, "pods that served in the siege");

  await waitFor("all pods serve again", minute, () => available.serving === statefulReplicas);
  await admin.remove(`${collection}/web`, { propagationPolicy: "Background" });
  await waitGone(fleet, "statefulset-web");
  await waitFor("no pod is left", minute, async () => (await listPods(admin, namespace, "app=web")).length === 0);
  return { rolloutMs, lowest: statefulFloor, admitted: answers.deleted, refused: answers.refused };
}

const group = "e2e.example.com";
const databasesID = `databases.${group}`;
const databaseProtector = `scale.${databasesID}-web`;
const databaseReplicas = 8;
/** A custom resource has no maxUnavailable: a quarter may go. */
const databaseFloor = 6;

const databaseDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: databasesID },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "databases", singular: "database", kind: "Database", listKind: "DatabaseList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { members: { type: "integer" } } },
              status: {
                type: "object",
                properties: { members: { type: "integer" }, selector: { type: "string" } },
              },
            },
          },
        },
        subresources: {
          status: {},
          scale: {
            specReplicasPath: ".spec.members",
            statusReplicasPath: ".status.members",
            labelSelectorPath: ".status.selector",
          },
        },
      },
    ],
  },
};

async function customResource(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const { admin } = await context.cluster("core");
  // As docs/generator.md#custom-resources has it.
  await grantRules(admin, accountUser("podseidon-generator"), [
    { apiGroups: [group], resources: ["databases"], verbs: ["get", "list", "watch", "patch"] },
    { apiGroups: [group], resources: ["databases/scale"], verbs: ["get"] },
  ]);
  const fleet = await startFleet(context, {
    workers: ["core"],
    generatorArgs: [`--generator-sources=${databasesID}`],
  });
  const collection = `/apis/${group}/v1/namespaces/${namespace}/databases`;
  // The generator that waits for the definition meets it.
  await applyDefinition(admin, databaseDefinition);
  context.cleanup(async () => {
    const { items } = await admin.get<ObjectList<Pod>>(`/apis/${group}/v1/databases`);
    for (const { metadata } of items)
      await admin.mergePatch(`${collection}/${metadata.name}`, { metadata: { finalizers: null } });
    await admin.remove(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${databasesID}`);
  });
  await admin.create(collection, {
    apiVersion: `${group}/v1`,
    kind: "Database",
    metadata: { name: "web" },
    spec: { members: databaseReplicas },
  });
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
  context.cleanup(() => kubelet.stop());
  await createPods(admin, { namespace, count: databaseReplicas, namePrefix: "web", labels: webLabels });
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(databaseReplicas);
  const setSelector = (selector: string | null): Promise<unknown> =>
    admin.mergePatch(`${collection}/web/status`, { status: { members: databaseReplicas, selector } });
  await setSelector("app=web");
  await waitFloor(fleet, databaseProtector, databaseFloor);
  await fleet.waitCounted(databaseProtector, databaseReplicas);
  await fleet.waitIntercepted();
  const deleteAll = async (): Promise<number> => {
    const names = (await listPods(admin, namespace, "app=web")).map(({ metadata }) => metadata.name);
    const wave = { namespace, names, concurrency: names.length, how: "delete", gracePeriodSeconds: 0 } as const;
    return (await deletePods(admin, wave)).filter(({ code }) => code < 300).length;
  };
  const admitted = await deleteAll();
  assert.equal(admitted, databaseReplicas - databaseFloor);

  // An operator that loses its selector: the last floor holds, and an Event says what to do.
  await setSelector(null);
  const about = { kind: "Database", name: "web" };
  const query = { namespace, reason: "ScaleUnreadable", about };
  const told = await waitFor("an Event tells of the scale", 2 * minute, () => eventMessage(admin, query));
  context.say(told);
  assert.equal((await fleet.protector(databaseProtector)).spec.minAvailable, databaseFloor);
  assert.equal(await deleteAll(), 0);
  await setSelector("app=web");

  await admin.mergePatch(`${collection}/web/scale`, { spec: { replicas: databaseReplicas / 2 } });
  await waitFloor(fleet, databaseProtector, databaseFloor / 2);
  await fleet.waitSettled(databaseProtector, minute);
  await fleet.waitCounted(databaseProtector, databaseFloor);
  assert.equal(await deleteAll(), databaseFloor / 2);
  assert.equal(available.minimum, databaseFloor / 2);
  await admin.remove(`${collection}/web`);
  await waitGone(fleet, databaseProtector);
  return { admitted, lowest: available.minimum };
}

async function waitFloor(fleet: Fleet, protector: string, floor: number): Promise<void> {
  await waitFor(`the floor of ${protector} is ${floor}`, minute, async () => {
    return (await fleet.protector(protector)).spec.minAvailable === floor;
  });
}

async function waitGone(fleet: Fleet, protector: string): Promise<void> {
  await waitFor(`${protector} is gone`, minute, async () => {
    return (await fleet.core.admin.request("GET", fleet.protectorPath(protector))).code === 404;
  });
}

/**
 * First the one that begins without CRDs. Of what the other leaves behind, when these go, more Events would tell than a
 * generator sends, and those that are waited for would be among the dropped ones.
 */
export const sourceContractCases = e2eCases({
  "contract: CRDs of sources that are missing, come and go on a real API server": [10 * minute, crdContract],
  "contract: every kind of source keeps it on a real API server": [10 * minute, contract],
});

const customSamples = sourceSamples.filter(({ crd }) => crd !== undefined);

async function contract(context: CaseContext): Promise<Figures> {
  const { admin } = await context.cluster("sources");
  await Promise.all(customSamples.map(({ crd }) => applyDefinition(admin, crd as unknown as Crd)));
  const targets = await startRealTargets(context, { samples: sourceSamples, massChanges: "allow" });
  const failures = await targets.play(contractCases);
  assert.deepEqual(failures, []);
  return { kinds: sourceSamples.length, cases: contractCases.length };
}

async function crdContract(context: CaseContext): Promise<Figures> {
  const targets = await startRealTargets(context, { samples: customSamples, massChanges: "hold" });
  const failures = await targets.play(crdCases);
  assert.deepEqual(failures, []);
  return { kinds: customSamples.length, cases: crdCases.length };
}
