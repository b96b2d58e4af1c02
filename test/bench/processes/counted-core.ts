/** The core cluster of the measurements that count requests: the API double in a process of its own. */
import { type ChildProcess } from "node:child_process";
import { type JsonObject } from "../../double/index.ts";
import { messageOf, startChild } from "./child.ts";
import type { DoubleOrder, ObjectChange } from "./api-double.ts";

/** Requests by method and subject. */
export type Counts = Readonly<Record<string, number>>;

export interface SeenProtector {
  readonly namespace: string;
  readonly name: string;
  readonly spec: { readonly minAvailable: number };
}

/** Objects in one message: some megabytes. */
const batchMax = 1_000;
/** A batch takes a second on an idle machine. */
const answerLimitMs = 120_000;

export class CountedCore {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(): Promise<CountedCore> {
    const child = startChild(new URL("api-double.ts", import.meta.url), [], { serialization: "advanced" });
    return new CountedCore(child, (await answerOf(child)) as string);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Their UIDs. */
  async create(resource: string, objects: readonly JsonObject[]): Promise<readonly string[]> {
    const uids: string[] = [];
    for (let first = 0; first < objects.length; first += batchMax) {
      const batch = objects.slice(first, first + batchMax);
      uids.push(...((await this.#ask({ do: "create", resource, objects: batch })) as string[]));
    }
    return uids;
  }

  async change(resource: string, changes: readonly ObjectChange[]): Promise<void> {
    for (let first = 0; first < changes.length; first += batchMax)
      await this.#ask({ do: "change", resource, changes: changes.slice(first, first + batchMax) });
  }

  async size(resource: string): Promise<number> {
    return (await this.#ask({ do: "size", resource })) as number;
  }

  async protectors(): Promise<readonly SeenProtector[]> {
    return (await this.#ask({ do: "list", resource: "podprotectors" })) as SeenProtector[];
  }

  /** All objects of a resource are gone, without their finalizers being asked. */
  async wipe(resource: string): Promise<void> {
    await this.#ask({ do: "wipe", resource });
  }

  /** Whoever watches has to list again. */
  async relist(): Promise<void> {
    await this.#ask({ do: "relist" });
  }

  async counts(): Promise<Counts> {
    return (await this.#ask({ do: "counts" })) as Counts;
  }

  stop(): void {
    this.#child.disconnect();
  }

  async #ask(order: DoubleOrder): Promise<unknown> {
    this.#child.send(order);
    return await answerOf(this.#child);
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const { answer, error } = await messageOf<{ answer?: unknown; error?: string }>(child, answerLimitMs);
  if (error !== undefined) throw new Error(`the API double: ${error}`);
  return answer;
}

/** Lists, watches, Leases and what an elected leader reads of itself happen whatever the workloads are. */
const ofTheProcess = /^(WATCH|\S+ leases|\S+ \/)/;

/** Requests about objects between two counts, the most frequent first. */
export function requestsBetween(before: Counts, after: Counts): ReadonlyMap<string, number> {
  const all = Object.entries(after)
    .map(([what, count]) => [what, count - (before[what] ?? 0)] as const)
    .filter(([what, count]) => count > 0 && !ofTheProcess.test(what));
  return new Map(all.toSorted(([, a], [, b]) => b - a));
}

export function sumOf(requests: ReadonlyMap<string, number>): number {
  return [...requests.values()].reduce((sum, count) => sum + count, 0);
}

/** "1,000 GET podprotectors, 20 POST podprotectors". */
export function requestsText(requests: ReadonlyMap<string, number>): string {
  if (requests.size === 0) return "none";
  return [...requests].map(([what, count]) => `${count.toLocaleString("en")} ${what}`).join(", ");
}
