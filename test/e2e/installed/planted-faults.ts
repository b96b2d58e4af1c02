/** Faults that are planted in an installation on real API servers, one after another, for `podseidon check`. */
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { holdingCondition } from "../../../src/api/v1alpha1/conditions.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { type KubeObject, type ObjectList } from "../clusters/admin-client.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";
import { type StrangerWebhook } from "./stranger-webhook.ts";

export interface FaultStage {
  readonly core: Cluster;
  readonly worker: Cluster;
  /** A cluster where nothing of Podseidon is. */
  readonly bare: Cluster;
  readonly namespace: string;
  /** By the state of their certificates. */
  readonly strangers: Readonly<Record<"good" | "expired" | "ending", StrangerWebhook>>;
}

export interface PlantedFault {
  readonly fault: string;
  /** `level check`, at least. */
  readonly finds: readonly string[];
  /** What one of these findings tells. */
  readonly says?: RegExp;
  /** Whether the roles tell of it, too. */
  readonly isTold?: (stage: FaultStage) => Promise<boolean>;
  /** Resolves to what undoes it. */
  readonly plant: (stage: FaultStage) => Promise<() => Promise<unknown>>;
  /** Before each further look, where the roles mend it by themselves. */
  readonly plantAgain?: (stage: FaultStage) => Promise<void>;
}

