/** A cluster of a soak, seen from the process that started it. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type ProcessSet } from "../../scripts/child-processes.ts";
import { type PodCounts, type SeenProtector } from "./checks/counts.ts";
import { type SeenChanges } from "./checks/floors.ts";
import { type Reviews } from "./checks/review-tally.ts";
import { type ClusterName } from "./schedule.ts";

export type ClusterOrder =
  /** From now on the webhook at the URL is asked. */
  | { readonly do: "guard"; readonly url: string }
  | { readonly do: "begin"; readonly eventsPerSecond: number }
  | { readonly do: "roll"; readonly service: string; readonly turn: number }
  | { readonly do: "scale"; readonly perWorker: number }
  | { readonly do: "come" | "leave"; readonly service: string }
  | { readonly do: "disconnect"; readonly forget: boolean }
  | { readonly do: "sicken"; readonly how: "slow" | "stalled" | "well" }
  /** Writes the holder into the Lease; empty = nobody. */
  | { readonly do: "hold"; readonly lease: string; readonly holder: string }
  | { readonly do: "end" | "tally" | "counts" | "isSteady" | "protectors" | "workloads" };

export interface ClusterTally {
  /** Changes of pods so far. */
  readonly events: number;
  /** Deletions that people asked for so far. */
  readonly deletions: number;
  readonly reviews: Reviews;
  /** How often the machine kept the process of the cluster from running. */
  readonly stalls: number;
  /** Since the last tally; the core has no pods. */
  readonly seen: SeenChanges | undefined;
}

interface Answers {
  readonly tally: ClusterTally;
  readonly counts: PodCounts;
  readonly isSteady: boolean;
  readonly protectors: readonly SeenProtector[];
  readonly workloads: readonly string[];
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Message {
  readonly id: number;
  readonly answer?: unknown;
  readonly error?: string;
}

export class Cluster {
  readonly name: ClusterName;
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #waiting: Map<number, Waiting>;
  #orders = 0;

  private constructor(name: ClusterName, url: string, child: ChildProcess, waiting: Map<number, Waiting>) {
    this.name = name;
    this.url = url;
    this.#child = child;
    this.#waiting = waiting;
  }

  /** Resolves when it listens. It ends with the set, or with this process. */
  static async start(name: ClusterName, processes: ProcessSet): Promise<Cluster> {
    const child = fork(fileURLToPath(new URL("cluster-process.ts", import.meta.url)), [name], {
      stdio: "inherit",
      serialization: "advanced",
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    processes.track(child);
    const waiting = new Map<number, Waiting>();
    child.on("message", ({ id, answer, error }: Message) => {
      const one = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) one?.resolve(answer);
      else one?.reject(new Error(`${name}: ${error}`));
    });
    child.on("exit", (code, signal) => {
      for (const one of waiting.values()) one.reject(new Error(`the cluster ${name} ended: ${signal ?? code}`));
    });
    const url = await new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }));
    return new Cluster(name, url as string, child, waiting);
  }

  async ask<K extends keyof Answers>(what: K): Promise<Answers[K]> {
    return (await this.#send({ do: what })) as Answers[K];
  }

  async order(order: Exclude<ClusterOrder, { readonly do: "tally" }>): Promise<void> {
    await this.#send(order);
  }

  #send(order: ClusterOrder): Promise<unknown> {
    const id = ++this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, order }, (error) => error && reject(error));
    });
  }
}
