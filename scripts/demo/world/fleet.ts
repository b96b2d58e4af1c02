/**
 * A core and its workers with the processes of Podseidon: what the demo plays on, and what the playground leaves to
 * people.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ApiServer, type CallWebhook } from "../../../test/double/index.ts";
import { type ServicePlan } from "../scenario.ts";
import { type Cell, type WorkerOptions, installWebhook, startCore, startWorkers } from "./clusters.ts";
import { writeFleetKubeconfig } from "./fleet-kubeconfig.ts";
import { type Podseidon, startPodseidon } from "./podseidon.ts";

export interface Fleet {
  readonly core: ApiServer;
  readonly cells: readonly Cell[];
  readonly podseidon: Podseidon;
  /** For people: its contexts are `core`, which is the current one, and the cells by their names. */
  readonly kubeconfigFile: string;
  /** Waits until all processes are ready; from then on the workers ask Podseidon before each deletion. Only once. */
  guard(): Promise<void>;
  /** Ends everything and removes all files; resolves when that is done. */
  close(): Promise<void>;
  /** Kills all processes at once and removes all files; for exit handlers. */
  killNow(): void;
}

export interface FleetOptions {
  /** Deployments of the core. */
  readonly plans: readonly ServicePlan[];
  readonly workers: Omit<WorkerOptions, "callWebhook">;
  /** How the workers call webhooks. */
  readonly callWebhook: CallWebhook;
  readonly signal: AbortSignal;
  /** A process ended, and nobody here had asked for it. */
  readonly onCrash: (report: string, name: string) => void;
}

/** Starts clusters and processes; they come up in their own time. Rejects when a cluster cannot listen. */
export async function startFleet({ plans, workers, callWebhook, signal, onCrash }: FleetOptions): Promise<Fleet> {
  const directory = mkdtempSync(path.join(tmpdir(), "podseidon-"));
  const removeFiles = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    const core = await startCore(plans);
    const clusters = await startWorkers({ ...workers, callWebhook });
    const { cells } = clusters;
    const podseidon = startPodseidon({ core, cells, directory, signal, onCrash });
    const kubeconfigFile = path.join(directory, "kubeconfig");
    writeFleetKubeconfig(kubeconfigFile, core.url, cells);
    return {
      core,
      cells,
      podseidon,
      kubeconfigFile,
      async guard() {
        await podseidon.ready();
        const url = await podseidon.serve();
        for (const cell of cells) await installWebhook(cell, url);
      },
      async close() {
        await podseidon.close();
        await clusters.close();
        await core.close();
        removeFiles();
      },
      killNow() {
        podseidon.killNow();
        removeFiles();
      },
    };
  } catch (error) {
    removeFiles();
    throw error;
  }
}
