/**
 * Podseidon as it would be deployed: a generator, one aggregator for each cell, an update-trigger of its own, two
 * webhook replicas.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ProcessSet } from "../../child-processes.ts";
import { type ApiServer } from "../../../test/double/index.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { type Cell } from "./clusters.ts";
import { DemoRole } from "./role-process.ts";

export interface Podseidon {
  readonly roles: readonly DemoRole[];
  readonly webhooks: readonly DemoRole[];
  /** Resolves when every role is ready, to the URL that leads to all webhook replicas. */
  ready(): Promise<string>;
  /** Ends all processes; resolves when they have gone. */
  close(): Promise<void>;
  /** Kills all at once; for exit handlers. */
  killNow(): void;
}

export interface PodseidonOptions {
  readonly core: ApiServer;
  readonly cells: readonly Cell[];
  readonly signal: AbortSignal;
  /** A process ended by itself. */
  readonly onCrash: (report: string) => void;
}

/**
 * Command lines of all processes by name. The flags are those of a real installation; the rest is left at its defaults.
 */
function commandLines(
  core: string,
  cells: readonly { name: string; url: string; kubeconfig: string }[],
): [string, string[]][] {
  const coreFlag = `--core-kube-master=${core}`;
  const configs = cells.map(({ name, kubeconfig }) => `${name}=${kubeconfig}`).join(",");
  const webhook = (): string[] => [
    "--role=webhook",
    coreFlag,
    "--webhook-bind-addr=127.0.0.1",
    "--webhook-port=0",
    "--webhook-worker-client-provider=map",
    `--webhook-worker-client-provider.map-configs=${configs}`,
    `--webhook-allowed-cells=${cells.map(({ name }) => name).join(",")}`,
  ];
  const last = cells.at(-1)!;
  return [
    ["webhook-1", webhook()],
    ["webhook-2", webhook()],
    ["generator", ["--role=generator", coreFlag]],
    ...cells.map(({ name, url }): [string, string[]] => [
      `aggregator-${name}`,
      [
        "--role=aggregator",
        coreFlag,
        `--worker-kube-master=${url}`,
        `--aggregator-cell-id=${name}`,
        // The last cell has its update-trigger in a process of its own.
        ...(name === last.name ? ["--update-trigger-enable=false"] : []),
      ],
    ]),
    [`update-trigger-${last.name}`, ["--role=update-trigger", `--worker-kube-master=${last.url}`]],
  ];
}

/** Starts all processes at once; they become ready in their own time. */
export function startPodseidon({ core, cells, signal, onCrash }: PodseidonOptions): Podseidon {
  const directory = mkdtempSync(path.join(tmpdir(), "podseidon-demo-"));
  const workers = cells.map(({ name, server }) => {
    const kubeconfig = path.join(directory, name);
    server.writeKubeconfig(kubeconfig);
    return { name, url: server.url, kubeconfig };
  });
  const processes = new ProcessSet();
  const roles = commandLines(core.url, workers).map(
    ([name, args]) => new DemoRole({ processes, name, args, directory, onCrash }),
  );
  const webhooks = roles.filter(({ name }) => name.startsWith("webhook-"));
  let balancer: Balancer | undefined;
  return {
    roles,
    webhooks,
    async ready() {
      await Promise.all(roles.map((role) => role.ready(signal)));
      signal.throwIfAborted();
      balancer = await startBalancer(webhooks.map((role) => role.port("webhook")));
      return balancer.url;
    },
    async close() {
      await Promise.all(roles.map((role) => role.stop()));
      await balancer?.close();
      rmSync(directory, { recursive: true, force: true });
    },
    killNow() {
      for (const role of roles) role.killNow();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
