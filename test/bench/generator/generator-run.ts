/** The generator role in a process of its own over a counted core, and a plain client beside it, to compare it with. */
import { type ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf, startChild } from "../processes/child.ts";
import type { Usage } from "../processes/child-hook.ts";
import { type CountedCore } from "../processes/counted-core.ts";
import { ticksOf } from "../processes/cpu-shares.ts";
import { type ProductProcess, Products, usageArgs, usageOf } from "../processes/products.ts";
import type { PlainAnswer } from "./plain-client.ts";

export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** The flags' defaults. */
export const defaultRate: RateLimit = { qps: 200, burst: 400 };

/** Ends a wait for what hangs: ten times what the longest of it took on a busy machine. */
const quietLimitMs = 600_000;
/** So many seconds in a row nothing is done. */
const quietSeconds = 3;
/** Of CPU time in a second: timers and the renewal of a Lease need a tick or two. */
const quietTicksMax = 5;

export class GeneratorRun {
  readonly process: ProductProcess;
  readonly #products: Products;

  private constructor(process: ProductProcess, products: Products) {
    this.process = process;
    this.#products = products;
  }

  /** Does not wait until it is ready: its start is what is measured. `name`: of its log, and of a profile. */
  static async start(core: CountedCore, name: string, args: readonly string[], rate: RateLimit): Promise<GeneratorRun> {
    const products = new Products();
    const ofCore = [
      "--role=generator",
      `--core-kube-master=${core.url}`,
      `--core-kube-qps=${rate.qps}`,
      `--core-kube-burst=${rate.burst}`,
    ];
    return new GeneratorRun(await products.start(name, () => [...ofCore, ...args]), products);
  }

  /** Resolves when nothing is done any more. */
  async quiet(): Promise<void> {
    await quiet(this.process.pid);
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await this.#products.end();
  }
}

async function quiet(pid: number): Promise<void> {
  const endMs = performance.now() + quietLimitMs;
  let before = ticksOf(pid);
  for (let seconds = 0; seconds < quietSeconds;) {
    await delay(1_000);
    const now = ticksOf(pid);
    seconds = now - before <= quietTicksMax ? seconds + 1 : 0;
    before = now;
    if (performance.now() > endMs) throw new Error(`process ${pid} is still busy after ${quietLimitMs / 1000} s`);
  }
}

/** Lists and watches the same objects, makes a PodProtector for each, and does nothing else. */
export class PlainRun {
  readonly #child: ChildProcess;
  /** What it had used when all was made. */
  readonly made: PlainAnswer;

  private constructor(child: ChildProcess, made: PlainAnswer) {
    this.#child = child;
    this.made = made;
  }

  /** Resolves when it has made all. `resources`: as `apps/v1/deployments`. */
  static async start(core: CountedCore, resources: readonly string[], rate: RateLimit): Promise<PlainRun> {
    const args = [core.url, String(rate.qps), String(rate.burst), ...resources];
    const child = startChild(new URL("plain-client.ts", import.meta.url), args, { execArgv: usageArgs });
    const made = await messageOf<PlainAnswer>(child, quietLimitMs);
    return new PlainRun(child, made);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  usage(): Promise<Usage> {
    return usageOf(this.#child);
  }

  stop(): void {
    this.#child.disconnect();
  }
}