const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const configurationPath = `${configurations}/podseidon`;
const definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases`;
const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicy";
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

interface Configuration extends KubeObject {
  readonly webhooks: readonly {
    readonly name: string;
    readonly clientConfig: object;
    readonly failurePolicy: string;
    readonly namespaceSelector: { readonly matchExpressions?: readonly object[] };
    readonly rules: readonly object[];
  }[];
}

/** Edits the webhook configuration of the worker. Undoing it puts it back as it was. */
async function edit(
  { worker: { admin } }: FaultStage,
  edited: (entry: Configuration["webhooks"][number], index: number) => object,
): Promise<() => Promise<unknown>> {
  const before = await admin.get<Configuration>(configurationPath);
  await admin.mergePatch(configurationPath, { webhooks: before.webhooks.map(edited) });
  return () => admin.mergePatch(configurationPath, { webhooks: before.webhooks });
}

function callStranger(stage: FaultStage, { url, caPem }: StrangerWebhook, cell = "worker-1"): ReturnType<typeof edit> {
  const caBundle = Buffer.from(caPem).toString("base64");
  return edit(stage, (entry) => ({ ...entry, clientConfig: { url: `${url}/${cell}`, caBundle } }));
}

/** A time `seconds` ago, or to come. */
function time(seconds: number): string {
  return formatMicroTime(((Date.now() - seconds * 1_000) * 1_000) as EpochMicros);
}

/** The expressions that AKS adds to every configuration, and puts back. */
const expressionsOfAks = [
  { key: "control-plane", operator: "NotIn", values: ["true"] },
  { key: "kubernetes.azure.com/managedby", operator: "NotIn", values: ["aks"] },
];

/** Adds to the namespaceSelector of all entries. */
function addExpressions(stage: FaultStage, ...added: readonly object[]): ReturnType<typeof edit> {
  return edit(stage, (entry) => {
    const { matchExpressions = [] } = entry.namespaceSelector;
    return { ...entry, namespaceSelector: { matchExpressions: [...matchExpressions, ...added] } };
  });
}

/** A PodProtector that keeps a pod, so that somebody relies on its namespace being guarded. */
async function plantFloor({ core: { admin }, namespace }: FaultStage): Promise<() => Promise<unknown>> {
  const collection = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
  await admin.create(collection, {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "floor" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
  });
  return () => admin.remove(`${collection}/floor`);
}

/** Undoes the last first. */
async function together(...planted: readonly Promise<() => Promise<unknown>>[]): Promise<() => Promise<unknown>> {
  const undos = await Promise.all(planted);
  return async () => {
    for (const undo of undos.toReversed()) await undo();
  };
}

/** Objects of a kind, of one name or all of them. Undoing it makes them again. */
async function removeAll(admin: Cluster["admin"], collection: string, name?: string): Promise<() => Promise<unknown>> {
  const { items } = await admin.get<ObjectList<KubeObject>>(collection);
  const chosen = items.filter(({ metadata }) => name === undefined || metadata.name === name);
  for (const { metadata } of chosen) await admin.remove(`${collection}/${metadata.name}`);
  return async () => {
    for (const { metadata, ...object } of chosen) {
      const { name: own, labels } = metadata;
      await admin.create(collection, { ...object, metadata: { name: own, labels } });
    }
  };
}

async function plantLease(
  { core: { admin } }: FaultStage,
  cellID: string,
  annotations: object,
  renewTime: string,
): Promise<() => Promise<unknown>> {
  const name = cellLeaseName(cellID);
  const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID };
  const spec = { holderIdentity: "planted", leaseDurationSeconds: 180, renewTime };
  const metadata = { name, namespace: systemNamespace, labels, annotations };
  await admin.create(leasesPath, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  return () => admin.remove(`${leasesPath}/${name}`);
}

interface PlantedStatus {
  readonly conditions?: readonly string[];
  readonly cells?: readonly object[];
}

function plantedPath({ namespace }: FaultStage): string {
  return `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors/planted`;
}

/** A hand-made PodProtector whose status a person has written. */
async function plantStatus(stage: FaultStage, status: PlantedStatus): Promise<() => Promise<unknown>> {
  const { admin } = stage.core;
  const path = plantedPath(stage);
  await admin.create(path.replace(/\/planted$/, ""), {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "planted" },
    spec: { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: "planted" } } },
  });
  await patchStatus(stage, status);
  return () => admin.remove(path);
}

async function patchStatus(stage: FaultStage, { conditions = [], cells = [] }: PlantedStatus): Promise<void> {
  const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
  const planted = conditions.map((type) => {
    return { type, status: "True", reason: "Planted", message: "", lastTransitionTime: new Date().toISOString() };
  });
  await stage.core.admin.mergePatch(`${plantedPath(stage)}/status`, {
    status: { cells, summary, conditions: planted },
  });
}

const badConditions: PlantedStatus = { conditions: ["Undrainable", "Dangling", "ChangeHeld"] };

export const plantedFaults: readonly PlantedFault[] = [
  {
    fault: "a wrong cell in the URL",
    finds: ["fail webhook-cell"],
    plant: (stage) =>
      edit(stage, (entry) => {
        const { url } = entry.clientConfig as { readonly url: string };
        return { ...entry, clientConfig: { ...entry.clientConfig, url: url.replace(/[^/]*$/, "worker-9") } };
      }),
  },
  {
    fault: "two clusters under one cell",
    finds: ["fail cell-shared"],
    async plant({ worker, bare }) {
      const { webhooks } = await worker.admin.get<Configuration>(configurationPath);
      const type = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
      await bare.admin.create(configurations, { ...type, metadata: { name: "podseidon" }, webhooks });
      return () => bare.admin.remove(configurationPath);
    },
  },
  {
    fault: "a silent cell",
    finds: ["fail cell-silent"],
    plant: (stage) => plantLease(stage, "gone", { [cellLeaseAnnotations.silentSince]: time(600) }, time(0)),
  },
  {
    fault: "a caBundle that does not match",
    finds: ["fail ca-bundle"],
    plant: (stage) => {
      const caBundle = Buffer.from(stage.strangers.good.caPem).toString("base64");
      return edit(stage, (entry) => ({ ...entry, clientConfig: { ...entry.clientConfig, caBundle } }));
    },
  },
  {
    fault: "an expired certificate",
    finds: ["fail certificate"],
    plant: (stage) => callStranger(stage, stage.strangers.expired),
  },
  {
    fault: "a certificate that expires soon",
    finds: ["warn certificate"],
    plant: (stage) => callStranger(stage, stage.strangers.ending),
  },
  {
    fault: "a right that is missing",
    finds: ["fail right"],
    async plant({ worker: { admin } }) {
      const path = `${bindings}/podseidon-aggregator-worker`;
      const before = await admin.get(path);
      await admin.remove(path);
      const { name, labels } = before.metadata;
      return () => admin.create(bindings, { ...before, metadata: { name, labels } });
    },
  },
  {
    fault: "a CRD that prunes",
    finds: ["fail crd-prunes"],
    async plant({ core: { admin } }) {
      const before = await admin.get(definitionPath);
      const text = JSON.stringify((before as unknown as { readonly spec: object }).spec);
      const spec = JSON.parse(text.replace('"initializedReplicas":', '"former":')) as object;
      const at = (changed: object): object => ({ spec: changed });
      await admin.mergePatch(definitionPath, at(spec));
      return () => admin.mergePatch(definitionPath, at(JSON.parse(text) as object));
    },
  },
  {
    fault: "no webhook configuration",
    finds: ["fail webhook-configuration"],
    async plant({ worker: { admin } }) {
      const before = await admin.get<Configuration>(configurationPath);
      await admin.remove(configurationPath);
      const { name, labels } = before.metadata;
      return () => admin.create(configurations, { ...before, metadata: { name, labels } });
    },
  },
  {
    fault: "a webhook configuration that points elsewhere, where strangers are answered",
    finds: ["fail gate", "warn client-certificate"],
    plant: (stage) => callStranger(stage, stage.strangers.good),
  },
  {
    fault: "failurePolicy Ignore",
    finds: ["warn failure-policy"],
    plant: (stage) => edit(stage, (entry, index) => (index === 0 ? { ...entry, failurePolicy: "Ignore" } : entry)),
  },
  {
    fault: "a namespace with a label that AKS excludes",
    finds: ["fail guarded"],
    says: /control-plane NotIn has true/,
    async isTold({ core: { admin }, namespace }) {
      const path = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors/floor`;
      const { status } = await admin.get<PodProtector>(path);
      return holdingCondition(status?.conditions, "NotGuarded") !== undefined;
    },
    async plant(stage) {
      const path = `/api/v1/namespaces/${stage.namespace}`;
      const label = (value: string | null): Promise<unknown> =>
        stage.worker.admin.mergePatch(path, { metadata: { labels: { "control-plane": value } } });
      await label("true");
      const undo = await together(plantFloor(stage), addExpressions(stage, ...expressionsOfAks));
      return async () => {
        await undo();
        await label(null);
      };
    },
  },
  {
    fault: "a namespace in the list of those that are left out",
    finds: ["fail guarded"],
    says: /kubernetes\.io\/metadata\.name NotIn has /,
    plant: (stage) =>
      together(
        plantFloor(stage),
        addExpressions(stage, { key: "kubernetes.io/metadata.name", operator: "NotIn", values: [stage.namespace] }),
      ),
  },
  {
    fault: "rules that no longer ask about evictions",
    finds: ["fail webhook-configuration", "fail guarded"],
    says: /CREATE pods\/eviction/,
    plant: (stage) =>
      together(
        plantFloor(stage),
        edit(stage, (entry) => ({ ...entry, rules: entry.rules.slice(0, 1) })),
      ),
  },
  {
    fault: "a configuration of which a GitOps repository has the first entry alone",
    finds: ["warn guarded"],
    says: /scheduler\.podseidon\.kubewharf\.io .* is not there/,
    async plant(stage) {
      const { admin } = stage.worker;
      const { webhooks } = await admin.get<Configuration>(configurationPath);
      const undo = await plantFloor(stage);
      await admin.mergePatch(configurationPath, { webhooks: webhooks.slice(0, 1) });
      return async () => {
        await admin.mergePatch(configurationPath, { webhooks });
        await undo();
      };
    },
  },
  {
    fault: "policies of the core whose bindings somebody has deleted",
    finds: ["fail policy"],
    says: /podseidon-generator, podseidon-webhook not limited, .*: no binding that denies, everywhere/,
    plant: ({ core: { admin } }) => removeAll(admin, `${policies}bindings`),
  },
  {
    fault: "a policy of the worker that is gone with its binding",
    finds: ["fail policy"],
    says: /podseidon-aggregator not limited, .*: no policy: podseidon-fence/,
    plant: ({ worker: { admin } }) =>
      together(
        removeAll(admin, `${policies}bindings`, "podseidon-fence"),
        removeAll(admin, policies.replace(/y$/, "ies"), "podseidon-fence"),
      ),
  },
  {
    fault: "a clock that is far off",
    finds: ["warn clock"],
    plant: (stage) => plantLease(stage, "fast", {}, time(-600)),
  },
  {
    fault: "an undrainable workload, a dangling PodProtector and a held change",
    finds: ["warn undrainable", "warn dangling", "warn change-held"],
    plant: (stage) => plantStatus(stage, badConditions),
    plantAgain: (stage) => patchStatus(stage, badConditions),
  },
  {
    fault: "a ghost cell",
    finds: ["warn ghost-cell"],
    plant: (stage) => {
      const buckets = [{ startTime: time(0), podUID: "planted", podName: "planted" }];
      return plantStatus(stage, { cells: [{ cellID: "worker-l", admissionHistory: { buckets } }] });
    },
  },
  {
    fault: "a tombstone in force",
    finds: ["warn tombstone"],
    async plant({ core: { admin }, namespace }) {
      const collection = `/api/v1/namespaces/${namespace}/events`;
      const lost = {
        apiVersion: "podseidon.kubewharf.io/v1alpha1",
        kind: "PodProtector",
        namespace,
        name: "lost",
        uid: "x",
      };
      await admin.create(collection, {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "lost.1", namespace },
        involvedObject: lost,
        reason: "PodProtectorLost",
        message: "It is gone from the core without having been released",
        type: "Warning",
        source: { component: "podseidon-webhook" },
        lastTimestamp: new Date().toISOString(),
      });
      return () => admin.remove(`${collection}/lost.1`);
    },
  },
  {
    fault: "a CRD and a generator of different releases",
    finds: ["warn release"],
    async plant({ core: { admin } }) {
      const key = cellLeaseAnnotations.productVersion;
      const { metadata } = await admin.get(definitionPath);
      await admin.mergePatch(definitionPath, { metadata: { annotations: { [key]: "0.0.9" } } });
      return () =>
        admin.mergePatch(definitionPath, { metadata: { annotations: { [key]: metadata.annotations?.[key] } } });
    },
  },
];
