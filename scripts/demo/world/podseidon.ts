/**
 * Podseidon as it would be deployed: a generator, one aggregator for each cell, an update-trigger of its own, two
 * webhook replicas.
 */
import path from "node:path";
import { ProcessSet } from "../../child-processes.ts";
import { type ApiServer } from "../../../test/double/index.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { type Cell, podseidonNamespaces } from "./clusters.ts";
import { DemoRole } from "./role-process.ts";

export interface Podseidon {
  readonly roles: readonly DemoRole[];
  readonly webhooks: readonly DemoRole[];
  /** Resolves when every role is ready. */
  ready(): Promise<void>;
  /** Begins to listen for all webhook replicas, once; resolves to the URL. Only when they are ready. */
  serve(): Promise<string>;
  /**
   * Starts the role of that name again, which must have gone. Resolves when it is ready; rejects with its last log
   * lines when it ends before.
   */
  restart(name: string): Promise<void>;
  /** Ends all processes; resolves when they have gone. */
  close(): Promise<void>;
  /** Kills all at once; for exit handlers. */
  killNow(): void;
}

export interface PodseidonOptions {
  readonly core: ApiServer;
  readonly cells: readonly Cell[];
  /** For kubeconfigs and logs. */
  readonly directory: string;
  readonly signal: AbortSignal;
  /** A process ended by itself. */
  readonly onCrash: (report: string, name: string) => void;
}

/** As in manifests/base, so that commands find everything where they look for it. */
const leases = `--cell-lease-namespace=${podseidonNamespaces.system}`;
const dummyPod = `--update-trigger-dummy-pod-namespace=${podseidonNamespaces.dummyPod}`;

function leaderElector(role: "generator" | "aggregator"): readonly string[] {
  const flag = `--${role}-leader-elector`;
  return [`${flag}-namespace=${podseidonNamespaces.system}`, `${flag}-name=podseidon-${role}`];
}

/**
 * Command lines of all processes by name. The flags are those of a real installation; the rest is left at its defaults.
 */
function commandLines(
  core: string,
  cells: readonly { name: string; url: string; kubeconfig: string }[],
): ReadonlyMap<string, readonly string[]> {
  const coreFlag = `--core-kube-master=${core}`;
  const configs = cells.map(({ name, kubeconfig }) => `${name}=${kubeconfig}`).join(",");
  const webhook = (): string[] => [
    "--role=webhook",
    coreFlag,
    leases,
    "--webhook-bind-addr=127.0.0.1",
    "--webhook-port=0",
    "--webhook-worker-client-provider=map",
    `--webhook-worker-client-provider.map-configs=${configs}`,
    `--webhook-allowed-cells=${cells.map(({ name }) => name).join(",")}`,
  ];
  const last = cells.at(-1)!;
  return new Map([
    ["webhook-1", webhook()],
    ["webhook-2", webhook()],
    ["generator", ["--role=generator", coreFlag, leases, ...leaderElector("generator")]],
    ...cells.map(({ name, url }): [string, string[]] => [
      `aggregator-${name}`,
      [
        "--role=aggregator",
        coreFlag,
        `--worker-kube-master=${url}`,
        `--aggregator-cell-id=${name}`,
        leases,
        dummyPod,
        // First counts wait for that; no request to these API servers takes so long.
        "--aggregator-settle-window=2s",
        "--aggregator-settlement-fence-delay=2s",
        ...leaderElector("aggregator"),
        // The last cell has its update-trigger in a process of its own.
        ...(name === last.name ? ["--update-trigger-enable=false"] : []),
      ],
    ]),
    [`update-trigger-${last.name}`, ["--role=update-trigger", `--worker-kube-master=${last.url}`, dummyPod]],
  ]);
}

/** Starts all processes at once; they become ready in their own time. */
export function startPodseidon({ core, cells, directory, signal, onCrash }: PodseidonOptions): Podseidon {
  const workers = cells.map(({ name, server }) => {
    const kubeconfig = path.join(directory, name);
    server.writeKubeconfig(kubeconfig);
    return { name, url: server.url, kubeconfig };
  });
  const processes = new ProcessSet();
  const lines = commandLines(core.url, workers);
  const start = (name: string, folder: string): DemoRole => {
    const logs = path.join(directory, folder);
    return new DemoRole({ processes, name, args: lines.get(name) ?? [], directory: logs, onCrash });
  };
  const roles = new Map(Array.from(lines.keys(), (name) => [name, start(name, "logs")]));
  let restarts = 0;
  const webhooks = (): DemoRole[] => [...roles.values()].filter(({ name }) => name.startsWith("webhook-"));
  let balancer: Balancer | undefined;
  return {
    get roles() {
      return [...roles.values()];
    },
    get webhooks() {
      return webhooks();
    },
    async ready() {
      await Promise.all(Array.from(roles.values(), (role) => role.ready(signal)));
      signal.throwIfAborted();
    },
    async serve() {
      balancer = await startBalancer(() => webhooks().flatMap((role) => role.listeningPort("webhook") ?? []));
      return balancer.url;
    },
    async restart(name) {
      restarts += 1;
      // A log tells the ports of its process, so each process has one of its own.
      const role = start(name, `logs-${restarts + 1}`);
      roles.set(name, role);
      await role.ready(signal);
    },
    async close() {
      await Promise.all(Array.from(roles.values(), (role) => role.stop()));
      await balancer?.close();
    },
    killNow() {
      for (const role of roles.values()) role.killNow();
    },
  };
}
