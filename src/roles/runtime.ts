/**
 * What the roles of a process share: settings, clock, random numbers, logs, metrics, health checks, and one client per
 * cluster.
 */
import { type HistoryLimits } from "../accounting/history/record.ts";
import { type AggregatorSettings } from "../aggregator/index.ts";
import { onlyCore } from "../config/clusters.ts";
import { type ClusterConfig, type Config } from "../config/index.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createKubeClient, type KubeClientDeps } from "../kube/transport/index.ts";
import { type ServerComponent, type ServerOptions } from "../server/index.ts";
import { type Component, type Health } from "../lifecycle/component.ts";
import { assert } from "../util/assert.ts";
import { type CertificateUses, type EndingCertificate } from "../util/certificate-use.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics, withLabels } from "../util/metrics.ts";
import { type Rng } from "../util/rng.ts";

export interface Clients {
  /** The client of a core that is configured. Rejects with a StartError. */
  core(name: string): Promise<KubeClient>;
  /**
   * Another client of that core, for heartbeats of cells and what proves or judges them: its requests wait neither for
   * the rate limit nor for the connections of the first. Rejects with a StartError.
   */
  coreHeartbeat(name: string): Promise<KubeClient>;
  /** A third one, for nothing but the Lease of a leader election. Rejects with a StartError. */
  coreElection(name: string): Promise<KubeClient>;
  /** The client of --worker-kube-*. Rejects with a StartError. */
  worker(): Promise<KubeClient>;
  /** Another client of that cluster, for nothing but the Lease of a leader election. Rejects with a StartError. */
  workerElection(): Promise<KubeClient>;
  /** The client of another cluster. `cluster` is its name in logs and metrics; the same name means the same client. */
  connect(cluster: string, config: ClusterConfig): Promise<KubeClient>;
}

/** Lower limits than those of production, which a simulated world would never reach. */
export interface Limits {
  readonly history?: HistoryLimits;
  /** Of aggregators. */
  readonly fences?: Pick<AggregatorSettings, "fencesWaitingMax" | "fencedPodsMax">;
  /** Of the generator's list of releases. */
  readonly releasesMax?: number;
  /** PodProtectors that retired cells leave in one round. */
  readonly retiredPerRound?: number;
}

export interface RuntimeCertificates extends CertificateUses {
  /** Calls `listener` once a day with each certificate in use that ends within days, or has ended. */
  onEnding(listener: (ending: EndingCertificate) => void): void;
}

export interface Runtime {
  readonly config: Config;
  /** Of the program, for others to see: "1.2.3 (commit)". */
  readonly productVersion: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly clients: Clients;
  /** Tells which certificates end; absent in the simulation, which has none. */
  readonly certificates?: RuntimeCertificates;
  /** Default: those of production. */
  readonly limits?: Limits;
  /** Made-up reviews come before a webhook is ready. Not where time is simulated: only a compiler has use for them. */
  readonly isWarmedUp?: boolean;
  /** It has watched PodProtectors for a settle window already, as in a simulation that begins in the midst of a day. */
  readonly hasBeenUp?: boolean;
  /** Opens the listeners of a server: sockets in production, an entry of its network in the simulation. */
  readonly createServer: (options: ServerOptions) => Component & Pick<ServerComponent, "disableKeepAlive">;
}

/** A heartbeat and a LIST barrier every few seconds, and some more after a failure. */
const heartbeatRate = { qps: 5, burst: 10 };

/** An election sends one request at a time, one in two seconds as a rule: a limit is for mistakes only. */
const electionRate = heartbeatRate;

/** Creates clients on first use. As a component, it closes them after everything else has stopped. */
export function createClients(
  runtime: Omit<Runtime, "clients" | "health" | "createServer" | "productVersion"> &
    Pick<KubeClientDeps, "dispatchers" | "environment">,
): Clients & Component {
  const clients = new Map<string, { readonly config: ClusterConfig; readonly client: Promise<KubeClient> }>();
  const connect: Clients["connect"] = (cluster, config) => {
    const known = clients.get(cluster);
    assert(known === undefined || known.config === config, `two clusters have the name ${cluster}`);
    const client = known?.client ?? createKubeClient(config, runtime, cluster);
    clients.set(cluster, { config, client });
    return client;
  };
  const { cores, worker } = runtime.config;
  const withRate = (rate: typeof heartbeatRate): ReadonlyMap<string, ClusterConfig> =>
    new Map(Array.from(cores, ([name, core]) => [name, { ...core, ...rate }]));
  const heartbeats = withRate(heartbeatRate);
  const elections = withRate(electionRate);
  const ofWorker = { ...worker, ...electionRate };
  const ofCore = (client: string, configs: ReadonlyMap<string, ClusterConfig>, name: string): Promise<KubeClient> => {
    const config = configs.get(name);
    assert(config !== undefined, `no core has the name ${name}`);
    return connect(name === onlyCore ? client : `${client}/${name}`, config);
  };
  return {
    name: "kube-clients",
    core: (name) => ofCore("core", cores, name),
    coreHeartbeat: (name) => ofCore("core-heartbeat", heartbeats, name),
    coreElection: (name) => ofCore("core-election", elections, name),
    worker: () => connect("worker", worker),
    workerElection: () => connect("worker-election", ofWorker),
    connect,
    start: async () => {},
    async stop() {
      for (const { client } of clients.values()) {
        // A client that could not be created has already ended the start-up with its StartError.
        const [created] = await Promise.allSettled([client]);
        if (created.status === "fulfilled") await created.value.close();
      }
    },
  };
}

/** The core clusters of a role, connected. */
export interface ConnectedCore {
  /** As in messages: `name/namespace/podprotector`. */
  readonly name: string;
  readonly client: KubeClient;
  /** Namespace that watches are restricted to; undefined = all namespaces. */
  readonly namespace: string | undefined;
}

/** Opens no connection. Rejects with a StartError where there is no usable configuration. */
export async function connectCore({ clients, config }: Runtime, name: string): Promise<ConnectedCore> {
  const core = config.cores.get(name);
  assert(core !== undefined, `the configuration has the core ${name}`);
  return { name, client: await clients.core(name), namespace: core.namespace };
}

export function connectCores(runtime: Runtime): Promise<readonly ConnectedCore[]> {
  return Promise.all(Array.from(runtime.config.cores.keys(), (name) => connectCore(runtime, name)));
}

/**
 * What the name of a component of one core ends with: nothing where there is only one core, so that health checks have
 * upstream's names.
 */
export function coreSuffix({ cores }: Pick<Config, "cores">, name: string): string {
  return cores.size === 1 ? "" : `-${name}`;
}

/**
 * Metrics of what a role does for one core, or with "" for all. They have the label `core` where there are several;
 * else they have upstream's labels.
 */
export function coreMetrics({ config, metrics }: Pick<Runtime, "config" | "metrics">, name: string): Metrics {
  return config.cores.size === 1 ? metrics : withLabels(metrics, { core: name });
}
