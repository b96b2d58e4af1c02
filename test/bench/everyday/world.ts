/** One run: a namespace with workloads, and what guards their pods. */
import { createBareServer } from "../reviews/bare-server.ts";
import { readFileSync } from "node:fs";
import { type KubeObject, type ObjectList } from "../../e2e/clusters/admin-client.ts";
import { type Cluster } from "../../e2e/clusters/cluster.ts";
import { type Fleet, startFleet, webhookTls } from "../../e2e/fleet/fleet.ts";
import { createNamespace } from "../../e2e/objects/pods.ts";
import { type CaseContext } from "../../e2e/runner/runner.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import {
  applyWebhookConfiguration,
  removeWebhookConfiguration,
  waitUntilInForce,
} from "../../e2e/objects/webhook-configuration.ts";
import { listenOnLoopback } from "../processes/child.ts";
import { Recorder } from "./recorder.ts";
import { budgetManifest, type WorkloadSpec, workloadManifest } from "./workloads.ts";

/**
 * What is between a deletion and a pod: nothing; a webhook that allows everything, which is what any webhook costs;
 * PodDisruptionBudgets with the same floors; Podseidon with its flags at their defaults.
 */
export type Guard = "nothing" | "allow-all" | "budgets" | "podseidon";

/** The cluster, which the accounts of test/e2e know by this name. */
export const clusterName = "system";

const startLimitMs = 120_000;
const inForceLimitMs = 60_000;
const endLimitMs = 120_000;

export class World {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly context: CaseContext;
  readonly recorder: Recorder;
  readonly #guard: Guard;
  #fleet: Fleet | undefined;
  #workloads: readonly WorkloadSpec[] = [];
  /** Reviews by the webhook that allows everything. */
  #allowed = 0;

  private constructor(context: CaseContext, cluster: Cluster, guard: Guard) {
    this.context = context;
    this.cluster = cluster;
    this.namespace = context.namespace;
    this.#guard = guard;
    this.recorder = new Recorder(cluster, context.namespace);
    context.cleanup(() => this.recorder.stop());
  }

  static async start(context: CaseContext, guard: Guard): Promise<World> {
    const cluster = await context.cluster(clusterName);
    // A fleet makes the namespace itself.
    const fleet = guard === "podseidon" ? await startFleet(context, fleetOptions) : undefined;
    if (fleet === undefined) await createNamespace(cluster.admin, context.namespace);
    const world = new World(context, cluster, guard);
    world.#fleet = fleet;
    return world;
  }

  pathOf({ kind, name }: Pick<WorkloadSpec, "kind" | "name">): string {
    return `${this.#collection(kind)}/${name}`;
  }

  /** Resolves when all pods are Ready and what guards them knows them. */
  async deploy(workloads: readonly WorkloadSpec[]): Promise<void> {
    const { admin } = this.cluster;
    this.#workloads = workloads;
    for (const workload of workloads) await admin.create(this.#collection(workload.kind), workloadManifest(workload));
    const count = workloads.reduce((sum, { replicas }) => sum + replicas, 0);
    await waitFor(`${count} pods serve`, startLimitMs, () => this.recorder.servingCount === count);
    switch (this.#guard) {
      case "nothing":
        return;
      case "allow-all":
        return this.#allowAll();
      case "budgets":
        return this.#budget();
      case "podseidon":
        return this.#protected();
    }
  }

  /** Reviews so far; 0 where nobody is asked. */
  async reviews(): Promise<number> {
    return this.#fleet === undefined ? this.#allowed : this.#fleet.webhookCount("webhook_request_count");
  }

  async #protected(): Promise<void> {
    const fleet = this.#fleet!;
    for (const { kind, name, replicas } of this.#workloads) {
      const protector = `${kind.replace(/s$/, "")}-${name}`;
      const floor = this.recorder.floorOf(name);
      await waitFor(`the floor of ${name} is ${floor}`, startLimitMs, async () => {
        return (await fleet.protector(protector)).spec.minAvailable === floor;
      });
      await fleet.waitCounted(protector, replicas);
    }
    await fleet.waitIntercepted();
  }

  async #budget(): Promise<void> {
    const { admin } = this.cluster;
    const path = `/apis/policy/v1/namespaces/${this.namespace}/poddisruptionbudgets`;
    for (const workload of this.#workloads) {
      const floor = this.recorder.floorOf(workload.name) ?? 0;
      await admin.create(path, budgetManifest(workload, floor));
      await waitFor(`the budget of ${workload.name} is counted`, inForceLimitMs, async () => {
        const { status } = await admin.get<KubeObject & BudgetStatus>(`${path}/${workload.name}`);
        return status?.disruptionsAllowed === workload.replicas - floor;
      });
    }
  }

  async #allowAll(): Promise<void> {
    const { admin } = this.cluster;
    const tls = await webhookTls(this.context.directory);
    const server = createBareServer({
      cert: readFileSync(tls.certFile, "utf8"),
      key: readFileSync(tls.keyFile, "utf8"),
    });
    server.on("request", () => this.#allowed++);
    const port = await listenOnLoopback(server);
    const { namespace } = this;
    const name = `allow-all-${namespace}`;
    this.context.cleanup(() => {
      server.close();
      server.closeAllConnections();
    });
    const url = `https://127.0.0.1:${port}/`;
    await applyWebhookConfiguration(admin, { name, url, caPem: tls.caPem, namespace });
    this.context.cleanup(() => removeWebhookConfiguration(admin, name));
    await waitUntilInForce(admin, name, namespace, this.recorder.pods()[0]?.metadata.name ?? "");
  }

  #collection(kind: WorkloadSpec["kind"]): string {
    return `/apis/apps/v1/namespaces/${this.namespace}/${kind}`;
  }
}

interface BudgetStatus {
  readonly status?: { readonly disruptionsAllowed?: number };
}

const fleetOptions = {
  core: clusterName,
  workers: [clusterName],
  webhookReplicas: 1,
  generatorArgs: ["--generator-sources=deployments.apps,statefulsets.apps"],
};

/**
 * Removes what a run has left, when nothing of it runs any more: finalizers of Podseidon would keep it, and the next
 * run would work on it. The fake kubelet must still run.
 */
export async function clear(cluster: Cluster, namespace: string): Promise<void> {
  const { admin } = cluster;
  const collections = [
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    `/apis/apps/v1/namespaces/${namespace}/statefulsets`,
    `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
    `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`,
  ];
  for (const path of collections) {
    const { items } = await admin.get<ObjectList<KubeObject>>(path);
    for (const { metadata } of items) {
      const object = `${path}/${metadata.name}`;
      await admin.mergePatch(object, { metadata: { finalizers: null } });
      await admin.remove(object, { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" });
    }
  }
  await waitFor(`the pods of ${namespace} are gone`, endLimitMs, async () => {
    return (await admin.get<ObjectList<KubeObject>>(`/api/v1/namespaces/${namespace}/pods`)).items.length === 0;
  });
}
