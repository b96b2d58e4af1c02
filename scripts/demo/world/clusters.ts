/**
 * The clusters of one run on loopback: three workers whose Deployments keep the services running, and, on demand, the
 * core.
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import {
  type ApiServer,
  type CallWebhook,
  type Controllers,
  type JsonObject,
  type KubeObject,
  builtInResources as types,
  startApiServer,
  startControllers,
} from "../../../test/double/index.ts";
import {
  type CellName,
  type ServicePlan,
  cellNames,
  maxUnavailablePercent,
  namespace,
  nodeNames,
  replicasOf,
} from "../scenario.ts";
import { serviceLabel } from "./pod-census.ts";

export interface Cell {
  readonly name: CellName;
  readonly server: ApiServer;
}

export interface Clusters {
  readonly cells: readonly Cell[];
  close(): Promise<void>;
}

export interface WorkerOptions {
  /** Deployments that each worker has from the beginning. */
  readonly plans: readonly ServicePlan[];
  readonly callWebhook: CallWebhook;
  /** What a container takes to start. Every pod takes a little longer, so that they do not all move at once. */
  readonly readyDelayMs: number;
  /** False = pods that lost their owners stay. */
  readonly garbageCollector: boolean;
}

// A container stops within about a second.
const terminationMs = 700;
const spreadMs = 600;
// The real controllers back off up to 1 000 s; the demo has a minute.
const backoffMaxMs = 1000;

/** Of an installation by the manifests. */
export const podseidonNamespaces = { system: "podseidon-system", dummyPod: "podseidon-update-trigger" } as const;

const crdFile = new URL("../../../manifests/base/crd/podprotectors.yaml", import.meta.url);

/** A number from 0 to below 1 that is the same for the same pod. */
function spreadOf(pod: KubeObject): number {
  return (Number.parseInt(pod.metadata.uid.slice(0, 4), 16) || 0) / 0x10000;
}

/** The Deployment of a service with `replicas` pods. Strategy and limits are Kubernetes' defaults, written out. */
function deploymentOf(plan: ServicePlan, replicas: number, image: string): JsonObject {
  const labels = { [serviceLabel]: plan.name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: plan.name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxUnavailable: `${maxUnavailablePercent}%`, maxSurge: "25%" },
      },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: `${plan.name}:${image}` }] } },
    },
  };
}

async function createNamespaces(server: ApiServer): Promise<void> {
  for (const name of [namespace, ...Object.values(podseidonNamespaces)]) {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await server.engine.create(types.namespaces, undefined, body);
  }
}

/**
 * Starts the core with Podseidon's CRD as it is shipped, and the Deployments that the generator reads. Nothing runs
 * there.
 */
export async function startCore(plans: readonly ServicePlan[]): Promise<ApiServer> {
  const server = await startApiServer({ crds: [load(readFileSync(crdFile, "utf8"))] });
  await createNamespaces(server);
  for (const plan of plans) {
    await server.engine.create(types.deployments, namespace, deploymentOf(plan, replicasOf(plan), "v1"));
  }
  return server;
}

/** Starts the workers and their controllers, which begin to create the pods. */
export async function startWorkers(options: WorkerOptions): Promise<Clusters> {
  const { plans, callWebhook, readyDelayMs, garbageCollector } = options;
  const cells: Cell[] = [];
  const controllers: Controllers[] = [];
  for (const name of cellNames) {
    const server = await startApiServer({ crds: [], callWebhook });
    cells.push({ name, server });
    await createNamespaces(server);
    controllers.push(
      await startControllers(server.engine, {
        nodes: nodeNames,
        readyDelayMs: (pod) => readyDelayMs + spreadMs * spreadOf(pod),
        terminationMs: (pod) => terminationMs + spreadMs * spreadOf(pod),
        backoffMaxMs,
        garbageCollector,
      }),
    );
    for (const plan of plans) {
      await server.engine.create(types.deployments, namespace, deploymentOf(plan, plan.shares[name], "v1"));
    }
  }
  return {
    cells,
    async close() {
      for (const one of controllers) one.stop();
      await Promise.all(cells.map(({ server }) => server.close()));
    },
  };
}

// As in manifests/base/admission. The rest of its list is about add-ons that these clusters do not have.
const unguardedNamespaces = ["kube-system", podseidonNamespaces.system];

/** Makes the cell's API server ask Podseidon before each deletion and eviction of a pod. Also for `make soak`. */
export async function installWebhook(
  { name, server }: { readonly name: string; readonly server: Pick<ApiServer, "engine"> },
  webhookUrl: string,
): Promise<void> {
  const rule = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };
  await server.engine.create(types.validatingWebhookConfigurations, undefined, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "podseidon" },
    webhooks: [
      {
        name: "podseidon.kubewharf.io",
        clientConfig: { url: `${webhookUrl}/${name}` },
        rules: [
          { ...rule, operations: ["DELETE"], resources: ["pods"] },
          { ...rule, operations: ["CREATE"], resources: ["pods/eviction"] },
        ],
        namespaceSelector: {
          matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: unguardedNamespaces }],
        },
        failurePolicy: "Fail",
        sideEffects: "NoneOnDryRun",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 10,
      },
    ],
  });
}
