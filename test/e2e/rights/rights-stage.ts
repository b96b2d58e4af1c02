/** Objects of each kind that Podseidon's accounts write: protector-writes.ts and other-writes.ts try theirs on them. */
import path from "node:path";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../src/api/cell-lease.ts";
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type PodProtectorStatus } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { manifestsFolder } from "../../manifests/manifest-files.ts";
import { applyCrd } from "../objects/crd.ts";
import { crdFile } from "../fleet/fleet.ts";
import { kubectlOrFail } from "../overlay.ts";
import { createNamespace, podPath, setPodReady } from "../objects/pods.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";
import { type CaseContext } from "../runner/runner.ts";

const api = "/apis/podseidon.kubewharf.io/v1alpha1";
const dummyNamespace = "podseidon-update-trigger";

export interface Stage {
  readonly namespace: string;
  readonly protectorsPath: string;
  readonly protectorPath: (name: string) => string;
  readonly deploymentPath: (name: string) => string;
  readonly leasesPath: string;
  readonly leasePath: (name: string) => string;
  readonly podsPath: string;
  readonly podPath: (name: string) => string;
  readonly dummyPath: string;
  /** The status that "web" gets before each write. */
  readonly status: PodProtectorStatus;
}

/**
 * - PodProtectors: "web" with a status, "hand" that people made, "follows" whose floor follows workloads, "generated".
 * - The Deployment "web" with a finalizer of somebody else, and the pod "web" with an annotation of somebody else.
 * - Leases of worker-1 and worker-2 with what people and the generator write on them, and one that is foreign.
 * - The dummy pod.
 * - The objects of built-in issuing, empty, with the rights to them.
 */
export async function setStage(context: CaseContext, cluster: Cluster): Promise<Stage> {
  const { namespace } = context;
  const { admin } = cluster;
  await applyCrd(admin, crdFile);
  await createNamespace(admin, namespace);
  const stage: Stage = {
    namespace,
    protectorsPath: `${api}/namespaces/${namespace}/podprotectors`,
    protectorPath: (name) => `${api}/namespaces/${namespace}/podprotectors/${name}`,
    deploymentPath: (name) => `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
    leasesPath: `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases`,
    leasePath: (name) => `/apis/coordination.k8s.io/v1/namespaces/${systemNamespace}/leases/${name}`,
    podsPath: `/api/v1/namespaces/${namespace}/pods`,
    podPath: (name) => podPath(namespace, name),
    dummyPath: podPath(dummyNamespace, "podseidon-update-trigger"),
    status: {
      cells: ["worker-1", "worker-2"].map((cell) => cellWith(cell)),
      summary,
      conditions: [ended("AtFloor"), ended("Dangling")],
    },
  };
  await createProtectors(cluster, stage);
  await createWorkload(cluster, stage);
  await createLeases(context, cluster, stage);
  await createCertificates(context, cluster);
  context.cleanup(() => admin.remove(stage.dummyPath, { gracePeriodSeconds: 0 }));
  return stage;
}

/** In the form in which Podseidon writes times. */
export const time = "2026-01-31T14:00:00.000000Z";
const summary = { totalReplicas: 10, aggregatedAvailableReplicas: 10, estimatedAvailableReplicas: 8 };

/** A cell with five pods and so many admissions. */
export function cellWith(cellID: string, admissions = 1): PodProtectorStatus["cells"][number] {
  const aggregation = { totalReplicas: 5, availableReplicas: 5, countedAt: time, resourceVersion: "5" };
  const buckets = Array.from({ length: admissions }, (_, index) => ({
    startTime: time,
    podUID: `00000000-0000-0000-${cellID}-${index}`,
    podResourceVersion: "7",
  }));
  // Decoding would brand these texts.
  return { cellID, aggregation, admissionHistory: { buckets } } as unknown as PodProtectorStatus["cells"][number];
}

function ended(type: string): NonNullable<PodProtectorStatus["conditions"]>[number] {
  return { type, status: "False", reason: "Test", message: "", lastTransitionTime: "2026-01-31T14:00:00Z" };
}

async function createProtectors({ admin }: Cluster, stage: Stage): Promise<void> {
  const spec = { minAvailable: 4, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } };
  const asked = { [annotations.removeCellOnce]: "gone" };
  const objects = [
    { metadata: { name: "web" }, spec },
    { metadata: { name: "hand", annotations: asked }, spec },
    { metadata: { name: "follows" }, spec: { ...spec, maxUnavailable: 1 } },
    { metadata: { name: "generated", finalizers: [finalizer] }, spec },
  ];
  for (const object of objects)
    await admin.create(stage.protectorsPath, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      ...object,
    });
  await admin.mergePatch(`${stage.protectorPath("web")}/status`, { status: stage.status });
}

async function createWorkload({ admin }: Cluster, { namespace, deploymentPath, dummyPath }: Stage): Promise<void> {
  const labels = { app: "web" };
  await admin.create(deploymentPath("web").slice(0, -"/web".length), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", finalizers: ["e2e.example.com/theirs"], annotations: { theirs: "1" } },
    spec: {
      replicas: 2,
      paused: true,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  await admin.create(`/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", labels, annotations: { theirs: "1" } },
    spec: { nodeName: "node-0", containers: [{ name: "main", image: "none" }] },
  });
  await setPodReady(admin, { namespace, name: "web" });
  // A case of the manifests may have left one.
  await admin.remove(dummyPath, { gracePeriodSeconds: 0 });
  await admin.create(`/api/v1/namespaces/${dummyNamespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "podseidon-update-trigger", annotations: { theirs: "1" } },
    spec: { schedulerName: "do-not-schedule", containers: [{ name: "main", image: ":" }] },
  });
}

async function createLeases(context: CaseContext, { admin }: Cluster, { leasesPath, leasePath }: Stage): Promise<void> {
  const said = {
    [cellLeaseAnnotations.keepUntil]: "2026-01-31T14:00:00Z",
    [cellLeaseAnnotations.forget]: "true",
    [cellLeaseAnnotations.silentSince]: time,
  };
  const leases = [
    ...["worker-1", "worker-2"].map((cell) => ({
      name: cellLeaseName(cell),
      labels: { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cell },
      annotations: said,
    })),
    { name: "foreign" },
  ];
  for (const metadata of leases) {
    await admin.create(leasesPath, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata,
      spec: { holderIdentity: "holder" },
    });
    context.cleanup(() => admin.remove(leasePath(metadata.name)));
  }
}

async function createCertificates(context: CaseContext, cluster: Cluster): Promise<void> {
  const folder = path.join(manifestsFolder, "base/certificates/core");
  await kubectlOrFail(context, cluster, "apply", "-k", folder);
  context.cleanup(() => kubectlOrFail(context, cluster, "delete", "-k", folder));
}
