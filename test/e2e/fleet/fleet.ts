/**
 * Podseidon on real API servers, as cases use it: a core and two workers, one process for each role and cell, webhook
 * replicas behind a balancer, one namespace, one ValidatingWebhookConfiguration in each worker.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { issueServerCertificate } from "../../../src/certificates/index.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { applyCrd } from "../objects/crd.ts";
import { type LaggingProxy, startLaggingProxy } from "./lagging-proxy.ts";
import { createNamespace, listPods, podPath } from "../objects/pods.ts";
import { type PodseidonProcess, type Program, startPodseidon } from "./process.ts";
import { accountUser, grantIn } from "../clusters/role-accounts.ts";
import { type CaseContext } from "../runner/runner.ts";
import { waitFor } from "../clusters/wait.ts";
import { applyWebhookConfiguration, removeWebhookConfiguration } from "../objects/webhook-configuration.ts";

const silenceMetric = "kube_informer_watch_silence_seconds";
export const crdFile = fileURLToPath(new URL("../../../manifests/base/crd/podprotectors.yaml", import.meta.url));
const workerNames: readonly string[] = ["worker-1", "worker-2"];

/** API servers learn of a configuration through a watch, usually within a second. */
const interceptLimitMs = 30_000;

export type Role = "webhook" | "aggregator" | "generator";

export interface ProtectOptions {
  readonly core?: Cluster;
  readonly minReadySeconds?: number;
}

export interface FleetOptions {
  /** Default "core". */
  readonly core?: string;
  /** Clusters that are cores besides it, each with a generator of its own; a core is named like its cluster. */
  readonly furtherCores?: readonly string[];
  /**
   * Clusters that run pods, one cell each, named like them; the core's name makes it a worker as well. Default: the two
   * workers.
   */
  readonly workers?: readonly string[];
  /** Default 2. */
  readonly webhookReplicas?: number;
  /** Put a proxy between the last webhook replica and the core; switch its delay later. */
  readonly laggingWebhook?: boolean;
  /** One process runs all four roles, as admin: no account has the rights of all. Needs a single worker. */
  readonly allInOne?: boolean;
  /** Put a proxy between the aggregators and their workers; switch its delay later. */
  readonly laggingAggregators?: boolean;
  /** Default true. */
  readonly generator?: boolean;
  readonly aggregatorArgs?: readonly string[];
  readonly webhookArgs?: readonly string[];
  readonly generatorArgs?: readonly string[];
  /** Of every role. */
  readonly commonArgs?: readonly string[];
  /** The user of the workers that aggregators run as; default their account. */
  readonly workerUser?: string;
  /** The kubeconfig that a role has for a cluster, instead of its account's; where no proxy is asked for. */
  readonly kubeconfig?: (cluster: Cluster, role: Role) => string;
  /** Default: the CRD of the manifests. */
  readonly crd?: string;
  /** What runs each role that has a process of its own. Default: the program under test. */
  readonly program?: Program;
  /** Namespaces whose deletions are judged besides the case's own: "default" has the dummy pod. */
  readonly furtherNamespaces?: readonly string[];
  /** The dummy pod is in the namespace of the case; default: in "default". */
  readonly dummyPodInside?: boolean;
}

export interface Worker {
  readonly cell: string;
  readonly cluster: Cluster;
  readonly proxy: LaggingProxy | undefined;
}

export class Fleet {
  readonly core: Cluster;
  /** The core first. */
  readonly cores: readonly Cluster[];
  readonly workers: readonly Worker[];
  readonly namespace: string;
  webhooks: PodseidonProcess[] = [];
  aggregators: PodseidonProcess[] = [];
  /** Of the core. */
  generator: PodseidonProcess | undefined;
  balancer: LaggingProxy | undefined;
  /** The authority of the webhook's certificate. */
  caPem = "";
  /** Between the last webhook replica and the core, where asked for. */
  coreProxy: LaggingProxy | undefined;

