/**
 * Podseidon on real API servers, as cases use it: a core and two workers, one process for each role and cell, webhook replicas behind a
 * balancer, one namespace, one ValidatingWebhookConfiguration in each worker.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type PodProtector } from "../../src/api/v1alpha1/pod-protector.ts";
import { issueServerCertificate } from "../../scripts/webhook-tls.ts";
import { type Cluster } from "./cluster.ts";
import { applyCrd } from "./crd.ts";
import { type LaggingProxy, startLaggingProxy } from "./lagging-proxy.ts";
import { createNamespace } from "./pods.ts";
import { type PodseidonProcess, startPodseidon } from "./process.ts";
import { type CaseContext } from "./runner.ts";
import { waitFor } from "./wait.ts";
import { applyWebhookConfiguration, removeWebhookConfiguration } from "./webhook-configuration.ts";

export const crdFile = fileURLToPath(new URL("../../manifests/base/crd/podprotectors.yaml", import.meta.url));
const workerNames = ["worker-1", "worker-2"] as const;

export interface FleetOptions {
  /** Default 2. */
  readonly webhookReplicas?: number;
  /** Put a proxy between the aggregators and their workers; switch its delay later. */
  readonly laggingAggregators?: boolean;
  /** Default true. */
  readonly generator?: boolean;
  readonly aggregatorArgs?: readonly string[];
  /** The user of the workers that aggregators run as; default admin. */
  readonly workerUser?: string;
  /** Default: the CRD of the manifests. */
  readonly crd?: string;
}

export interface Worker {
  readonly cell: string;
  readonly cluster: Cluster;
  readonly proxy: LaggingProxy | undefined;
}

export class Fleet {
  readonly core: Cluster;
  readonly workers: readonly Worker[];
  readonly namespace: string;
  webhooks: PodseidonProcess[] = [];
  aggregators: PodseidonProcess[] = [];
  generator: PodseidonProcess | undefined;
  balancer: LaggingProxy | undefined;

  constructor(core: Cluster, workers: readonly Worker[], namespace: string) {
    this.core = core;
    this.workers = workers;
    this.namespace = namespace;
  }

  protectorPath(name: string): string {
    return `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${this.namespace}/podprotectors/${name}`;
  }

  protector(name: string): Promise<PodProtector> {
    return this.core.admin.get<PodProtector>(this.protectorPath(name));
  }

  /** Creates a PodProtector for `labels` and resolves when both cells are counted with `expected` available pods in all. */
  async protect(
    name: string,
    labels: Readonly<Record<string, string>>,
    minAvailable: number,
    expected: number,
  ): Promise<void> {
    const directory = path.posix.dirname(this.protectorPath(name));
    await this.core.admin.create(directory, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name, namespace: this.namespace },
      spec: { minAvailable, minReadySeconds: 0, selector: { matchLabels: labels } },
    });
    await this.waitCounted(name, expected);
  }

  async waitCounted(name: string, expected: number, limitMs = 60_000): Promise<void> {
    await waitFor(`${name} counts ${expected} available pods`, limitMs, async () => {
      const { status } = await this.protector(name);
      return status?.summary.aggregatedAvailableReplicas === expected;
    });
  }

  /** Resolves when no admission is unsettled. */
  async waitSettled(name: string, limitMs: number): Promise<void> {
    await waitFor(`all admissions of ${name} are settled`, limitMs, async () => {
      const { status } = await this.protector(name);
      return status?.cells.every((cell) => (cell.admissionHistory?.buckets ?? []).length === 0);
    });
  }

  /** Sum of a counter over the webhook replicas; a killed replica's count is lost with it. */
  async webhookCount(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const texts = await Promise.all(this.webhooks.map((webhook) => webhook.metrics()));
    return texts.reduce((sum, text) => sum + (text.value(name, labels) ?? 0), 0);
  }

  /** Points the workers at the webhook and resolves when each refuses or admits through it. */
  async intercept(context: CaseContext, caPem: string): Promise<void> {
    const balancer = await startLaggingProxy(this.webhooks.map(({ ports }) => ports.webhook));
    this.balancer = balancer;
    context.cleanup(() => balancer.close());
    for (const { cell, cluster } of this.workers) {
      const name = `${this.namespace}-${cell}`;
      const url = `https://127.0.0.1:${balancer.port}/${cell}`;
      await applyWebhookConfiguration(cluster.admin, { name, url, caPem, namespace: this.namespace });
      context.cleanup(() => removeWebhookConfiguration(cluster.admin, name));
    }
  }
}

