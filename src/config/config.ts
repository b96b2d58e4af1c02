/**
 * The settings as the program reads them: nested by component, frozen, with units in the names. This file is the only
 * place that knows both the flags' names and the Config's fields; the compiler checks each.
 */
import type { LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import type { HealthCriterion } from "../accounting/count/health-criterion.ts";
import type { HistoryConfig } from "../accounting/history/history-config.ts";
import type { SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import type { ClusterConfig as Connection } from "../kube/transport/index.ts";
import { type Role, unprefixed } from "./flag.ts";
import { type FlagValues } from "./flag-table.ts";

/** How to reach a cluster. Empty texts mean "not given". */
export interface ClusterConfig extends Connection {
  /** Namespace that watches are restricted to; "" = all namespaces. */
  readonly targetNamespace: string;
}

/** One address to listen on. */
export interface ListenerConfig {
  readonly enabled: boolean;
  /** IP address or host name; "" = all addresses. */
  readonly bindAddress: string;
  /** 0 = the system chooses. */
  readonly port: number;
  /** The flag that chose the port, for messages: "healthz-port". */
  readonly portFlag: string;
}

export interface ServerConfig {
  readonly http: ListenerConfig;
  readonly https: ListenerConfig & { readonly certFile: string; readonly keyFile: string };
  /** 0 = no limit. */
  readonly readHeaderTimeoutMs: number;
}

export interface WorkerConfig {
  readonly concurrency: number;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /** Most milliseconds after a 409. */
  readonly backoffConflictMs: number;
}

export interface ElectorConfig {
  readonly enabled: boolean;
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** Which clients an HTTPS listener takes. */
export interface ClientAuthConfig {
  readonly caFile: string;
  /** Common names and subject alternative names; empty = every client with a certificate of the CA. */
  readonly allowedNames: ReadonlySet<string>;
}

/** How the webhook reads the pods of evictions. */
export type WorkerClientConfig =
  | { readonly kind: "none" }
  | { readonly kind: "single"; readonly cluster: ClusterConfig }
  /** By cell ID. */
  | { readonly kind: "map"; readonly clusters: ReadonlyMap<string, ClusterConfig> };

export interface AnnotationMatch {
  readonly key: string;
  readonly value: string;
}

export interface WebhookConfig {
  readonly server: ServerConfig;
  /** "" or begins with "/" and does not end with it. */
  readonly pathPrefix: string;
  /** Empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  /** Undefined = client certificates are not asked for. */
  readonly clientAuth: ClientAuthConfig | undefined;
  /** How long it goes on serving once it is to stop. */
  readonly drainDelayMs: number;
  readonly dryRun: boolean;
  readonly coreUnavailable: { readonly policy: "refuse" | "last-known"; readonly replicas: number };
  readonly coldStartDelayMs: number;
  readonly retryBackoffBaseMs: number;
  readonly retryJitterMs: number;
  /** The annotations that ask for a criterion, in the order in which they are tried; none matches = Available. */
  readonly healthCriteria: readonly { readonly criterion: HealthCriterion; readonly annotation: AnnotationMatch }[];
  /** The cells whose buckets carry pod names. */
  readonly podNames: { readonly mode: "always" | "by-cell" | "never"; readonly cells: ReadonlySet<string> };
  readonly workerClient: WorkerClientConfig;
}

export interface AggregatorConfig {
  readonly cellId: string;
  readonly podProtectorSelector: LabelSelector;
  readonly podSelector: LabelSelector;
  readonly rateJitterLow: number;
  readonly rateJitterHigh: number;
  readonly syncTimeAlgorithm: SyncTimeAlgorithm;
  readonly settlementFenceDelayMs: number;
  readonly settleWindowMs: number;
  readonly worker: WorkerConfig;
  readonly elector: ElectorConfig;
}

export interface UpdateTriggerConfig {
  /** Which role runs the one trigger of this process; an aggregator does it under its own lease. */
  readonly runBy: "aggregator" | "update-trigger" | "nobody";
  readonly updateFrequencyMs: number;
  readonly dummyPod: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly image: string;
    readonly schedulerName: string;
  };
}

export interface GeneratorConfig {
  readonly worker: WorkerConfig;
  readonly elector: ElectorConfig;
  readonly deployment: {
    readonly protectionSelector: LabelSelector;
    /** Keep protecting a terminating Deployment while it wants replicas. */
    readonly protectNonZero: boolean;
  };
}

export interface Config {
  /** At least one. */
  readonly roles: ReadonlySet<Role>;
  readonly core: ClusterConfig;
  readonly worker: ClusterConfig;
  readonly healthz: ServerConfig;
  readonly prometheus: {
    readonly server: ServerConfig;
    readonly sampleFrequencyMs: number;
    readonly byNamespace: boolean;
    readonly byUser: boolean;
  };
  readonly log: { readonly verbosity: number };
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  readonly webhook: WebhookConfig;
  readonly aggregator: AggregatorConfig;
  readonly updateTrigger: UpdateTriggerConfig;
  readonly generator: GeneratorConfig;
}

/** Sorts checked values into the Config; the result and all that it holds are frozen. */
export function buildConfig(values: FlagValues): Config {
  const roles = new Set(values.role);
  const history = unprefixed(values, "default-admission-history-config-");
  return deepFreeze<Config>({
    roles,
    core: clusterConfig(unprefixed(values, "core-kube-")),
    worker: clusterConfig(unprefixed(values, "worker-kube-")),
    healthz: serverConfig("healthz-", unprefixed(values, "healthz-")),
    prometheus: {
      server: serverConfig("prometheus-http-", unprefixed(values, "prometheus-http-")),
      sampleFrequencyMs: values["metrics-sample-frequency"],
      byNamespace: values["metrics-by-namespace"],
      byUser: values["metrics-by-user"],
    },
    log: { verbosity: values["klog-v"] },
    history: {
      maxConcurrentLag: history["max-concurrent-lag"],
      compactThreshold: history["compact-threshold"],
      aggregationRateMs: history["aggregation-rate"],
    },
    webhook: webhookConfig(values),
    aggregator: aggregatorConfig(values),
    updateTrigger: updateTriggerConfig(values, roles),
    generator: {
      worker: workerConfig(unprefixed(values, "generator-worker-")),
      elector: electorConfig(unprefixed(values, "generator-leader-elector-")),
      deployment: {
        protectionSelector: values["deployment-plugin-protection-selector"],
        protectNonZero: values["deployment-plugin-protect-non-zero"],
      },
    },
  });
}

type KubeValues = ReturnType<typeof unprefixed<FlagValues, "core-kube-">>;
type ClientValues = Omit<KubeValues, "config" | "master" | "target-namespace">;
type ServerValues = ReturnType<typeof unprefixed<FlagValues, "healthz-">>;
type WorkerValues = ReturnType<typeof unprefixed<FlagValues, "generator-worker-">>;
type ElectorValues = ReturnType<typeof unprefixed<FlagValues, "generator-leader-elector-">>;

function clientConfig(values: ClientValues) {
  return {
    impersonateUsername: values["impersonate-username"],
    impersonateUid: values["impersonate-uid"],
    impersonateGroups: values["impersonate-groups"],
    qps: values.qps,
    burst: values.burst,
    userAgent: values["user-agent"],
  };
}

function clusterConfig(values: KubeValues): ClusterConfig {
  return {
    kubeConfigPath: values.config,
    master: values.master,
    targetNamespace: values["target-namespace"],
    ...clientConfig(values),
  };
}

function serverConfig(prefix: string, values: ServerValues): ServerConfig {
  return {
    http: { enabled: values.enable, bindAddress: values["bind-addr"], port: values.port, portFlag: `${prefix}port` },
    https: {
      enabled: values["https-enable"],
      bindAddress: values["https-bind-addr"],
      port: values["https-port"],
      portFlag: `${prefix}https-port`,
      certFile: values["https-cert-file"],
      keyFile: values["https-key-file"],
    },
    readHeaderTimeoutMs: values["read-header-timeout"],
  };
}

function workerConfig(values: WorkerValues): WorkerConfig {
  return {
    concurrency: values.concurrency,
    backoffBaseMs: values["backoff-base"],
    backoffMaxMs: values["backoff-max"],
    backoffConflictMs: values["backoff-conflict"],
  };
}

function electorConfig(values: ElectorValues): ElectorConfig {
  return {
    enabled: values.enable,
    namespace: values.namespace,
    name: values.name,
    leaseDurationMs: values["lease-duration"],
    renewDeadlineMs: values["renew-deadline"],
    retryPeriodMs: values["retry-period"],
  };
}

function webhookConfig(values: FlagValues): WebhookConfig {
  const own = unprefixed(values, "webhook-");
  const handler = unprefixed(values, "webhook-handler-");
  const criteria = unprefixed(values, "webhook-handler-health-criterion-");
  return {
    server: serverConfig("webhook-", own),
    pathPrefix: own["path-prefix"],
    allowedCells: new Set(own["allowed-cells"]),
    clientAuth:
      own["client-ca-file"] === ""
        ? undefined
        : { caFile: own["client-ca-file"], allowedNames: new Set(own["client-allowed-names"]) },
    drainDelayMs: own["drain-delay"],
    dryRun: own["dry-run"],
    coreUnavailable: { policy: own["core-unavailable-policy"], replicas: own["core-unavailable-replicas"] },
    coldStartDelayMs: handler["cold-start-delay"],
    retryBackoffBaseMs: handler["retry-backoff-base"],
    retryJitterMs: handler["retry-jitter"],
    // Upstream's order, with Initialized at its place in a pod's life.
    healthCriteria: [
      { criterion: "Scheduled", annotation: unprefixed(criteria, "scheduled-") },
      { criterion: "Initialized", annotation: unprefixed(criteria, "initialized-") },
      { criterion: "Running", annotation: unprefixed(criteria, "running-") },
      { criterion: "Ready", annotation: unprefixed(criteria, "ready-") },
    ],
    podNames: {
      mode: values["webhook-requires-pod-name"],
      cells: new Set(values["webhook-requires-pod-name.by-cell-filter"]),
    },
    workerClient: workerClientConfig(values),
  };
}

function workerClientConfig(values: FlagValues): WorkerClientConfig {
  const kind = values["webhook-worker-client-provider"];
  if (kind === "none") return { kind };
  if (kind === "single") {
    return { kind, cluster: clusterConfig(unprefixed(values, "webhook-worker-client-provider.single-kube-")) };
  }
  const own = unprefixed(values, "webhook-worker-client-provider.map-");
  const clusters = Object.entries(own.configs).map(([cell, kubeConfigPath]) => {
    const master = Object.hasOwn(own.masters, cell) ? (own.masters[cell] ?? "") : "";
    return [cell, { kubeConfigPath, master, targetNamespace: "", ...clientConfig(own) }] as const;
  });
  return { kind, clusters: new Map(clusters) };
}

function aggregatorConfig(values: FlagValues): AggregatorConfig {
  const own = unprefixed(values, "aggregator-");
  const kind = own["informer-synctime-algorithm"];
  return {
    cellId: own["cell-id"],
    podProtectorSelector: own["podprotector-label-selector"],
    podSelector: own["pod-label-selector"],
    rateJitterLow: own["rate-jitter-low"],
    rateJitterHigh: own["rate-jitter-high"],
    syncTimeAlgorithm:
      kind === "annotation" ? { kind, key: own["informer-synctime-algorithm.annotation-key"] } : { kind },
    settlementFenceDelayMs: own["settlement-fence-delay"],
    settleWindowMs: own["settle-window"],
    worker: workerConfig(unprefixed(own, "worker-")),
    elector: electorConfig(unprefixed(own, "leader-elector-")),
  };
}

function updateTriggerConfig(values: FlagValues, roles: ReadonlySet<Role>): UpdateTriggerConfig {
  const own = unprefixed(values, "update-trigger-");
  const pod = unprefixed(own, "dummy-pod-");
  return {
    runBy: updateTriggerRunBy(roles, own.enable),
    updateFrequencyMs: own["update-frequency"],
    dummyPod: {
      name: pod.name,
      namespace: pod.namespace,
      labels: pod.labels,
      annotations: pod.annotations,
      image: pod.image,
      schedulerName: pod.scheduler,
    },
  };
}

/** The role update-trigger implies the enable flag; beside an aggregator the aggregator runs the only trigger. */
export function updateTriggerRunBy(roles: ReadonlySet<Role>, isEnabled: boolean): UpdateTriggerConfig["runBy"] {
  const isWanted = isEnabled || roles.has("update-trigger");
  if (isWanted && roles.has("aggregator")) return "aggregator";
  return roles.has("update-trigger") ? "update-trigger" : "nobody";
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
