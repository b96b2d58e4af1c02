/** How clusters are connected: what the flags of a client become, which cores there are, who calls for which cell. */
import { unprefixed } from "./flag.ts";
import { type FlagValues } from "./flag-table.ts";
import { readClientCell } from "./types/address.ts";

/** How to connect to a cluster: the values of `--core-kube-*`, `--worker-kube-*` and the like. "" = not given. */
export interface ClusterConfig {
  /** Path of a kubeconfig file. Without it and without `master`, the pod's own ServiceAccount is used (in-cluster). */
  readonly kubeConfigPath: string;
  /** Of the kubeconfig; absent = its current context. */
  readonly context?: string;
  /** URL of the API server; overrides the kubeconfig's. Alone it connects without credentials. */
  readonly master: string;
  readonly impersonateUsername: string;
  readonly impersonateUid: string;
  readonly impersonateGroups: readonly string[];
  /** Requests per second on average; 0 or less = unlimited. */
  readonly qps: number;
  /** Requests that may be sent at once after a quiet time. */
  readonly burst: number;
  readonly userAgent: string;
}

/** A cluster whose objects are watched. */
export interface WatchedClusterConfig extends ClusterConfig {
  /** Namespace that watches are restricted to; undefined = all namespaces. */
  readonly namespace: string | undefined;
}

/** How the webhook reads the pods of evictions. */
export type WorkerClientProvider =
  | { readonly kind: "none" }
  | { readonly kind: "single"; readonly cluster: ClusterConfig }
  /** By cell ID. */
  | { readonly kind: "map"; readonly clusters: ReadonlyMap<string, ClusterConfig> };

type KubeValues = ReturnType<typeof unprefixed<FlagValues, "core-kube-">>;
type ClientValues = Omit<KubeValues, "config" | "master" | "target-namespace">;

/** Name of the one core of `core-only`, as in upstream's messages. */
export const onlyCore = "core";

/** The core clusters by name, at least one: in messages the first part of `core/namespace/name`. */
export function coresOf(values: FlagValues): ReadonlyMap<string, WatchedClusterConfig> {
  const shared = watchedClusterConfig(unprefixed(values, "core-kube-"));
  if (values["podprotector-source-provider"] === "core-only") return new Map([[onlyCore, shared]]);
  const addresses = addressesOf(unprefixed(values, "podprotector-source-provider.map-"));
  return new Map(addresses.map(([name, address]) => [name, { ...shared, ...address }]));
}

/** The core of the generator; "" while several are configured and none was chosen. */
export function generatorCore(values: FlagValues): string {
  const chosen = values["generator-core"];
  if (chosen !== "") return chosen;
  const [first = "", ...others] = coresOf(values).keys();
  return others.length === 0 ? first : "";
}

export function watchedClusterConfig(values: KubeValues): WatchedClusterConfig {
  const namespace = values["target-namespace"];
  return { ...clusterConfig(values), namespace: namespace === "" ? undefined : namespace };
}

export function workerClientProvider(values: FlagValues): WorkerClientProvider {
  const kind = values["webhook-worker-client-provider"];
  if (kind === "none") return { kind };
  if (kind === "single") {
    return { kind, cluster: clusterConfig(unprefixed(values, "webhook-worker-client-provider.single-kube-")) };
  }
  const own = unprefixed(values, "webhook-worker-client-provider.map-");
  const client = clientConfig(own);
  return { kind, clusters: new Map(addressesOf(own).map(([cell, address]) => [cell, { ...address, ...client }])) };
}

interface AddressValues {
  readonly configs: Readonly<Record<string, string>>;
  readonly masters: Readonly<Record<string, string>>;
}

/** Of a map of clusters. */
function addressesOf({ configs, masters }: AddressValues) {
  return Object.entries(configs).map(([name, kubeConfigPath]) => {
    const master = Object.hasOwn(masters, name) ? (masters[name] ?? "") : "";
    return [name, { kubeConfigPath, master }] as const;
  });
}

function clusterConfig(values: KubeValues): ClusterConfig {
  return { kubeConfigPath: values.config, master: values.master, ...clientConfig(values) };
}

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

/** The cells that each client may speak for, by name; empty = clients are not bound to cells. */
export function clientCells(values: FlagValues): ReadonlyMap<string, ReadonlySet<string>> {
  const byName = Map.groupBy(values["webhook-client-cells"].map(readClientCell), ({ name }) => name);
  return new Map(Array.from(byName, ([name, of]) => [name, new Set(of.map(({ cell }) => cell))]));
}