/** Starts everything and resolves when all processes are ready and the workers call the webhook. */
export async function startFleet(context: CaseContext, options: FleetOptions = {}): Promise<Fleet> {
  const { namespace, directory, processes } = context;
  const core = await context.cluster("core");
  const workers: Worker[] = [];
  for (const cell of workerNames) {
    const cluster = await context.cluster(cell);
    const proxy = options.laggingAggregators === true ? await startLaggingProxy([cluster.port]) : undefined;
    if (proxy !== undefined) context.cleanup(() => proxy.close());
    workers.push({ cell, cluster, proxy });
  }
  await applyCrd(core.admin, options.crd ?? crdFile);
  for (const { admin } of [core, ...workers.map(({ cluster }) => cluster)]) await createNamespace(admin, namespace);
  const fleet = new Fleet(core, workers, namespace);
  const tls = await webhookTls(directory);

  const start = (name: string, role: string, args: readonly string[]): Promise<PodseidonProcess> =>
    startPodseidon({
      processes,
      directory,
      name,
      role,
      args: [`--core-kube-config=${core.kubeconfigPath("admin")}`, ...args],
      ...(role === "webhook" ? { tls } : {}),
    });
  const configs = workers.map(({ cell, cluster }) => `${cell}=${cluster.kubeconfigPath("admin")}`).join(",");
  const webhooks = Array.from({ length: options.webhookReplicas ?? 2 }, (_, index) =>
    start(`webhook-${index + 1}`, "webhook", [
      "--webhook-worker-client-provider=map",
      `--webhook-worker-client-provider.map-configs=${configs}`,
    ]),
  );
  const aggregators = workers.map((worker) =>
    start(`aggregator-${worker.cell}`, "aggregator", aggregatorArgs(worker, options, namespace)),
  );
  const generator =
    options.generator === false
      ? undefined
      : start("generator", "generator", [
          "--generator-leader-elector-namespace=default",
          `--generator-leader-elector-name=generator-${namespace}`,
        ]);
  fleet.webhooks = await Promise.all(webhooks);
  fleet.aggregators = await Promise.all(aggregators);
  fleet.generator = await generator;
  await fleet.intercept(context, tls.caPem);
  return fleet;
}

function aggregatorArgs(worker: Worker, options: FleetOptions, namespace: string): readonly string[] {
  const { cell, cluster, proxy } = worker;
  const user = options.workerUser ?? "admin";
  const url = proxy === undefined ? cluster.url : `https://127.0.0.1:${proxy.port}`;
  return [
    `--worker-kube-config=${cluster.kubeconfigPath(user, url)}`,
    `--aggregator-cell-id=${cell}`,
    `--aggregator-leader-elector-name=aggregator-${namespace}`,
    "--update-trigger-enable",
    "--update-trigger-dummy-pod-namespace=default",
    ...(options.aggregatorArgs ?? []),
  ];
}

/** A certificate for loopback, in files. */
export async function webhookTls(directory: string): Promise<{ certFile: string; keyFile: string; caPem: string }> {
  const issued = await issueServerCertificate({
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    days: 1,
    now: new Date(),
  });
  mkdirSync(directory, { recursive: true });
  const certFile = path.join(directory, "tls.crt");
  const keyFile = path.join(directory, "tls.key");
  writeFileSync(certFile, issued.certificate);
  writeFileSync(keyFile, issued.privateKey, { mode: 0o600 });
  return { certFile, keyFile, caPem: issued.caCertificate };
}