  constructor(cores: readonly [Cluster, ...Cluster[]], workers: readonly Worker[], namespace: string) {
    this.core = cores[0];
    this.cores = cores;
    this.workers = workers;
    this.namespace = namespace;
  }

  protectorPath(name: string): string {
    return `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${this.namespace}/podprotectors/${name}`;
  }

  /** `core`: one of the further cores. */
  protector(name: string, core = this.core): Promise<PodProtector> {
    return core.admin.get<PodProtector>(this.protectorPath(name));
  }

  /**
   * Creates a PodProtector for `labels` and resolves when both cells are counted with `expected` available pods in all.
   */
  async protect(
    name: string,
    labels: Readonly<Record<string, string>>,
    minAvailable: number,
    expected: number,
    { core = this.core, minReadySeconds = 0 }: ProtectOptions = {},
  ): Promise<void> {
    const directory = path.posix.dirname(this.protectorPath(name));
    await core.admin.create(directory, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name, namespace: this.namespace },
      spec: { minAvailable, minReadySeconds, selector: { matchLabels: labels } },
    });
    await this.waitCounted(name, expected, 60_000, core);
  }

  async waitCounted(name: string, expected: number, limitMs = 60_000, core = this.core): Promise<void> {
    await waitFor(`${name} counts ${expected} available pods in ${core.name}`, limitMs, async () => {
      const { status } = await this.protector(name, core);
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

  /** Resolves when a dry-run deletion of a pod in each worker has passed through the webhook; there must be one. */
  async waitIntercepted(): Promise<void> {
    for (const { cell, cluster } of this.workers) {
      await waitFor(`${cell} calls the webhook`, interceptLimitMs, async () => {
        const [pod] = await listPods(cluster.admin, this.namespace);
        const path = podPath(this.namespace, pod?.metadata.name ?? "");
        await cluster.admin.request("DELETE", path, { query: { dryRun: "All" } });
        return (await this.webhookCount("webhook_request_count", { cell })) > 0;
      });
    }
  }

  /**
   * Resolves when the core's watch of PodProtectors has brought something to every webhook replica, or `observers`,
   * within the last `elapsedMs()`.
   */
  async waitHeard(elapsedMs: () => number, limitMs: number, observers = this.webhooks): Promise<void> {
    await waitFor("all have news of the PodProtectors", limitMs, async () => {
      const texts = await Promise.all(observers.map((observer) => observer.metrics()));
      const silences = texts.map((text) => text.value(silenceMetric, { informer: "podprotectors" }) ?? Infinity);
      return silences.every((seconds) => seconds * 1000 < elapsedMs());
    });
  }

  /**
   * Resolves when every webhook replica, or `observers`, has seen all writes of before, and that the core takes some:
   * none admits on the last known quota before that.
   */
  async waitWriteSeen(protector: string, observers = this.webhooks): Promise<void> {
    // The watch may be faster than the answer.
    const sentMs = performance.now();
    await this.core.admin.mergePatch(this.protectorPath(protector), {
      metadata: { annotations: { "e2e/write": "1" } },
    });
    await this.waitHeard(() => performance.now() - sentMs, 30_000, observers);
  }

  /** Sum of a counter over the webhook replicas; a killed replica's count is lost with it. */
  async webhookCount(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const texts = await Promise.all(this.webhooks.map((webhook) => webhook.metrics()));
    return texts.reduce((sum, text) => sum + (text.value(name, labels) ?? 0), 0);
  }

  /** Points the workers at the webhook; see `waitIntercepted`. */
  async intercept(
    context: CaseContext,
    caPem: string,
    { furtherNamespaces = [] }: Pick<FleetOptions, "furtherNamespaces"> = {},
  ): Promise<void> {
    const balancer = await startLaggingProxy(this.webhooks.map(({ ports }) => ports.webhook));
    this.balancer = balancer;
    this.caPem = caPem;
    context.cleanup(() => balancer.close());
    for (const { cell, cluster } of this.workers) {
      const name = `${this.namespace}-${cell}`;
      const url = `https://127.0.0.1:${balancer.port}/${cell}`;
      const to = { name, url, caPem, namespace: this.namespace, furtherNamespaces };
      await applyWebhookConfiguration(cluster.admin, to);
      context.cleanup(() => removeWebhookConfiguration(cluster.admin, name));
    }
  }
}

/** Starts everything and resolves when all processes are ready. */
export async function startFleet(context: CaseContext, options: FleetOptions = {}): Promise<Fleet> {
  const { namespace, directory } = context;
  const core = await context.cluster(options.core ?? "core");
  const cores: [Cluster, ...Cluster[]] = [core];
  for (const further of options.furtherCores ?? []) cores.push(await context.cluster(further));
  const workers: Worker[] = [];
  for (const cell of options.workers ?? workerNames) {
    const cluster = await context.cluster(cell);
    const proxy = options.laggingAggregators === true ? await startProxy(context, cluster) : undefined;
    workers.push({ cell, cluster, proxy });
  }
  for (const { admin } of cores) await applyCrd(admin, options.crd ?? crdFile);
  const clusters = new Set([...cores, ...workers.map(({ cluster }) => cluster)]);
  for (const { admin } of clusters) {
    await createNamespace(admin, namespace);
    await grantIn(admin, namespace, dummyNamespaceOf(options, namespace));
  }
  const fleet = new Fleet(cores, workers, namespace);
  if (options.laggingWebhook === true) fleet.coreProxy = await startProxy(context, core);
  const tls = await webhookTls(directory);
  if (options.allInOne === true) await startAllInOne(context, fleet, options, tls);
  else await startEachAlone(context, fleet, options, tls);
  await fleet.intercept(context, tls.caPem, options);
  return fleet;
}

type Tls = Awaited<ReturnType<typeof webhookTls>>;

async function startEachAlone(context: CaseContext, fleet: Fleet, options: FleetOptions, tls: Tls): Promise<void> {
  const { core, workers, namespace, coreProxy } = fleet;
  const started = {
    processes: context.processes,
    directory: context.directory,
    ...(options.program && { program: options.program }),
  };
  const replicas = options.webhookReplicas ?? 2;
  const webhooks = Array.from({ length: replicas }, (_, index) => {
    const proxied = coreProxy !== undefined && index === replicas - 1;
    const common = commonArgs(fleet, options, "webhook");
    // The last one of a flag wins.
    const args = proxied
      ? [...common, `--core-kube-config=${core.kubeconfigPath(accountUser("podseidon-webhook"), proxyUrl(coreProxy))}`]
      : common;
    const name = `webhook-${index + 1}`;
    return startPodseidon({
      ...started,
      name,
      role: "webhook",
      args: [...args, ...webhookArgs(workers, options)],
      tls,
    });
  });
  const aggregators = workers.map((worker) => {
    const name = `aggregator-${worker.cell}`;
    const args = [
      ...commonArgs(fleet, options, "aggregator", worker.cell),
      ...aggregatorArgs(worker, options, namespace),
    ];
    return startPodseidon({ ...started, name, role: "aggregator", args });
  });
  const generators = (options.generator === false ? [] : fleet.cores).map((core) => {
    const name = core === fleet.core ? "generator" : `generator-${core.name}`;
    const own = fleet.cores.length === 1 ? [] : [`--generator-core=${core.name}`];
    const args = [...commonArgs(fleet, options, "generator"), ...own, ...generatorArgs(namespace, options)];
    return startPodseidon({ ...started, name, role: "generator", args });
  });
  // Awaited together: whichever of them fails, and however many, the case hears of it and nothing else does.
  const [startedWebhooks, startedAggregators, [generator]] = await Promise.all([
    Promise.all(webhooks),
    Promise.all(aggregators),
    Promise.all(generators),
  ]);
  fleet.webhooks = startedWebhooks;
  fleet.aggregators = startedAggregators;
  fleet.generator = generator;
}

async function startAllInOne(context: CaseContext, fleet: Fleet, options: FleetOptions, tls: Tls): Promise<void> {
  const { workers, namespace } = fleet;
  const [worker] = workers;
  if (worker === undefined || workers.length > 1) throw new Error("one process has one aggregator, so one worker");
  const one = await startPodseidon({
    processes: context.processes,
    directory: context.directory,
    name: "podseidon",
    role: "webhook,aggregator,generator,update-trigger",
    args: [
      ...commonArgs(fleet, options, "aggregator"),
      ...webhookArgs(workers, options),
      ...aggregatorArgs(worker, options, namespace),
      ...generatorArgs(namespace, options),
    ],
    tls,
  });
  fleet.webhooks = [one];
  fleet.aggregators = [one];
  fleet.generator = one;
}

async function startProxy(context: CaseContext, cluster: Cluster): Promise<LaggingProxy> {
  const proxy = await startLaggingProxy([cluster.port]);
  context.cleanup(() => proxy.close());
  return proxy;
}

export function proxyUrl({ port }: LaggingProxy): string {
  return `https://127.0.0.1:${port}`;
}

/** `cell`: of an aggregator's account in a core. */
function kubeconfigOf(cluster: Cluster, options: FleetOptions, role: Role, cell?: string): string {
  const { kubeconfig, allInOne = false } = options;
  const user = allInOne ? "admin" : accountUser(`podseidon-${role}`, cell);
  return kubeconfig?.(cluster, role) ?? cluster.kubeconfigPath(user);
}

function commonArgs({ cores, namespace }: Fleet, options: FleetOptions, role: Role, cell?: string): readonly string[] {
  const named = cores.map((core) => `${core.name}=${kubeconfigOf(core, options, role, cell)}`);
  const provider = "--podprotector-source-provider";
  return [
    ...(cores.length > 1
      ? [`${provider}=map`, `${provider}.map-configs=${named.join(",")}`]
      : cores.map((core) => `--core-kube-config=${kubeconfigOf(core, options, role, cell)}`)),
    // The cells of the case before are of no concern here.
    `--cell-lease-namespace=${namespace}`,
    ...(options.commonArgs ?? []),
  ];
}

function webhookArgs(workers: readonly Worker[], options: FleetOptions): readonly string[] {
  const configs = workers.map(({ cell, cluster }) => `${cell}=${kubeconfigOf(cluster, options, "webhook")}`).join(",");
  return [
    "--webhook-worker-client-provider=map",
    `--webhook-worker-client-provider.map-configs=${configs}`,
    ...(options.webhookArgs ?? []),
  ];
}

function generatorArgs(namespace: string, options: FleetOptions): readonly string[] {
  return [
    `--generator-leader-elector-namespace=${namespace}`,
    `--generator-leader-elector-name=${generatorLease}`,
    ...(options.generatorArgs ?? []),
  ];
}

function aggregatorArgs(worker: Worker, options: FleetOptions, namespace: string): readonly string[] {
  const { cell, cluster, proxy } = worker;
  const user = options.workerUser ?? (options.allInOne === true ? "admin" : accountUser("podseidon-aggregator"));
  const url = proxy === undefined ? cluster.url : proxyUrl(proxy);
  return [
    `--worker-kube-config=${options.kubeconfig?.(cluster, "aggregator") ?? cluster.kubeconfigPath(user, url)}`,
    `--aggregator-cell-id=${cell}`,
    `--aggregator-leader-elector-namespace=${namespace}`,
    `--aggregator-leader-elector-name=${aggregatorLease}`,
    `--update-trigger-dummy-pod-namespace=${dummyNamespaceOf(options, namespace)}`,
    ...(options.aggregatorArgs ?? []),
  ];
}

function dummyNamespaceOf({ dummyPodInside = false }: FleetOptions, namespace: string): string {
  return dummyPodInside ? namespace : "default";
}

/**
 * Leases of the elections, as the manifests name them. They are in the namespace of the case, so that none waits for
 * the Lease of a process that was killed.
 */
export const aggregatorLease = "podseidon-aggregator";
export const generatorLease = "podseidon-generator";

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
