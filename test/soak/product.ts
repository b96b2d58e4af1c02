/** All roles of the product, as they would be installed: two replicas of each that can have them. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { type ProcessSet } from "../../scripts/child-processes.ts";
import { choosePorts, type PodseidonProcess, startPodseidon } from "../e2e/fleet/process.ts";
import { clusterAt, writeKubeconfig } from "../support/kubeconfig.ts";
import { type Cluster } from "./cluster.ts";
import { collectorText } from "../support/garbage-collector.ts";
import { electedNames, type ElectedName, workerNames } from "./schedule.ts";
import { namespaces } from "./workloads.ts";

/** The heap of the manifests. */
const heapMB = 512;
/** All start at once: 20 s on two idle cores, minutes on busy ones. */
const readyLimitMs = 600_000;
/** As in manifests/base, so that what is soaked is what is installed. */
const leases = `--cell-lease-namespace=${namespaces.system}`;
const dummyPod = `--update-trigger-dummy-pod-namespace=${namespaces.dummyPod}`;
/** The cell whose update-trigger is a process of its own. */
const triggeredApart = "worker-2";

export interface Replica {
  /** `webhook-1`; a process that takes the place of another has its name. */
  readonly name: string;
  process: PodseidonProcess;
  /** True while it is told to end and started again. */
  isChanging: boolean;
}

export class Product {
  readonly replicas: readonly Replica[];

  private constructor(replicas: readonly Replica[]) {
    this.replicas = replicas;
  }

  /** Resolves when all are ready. */
  static async start(clusters: readonly Cluster[], directory: string, processes: ProcessSet): Promise<Product> {
    const collector = path.join(directory, "collector.cjs");
    writeFileSync(collector, collectorText);
    const env = { NODE_OPTIONS: `--max-old-space-size=${heapMB} --require=${collector}` };
    const starting = commandLines(clusters, directory).map(async ({ name, role, args }): Promise<Replica> => {
      const ports = await choosePorts();
      const own = role === "webhook" ? [`--webhook-port=${ports.webhook}`] : [];
      const options = { processes, name, directory, role, ports, env, readyLimitMs, args: [...args, ...own] };
      return { name, process: await startPodseidon(options), isChanging: false };
    });
    return new Product(await Promise.all(starting));
  }

  /** The ports of the webhook replicas, for a balancer. */
  get webhookPorts(): readonly number[] {
    return this.replicas.filter(({ name }) => name.startsWith("webhook-")).map((one) => one.process.ports.webhook);
  }

  /** Who leads; undefined while nobody does. */
  async leader(elected: ElectedName): Promise<Replica | undefined> {
    for (const replica of this.replicas.filter(({ name }) => name.startsWith(`${elected}-`))) {
      if (replica.isChanging) continue;
      // One that is too busy to answer is passed over.
      const metrics = await replica.process.metrics().catch(() => undefined);
      if ((metrics?.value("leader_heartbeat") ?? 0) > 0) return replica;
    }
    return undefined;
  }

  /** Ends the process in good order and starts it again; resolves when it is ready. */
  async restart(replica: Replica): Promise<void> {
    replica.isChanging = true;
    const { code, signal } = await replica.process.terminate();
    if (code !== 0) throw new Error(`${replica.name} was told to end, and ended with ${signal ?? `code ${code}`}`);
    replica.process = await replica.process.startAgain();
    replica.isChanging = false;
  }

  async end(): Promise<void> {
    await Promise.all(this.replicas.map(({ process: child }) => child.terminate()));
  }
}

/** Where the Lease of a leader is, and its name. */
export function leaseOf(elected: ElectedName): { readonly cluster: string; readonly lease: string } {
  if (elected === "generator") return { cluster: "core", lease: "podseidon-generator" };
  return { cluster: elected.replace("aggregator-", ""), lease: "podseidon-aggregator" };
}

interface CommandLine {
  readonly name: string;
  readonly role: string;
  readonly args: readonly string[];
}

function commandLines(clusters: readonly Cluster[], directory: string): readonly CommandLine[] {
  const urlOf = (name: string): string => clusters.find((cluster) => cluster.name === name)!.url;
  const core = `--core-kube-master=${urlOf("core")}`;
  const configs = workerNames.map((name) => {
    const file = path.join(directory, `${name}.kubeconfig`);
    writeKubeconfig(file, clusterAt(urlOf(name)));
    return `${name}=${file}`;
  });
  const twice = (role: string, name: string, args: readonly string[]): readonly CommandLine[] =>
    [1, 2].map((number) => ({ name: `${name}-${number}`, role, args }));
  const elector = (elected: ElectedName): readonly string[] => {
    const flag = `--${elected === "generator" ? "generator" : "aggregator"}-leader-elector`;
    return [`${flag}-namespace=${namespaces.system}`, `${flag}-name=${leaseOf(elected).lease}`];
  };
  return [
    ...twice("webhook", "webhook", [
      core,
      leases,
      "--webhook-bind-addr=127.0.0.1",
      "--webhook-worker-client-provider=map",
      `--webhook-worker-client-provider.map-configs=${configs.join(",")}`,
      `--webhook-allowed-cells=${workerNames.join(",")}`,
    ]),
    ...twice("generator", "generator", [core, leases, ...elector("generator")]),
    ...workerNames.flatMap((cell) =>
      twice("aggregator", `aggregator-${cell}`, [
        core,
        `--worker-kube-master=${urlOf(cell)}`,
        `--aggregator-cell-id=${cell}`,
        leases,
        dummyPod,
        ...elector(electedNames.find((name) => name === `aggregator-${cell}`)!),
        ...(cell === triggeredApart ? ["--update-trigger-enable=false"] : []),
      ]),
    ),
    {
      name: "update-trigger",
      role: "update-trigger",
      args: [`--worker-kube-master=${urlOf(triggeredApart)}`, dummyPod],
    },
  ];
}
