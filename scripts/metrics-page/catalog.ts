/**
 * Every metric that a process can serve, found by putting each role together as main.ts does, on clients that reach
 * nothing and metrics that only write down what is created. Nothing runs: metrics are created when a role is put
 * together, never later (test/monitoring/metrics-page.test.ts compares with the sources).
 */
import { loadConfig, type Role } from "../../src/config/index.ts";
import { type KubeClient, KubeError } from "../../src/kube/kube-client.ts";
import { createClientMetrics } from "../../src/kube/transport/client-metrics.ts";
import {
  CertificateExpiry,
  createHealth,
  createHeartbeat,
  createMetrics,
  showBuildInfo,
} from "../../src/observability/index.ts";
import { createAggregator } from "../../src/roles/aggregator.ts";
import { createGenerator } from "../../src/roles/generator.ts";
import { type Runtime } from "../../src/roles/runtime.ts";
import { createUpdateTrigger } from "../../src/roles/update-trigger.ts";
import { createWebhook } from "../../src/roles/webhook.ts";
import { silentLogger } from "../../src/util/logger.ts";
import { type Metrics, silentMetrics } from "../../src/util/metrics.ts";
import { createSystemRng } from "../../src/util/rng.ts";
import { createSystemClock } from "../../src/util/system-clock.ts";

export type MetricType = "counter" | "gauge" | "histogram";

export interface CatalogEntry {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  /** Those that a flag has to ask for (namespace, user) are among them. */
  readonly labels: readonly string[];
  /** Roles whose processes serve it. */
  readonly roles: ReadonlySet<Role>;
}

export const roleNames = ["webhook", "aggregator", "generator", "update-trigger"] as const satisfies readonly Role[];

/** In the order of their names. */
export async function readCatalog(): Promise<readonly CatalogEntry[]> {
  const entries = new Map<string, CatalogEntry & { readonly roles: Set<Role> }>();
  for (const role of roleNames) {
    await createRole(role, (entry) => {
      const known = entries.get(entry.name) ?? { ...entry, roles: new Set<Role>() };
      known.roles.add(role);
      entries.set(entry.name, known);
    });
  }
  return [...entries.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Names of what prom-client serves of the process itself; some exist on one system only. */
export async function readProcessNames(): Promise<readonly string[]> {
  const { text } = await createMetrics({ byNamespace: false, byUser: false, ofProcess: true }).expose();
  return Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name = ""]) => name);
}

type Created = (entry: Omit<CatalogEntry, "roles">) => void;

function recordingMetrics(created: Created): Metrics {
  const record = (type: MetricType, name: string, help: string, labels: readonly string[] = []): void =>
    created({ name, type, help, labels });
  return {
    ...silentMetrics,
    counter(name, help, labels) {
      record("counter", name, help, labels);
      return { inc() {} };
    },
    gauge(name, help, labels) {
      record("gauge", name, help, labels);
      return { set() {}, remove() {} };
    },
    histogram(name, help, labels) {
      record("histogram", name, help, labels);
      return { observe() {} };
    },
  };
}

/** All that a metric depends on is switched on. */
const flags: Readonly<Record<Role, readonly string[]>> = {
  webhook: [
    "--webhook-enable=false",
    "--webhook-https-enable",
    "--webhook-https-cert-file=tls.crt",
    "--webhook-https-key-file=tls.key",
    "--webhook-client-ca-file=ca.crt",
    "--webhook-client-cells=api-server=cell",
  ],
  aggregator: ["--aggregator-cell-id=cell", "--aggregator-ca-bundle-of=podseidon"],
  generator: ["--generator-webhook-certificate-names=webhook.example.com"],
  "update-trigger": [],
};

async function createRole(role: Role, created: Created): Promise<void> {
  const loaded = loadConfig({ argv: [`--role=${role}`, ...flags[role]], env: {}, readFile: () => "" });
  if (loaded.kind !== "config") throw new Error(`the flags of ${role} make ${JSON.stringify(loaded)}`);
  const [clock, logger, metrics] = [createSystemClock(), silentLogger, recordingMetrics(created)];
  showBuildInfo(metrics, { version: "", commit: "", nodeVersion: "" });
  createHeartbeat({ clock, metrics, sampleFrequencyMs: loaded.config.metrics.sampleFrequencyMs });
  createClientMetrics(metrics, "");
  const health = createHealth({ logger, metrics });
  const certificates = new CertificateExpiry({ clock, logger, metrics });
  const connect = async (cluster: string): Promise<KubeClient> => unreachable(cluster);
  const runtime: Runtime = {
    config: loaded.config,
    productVersion: "",
    clock,
    rng: createSystemRng(),
    logger,
    metrics,
    health,
    certificates,
    clients: {
      core: connect,
      coreHeartbeat: connect,
      coreElection: connect,
      worker: () => connect("worker"),
      workerElection: () => connect("worker-election"),
      connect,
    },
    createServer: ({ name }) => ({ name, start: async () => {}, stop: async () => {}, disableKeepAlive() {} }),
  };
  const create = {
    webhook: createWebhook,
    aggregator: createAggregator,
    generator: createGenerator,
    "update-trigger": createUpdateTrigger,
  };
  await create[role](runtime);
}

function unreachable(cluster: string): KubeClient {
  const refuse = (): never => {
    throw new KubeError("network", "there is no cluster");
  };
  return { cluster, request: async () => refuse(), stream: async () => refuse(), close: async () => {} };
}
