/**
 * The settings as the program reads them: nested by component, frozen, with units in the names. Components take a Pick
 * of the part that they need. Only this file knows both the names of the flags and the fields of the Config; the
 * compiler checks each.
 */
import type { LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import type { HealthCriterion } from "../accounting/count/health-criterion.ts";
import type { HistoryConfig } from "../accounting/history/history-config.ts";
import type { SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import { aggregatorLeaseName, type ElectorConfig } from "./election.ts";
import {
  clientCells,
  coresOf,
  generatorCore,
  watchedClusterConfig,
  type WatchedClusterConfig,
  workerClientProvider,
  type WorkerClientProvider,
} from "./clusters.ts";
import { type Role, unprefixed } from "./flag.ts";
import { type FlagValues } from "./flag-table.ts";
import { corePolicies as corePolicyWords } from "./flags/webhook.ts";
import { type GeneratorRules } from "./generator-rules.ts";

/** One address to listen on. */
export interface ListenerConfig {
  readonly enable: boolean;
  /** IP address or host name; "" = all addresses. */
  readonly bindAddress: string;
  /** 0 = any free port. */
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

/** The work queue of a controller: upstream's `--…-worker-*` flags. */
export interface QueueConfig {
  /** Objects reconciled at the same time. */
  readonly concurrency: number;
  /** Delay after the first failure of an object; doubles with each failure in a row. */
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /** Longest delay after a write conflict (409). */
  readonly backoffConflictMs: number;
}

/** Which clients an HTTPS listener serves. */
export interface ClientAuthConfig {
  readonly caFile: string;
  /** Common names and subject alternative names; empty = every certificate of the CA. */
  readonly allowedNames: ReadonlySet<string>;
}

/** An annotation (key and exact value) that asks for a health criterion. */
export interface CriterionAnnotation {
  readonly criterion: HealthCriterion;
  readonly annotation: { readonly key: string; readonly value: string };
}

/** What the webhook does with deletions that need quota while a core takes no writes. */
export type CorePolicy = FlagValues["webhook-core-unavailable-policy"];

export interface WebhookConfig {
  readonly server: ServerConfig;
  /** HTTPS with what the generator issues, and without files. */
  readonly hasIssuedCertificate: boolean;
  /** "" or begins with "/" and does not end with it. */
  readonly pathPrefix: string;
  /** Empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  /** Key of the label that names the cell of a pod; undefined = the URL does. */
  readonly cellLabel: string | undefined;
  /** Undefined = clients need no certificate. */
  readonly clientAuth: ClientAuthConfig | undefined;
  /** The cells that a client may speak for, by a name of its certificate; empty = clients are not bound to cells. */
  readonly clientCells: ReadonlyMap<string, ReadonlySet<string>>;
  /** Its own, in the core cluster; undefined = none. */
  readonly deployment: { readonly namespace: string; readonly name: string } | undefined;
  readonly drainDelayMs: number;
  readonly dryRun: boolean;
  readonly coreUnavailable: {
    /** By name of the core. */
    readonly policies: ReadonlyMap<string, CorePolicy>;
    readonly replicas: number;
  };
  readonly legacyCellHoldMs: number;
  /** 0 = no review is held. */
  readonly refusalHoldMs: number;
  /** 0 = pod garbage collection is never refused. */
  readonly orphanedPodGraceMs: number;
  readonly tombstoneTtlMs: number;
  readonly coldStartDelayMs: number;
  readonly retryBackoffBaseMs: number;
  readonly retryJitterMs: number;
  /** The annotations that select a criterion, in the order in which they are tried; without a match it is Available. */
  readonly healthCriteria: readonly CriterionAnnotation[];
  /** Which cells' buckets carry pod names; `byCellFilter` matters only for "by-cell". */
  readonly requiresPodName: {
    readonly when: "always" | "by-cell" | "never";
    readonly byCellFilter: ReadonlySet<string>;
  };
  readonly workerClientProvider: WorkerClientProvider;
}

export interface AggregatorConfig {
  readonly cellID: string;
  readonly podProtectorLabelSelector: LabelSelector;
  readonly podLabelSelector: LabelSelector;
  readonly coverageExcludedNamespaces: ReadonlySet<string>;
  readonly rateJitterLow: number;
  readonly rateJitterHigh: number;
  readonly syncTimeAlgorithm: SyncTimeAlgorithm;
  readonly settlementFenceDelayMs: number;
  /** Name of the ValidatingWebhookConfiguration whose caBundle is kept; undefined = none. */
  readonly caBundleOf: string | undefined;
  readonly settleWindowMs: number;
  readonly queue: QueueConfig;
  readonly elector: ElectorConfig;
}

export interface UpdateTriggerConfig {
  /** Which role runs the one trigger of this process; an aggregator runs it under its own Lease. */
  readonly runBy: "aggregator" | "update-trigger" | "none";
  readonly updateFrequencyMs: number;
  readonly dummyPod: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly image: string;
    /** A scheduler that does not exist keeps the pod pending. */
    readonly scheduler: string;
  };
}

export interface GeneratorConfig extends GeneratorRules {
  /** Name of its core. */
  readonly core: string;
  /** DNS names and addresses of the webhook for which certificates are issued; empty = none are. */
  readonly webhookNames: readonly string[];
  readonly queue: QueueConfig;
  readonly elector: ElectorConfig;
}

/** Cells that fall silent (docs/accounting.md#silent-cells). */
export interface CellsConfig {
  /** Of the Leases, in the core cluster. */
  readonly leaseNamespace: string;
  readonly silentAfterMs: number;
  readonly silentPolicy: "zero" | "keep";
}

export interface Config {
  /** At least one. */
  readonly roles: ReadonlySet<Role>;
  /** By name; at least one. */
  readonly cores: ReadonlyMap<string, WatchedClusterConfig>;
  readonly worker: WatchedClusterConfig;
  readonly healthz: ServerConfig;
  readonly prometheusHTTP: ServerConfig;
  readonly pprof: ServerConfig;
  readonly metrics: { readonly sampleFrequencyMs: number; readonly byNamespace: boolean; readonly byUser: boolean };
  readonly log: { readonly verbosity: number };
  /** A PodProtector may override each of these. */
  readonly history: HistoryConfig;
  readonly cells: CellsConfig;
  readonly webhook: WebhookConfig;
  readonly aggregator: AggregatorConfig;
  readonly updateTrigger: UpdateTriggerConfig;
  readonly generator: GeneratorConfig;
}

/** Builds the Config from checked values; the result is deeply frozen. */
export function buildConfig(values: FlagValues): Config {
  const roles = new Set(values.role);
  const history = unprefixed(values, "default-admission-history-config-");
  return deepFreeze<Config>({
    roles,
    cores: coresOf(values),
    worker: watchedClusterConfig(unprefixed(values, "worker-kube-")),
    healthz: serverConfig("healthz-", unprefixed(values, "healthz-")),
    prometheusHTTP: serverConfig("prometheus-http-", unprefixed(values, "prometheus-http-")),
    pprof: serverConfig("pprof-", unprefixed(values, "pprof-")),
    metrics: {
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
    cells: {
      leaseNamespace: values["cell-lease-namespace"],
      silentAfterMs: values["silent-cell-after"],
      silentPolicy: values["silent-cell-policy"],
    },
    webhook: webhookConfig(values),
    aggregator: aggregatorConfig(values),
    updateTrigger: updateTriggerConfig(values, roles),
    generator: {
      core: generatorCore(values),
      webhookNames: values["generator-webhook-certificate-names"],
      sources: values["generator-sources"],
      sourceSelector: values["generator-source-selector"],
      queue: queueConfig(unprefixed(values, "generator-worker-")),
      elector: generatorElector(values),
      defaultMode: values["generator-default-mode"],
      percentRounding: values["generator-percent-rounding"],
      singleReplica: values["generator-single-replica"],
      hasMonitor: values["generator-monitor-enable"],
      massChanges: { policy: values["generator-mass-change-policy"], allow: values["generator-mass-change-allow"] },
      deploymentPlugin: {
        protectionSelector: values["deployment-plugin-protection-selector"],
        protectNonZero: values["deployment-plugin-protect-non-zero"],
      },
    },
  });
}

type ServerValues = ReturnType<typeof unprefixed<FlagValues, "healthz-">>;
type QueueValues = ReturnType<typeof unprefixed<FlagValues, "generator-worker-">>;
type ElectorValues = ReturnType<typeof unprefixed<FlagValues, "generator-leader-elector-">>;

function serverConfig(prefix: string, values: ServerValues): ServerConfig {
  return {
    http: { enable: values.enable, bindAddress: values["bind-addr"], port: values.port, portFlag: `${prefix}port` },
    https: {
      enable: values["https-enable"],
      bindAddress: values["https-bind-addr"],
      port: values["https-port"],
      portFlag: `${prefix}https-port`,
      certFile: values["https-cert-file"],
      keyFile: values["https-key-file"],
    },
    readHeaderTimeoutMs: values["read-header-timeout"],
  };
}

function queueConfig(values: QueueValues): QueueConfig {
  return {
    concurrency: values.concurrency,
    backoffBaseMs: values["backoff-base"],
    backoffMaxMs: values["backoff-max"],
    backoffConflictMs: values["backoff-conflict"],
  };
}

function electorConfig(values: ElectorValues): ElectorConfig {
  return {
    enable: values.enable,
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
  const cellsOfClients = clientCells(values);
  const bound = cellsOfClients.values().flatMap((cells) => [...cells]);
  return {
    server: serverConfig("webhook-", own),
    hasIssuedCertificate: own["https-issued-certificate"],
    pathPrefix: own["path-prefix"],
    // Nobody can speak for another cell than a bound one.
    allowedCells: new Set(own["allowed-cells"].length > 0 ? own["allowed-cells"] : bound),
    cellLabel: own["cell-label"] || undefined,
    clientAuth:
      own["client-ca-file"] === ""
        ? undefined
        : {
            caFile: own["client-ca-file"],
            allowedNames: new Set([...own["client-allowed-names"], ...cellsOfClients.keys()]),
          },
    clientCells: cellsOfClients,
    deployment: ownDeployment(own.deployment),
    drainDelayMs: own["drain-delay"],
    dryRun: own["dry-run"],
    coreUnavailable: { policies: corePolicies(values), replicas: own["core-unavailable-replicas"] },
    legacyCellHoldMs: own["legacy-cell-hold"],
    refusalHoldMs: own["refusal-hold"],
    orphanedPodGraceMs: values["orphaned-pod-grace"],
    tombstoneTtlMs: own["tombstone-ttl"],
    coldStartDelayMs: handler["cold-start-delay"],
    retryBackoffBaseMs: handler["retry-backoff-base"],
    retryJitterMs: handler["retry-jitter"],
    // Upstream's order, with Initialized where a pod reaches it.
    healthCriteria: [
      { criterion: "Scheduled", annotation: unprefixed(criteria, "scheduled-") },
      { criterion: "Initialized", annotation: unprefixed(criteria, "initialized-") },
      { criterion: "Running", annotation: unprefixed(criteria, "running-") },
      { criterion: "Ready", annotation: unprefixed(criteria, "ready-") },
    ],
    requiresPodName: { when: own["requires-pod-name"], byCellFilter: new Set(own["requires-pod-name.by-cell-filter"]) },
    workerClientProvider: workerClientProvider(values),
  };
}

/** `text` is NAMESPACE/NAME or empty. */
function ownDeployment(text: string): WebhookConfig["deployment"] {
  const [namespace = "", name = ""] = text.split("/");
  return text === "" ? undefined : { namespace, name };
}

function corePolicies(values: FlagValues): ReadonlyMap<string, CorePolicy> {
  const own = new Map(Object.entries(values["webhook-core-unavailable-policy.by-core"]));
  const policyOf = (core: string): CorePolicy =>
    corePolicyWords.find((policy) => policy === own.get(core)) ?? values["webhook-core-unavailable-policy"];
  return new Map(
    coresOf(values)
      .keys()
      .map((core) => [core, policyOf(core)]),
  );
}

export function aggregatorElector(values: FlagValues): ElectorConfig {
  const elector = electorConfig(unprefixed(values, "aggregator-leader-elector-"));
  return { ...elector, name: elector.name || aggregatorLeaseName(values["aggregator-cell-id"]) };
}

export function generatorElector(values: FlagValues): ElectorConfig {
  return electorConfig(unprefixed(values, "generator-leader-elector-"));
}

function aggregatorConfig(values: FlagValues): AggregatorConfig {
  const own = unprefixed(values, "aggregator-");
  const kind = own["informer-synctime-algorithm"];
  return {
    cellID: own["cell-id"],
    podProtectorLabelSelector: own["podprotector-label-selector"],
    podLabelSelector: own["pod-label-selector"],
    coverageExcludedNamespaces: new Set(own["coverage-excluded-namespaces"]),
    rateJitterLow: own["rate-jitter-low"],
    rateJitterHigh: own["rate-jitter-high"],
    syncTimeAlgorithm:
      kind === "annotation" ? { kind, key: own["informer-synctime-algorithm.annotation-key"] } : { kind },
    settlementFenceDelayMs: own["settlement-fence-delay"],
    caBundleOf: own["ca-bundle-of"] || undefined,
    settleWindowMs: own["settle-window"],
    queue: queueConfig(unprefixed(own, "worker-")),
    elector: aggregatorElector(values),
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
      namespace: pod.namespace || values["worker-kube-target-namespace"] || "default",
      labels: pod.labels,
      annotations: pod.annotations,
      image: pod.image,
      scheduler: pod.scheduler,
    },
  };
}

/** The role update-trigger implies the enable flag. An aggregator in the same process runs the trigger itself. */
export function updateTriggerRunBy(roles: ReadonlySet<Role>, isEnabled: boolean): UpdateTriggerConfig["runBy"] {
  const isWanted = isEnabled || roles.has("update-trigger");
  if (isWanted && roles.has("aggregator")) return "aggregator";
  return roles.has("update-trigger") ? "update-trigger" : "none";
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
