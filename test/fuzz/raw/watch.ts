/** What is seen of a webhook process from outside while it is fuzzed: its end, its log, its files and its heap. */
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { get } from "../../../scripts/role-process.ts";
import { type PodseidonProcess } from "../../e2e/fleet/process.ts";

export interface Usage {
  readonly files: number;
  /** With the buffers beside the heap, after all garbage is collected. */
  readonly heapMB: number;
  readonly residentMB: number;
}

/**
 * What may be more at the end than it was after the warm-up. Files: the connections to the core come and go. Heap: the
 * history of the one PodProtector grows, and code that ran for the first time is kept.
 */
const slack = { files: 8, heapMB: 16 } as const;
/** The longest that a closed connection may keep anything: the limit of a head or a handshake, and a busy machine. */
const settleMs = 60_000;
const pollMs = 250;
/** A busy process may not have collected all before it was asked, and a baseline that is too high would hide a leak. */
const baselineSamples = 5;
/** Garbage is collected twice, the second time in a later turn; then the scrape is answered. */
const collectMs = 100;

/** A line of the log that tells of a mistake in the program; undefined = this one does not. */
export function logProblem(line: string): string | undefined {
  if (line === "") return undefined;
  if (!line.startsWith("{")) return `the log has a line that is none of its own: ${line.slice(0, 300)}`;
  const { level, msg } = JSON.parse(line) as { level?: unknown; msg?: unknown };
  const isBug = level === "fatal" || /unexpected|crash|uncaught|unhandled|Listener error/i.test(String(msg));
  return isBug ? `the log reports a mistake: ${line.slice(0, 500)}` : undefined;
}

/** What has grown beyond what is allowed; undefined = nothing has. */
export function growth(before: Usage, after: Usage): string | undefined {
  if (after.files > before.files + slack.files) return `${after.files} files are open, ${before.files} before`;
  // Not a number, which is a metric that is gone, is a finding as well.
  if (after.heapMB - before.heapMB <= slack.heapMB) return undefined;
  return `${after.heapMB.toFixed(1)} MB of heap are in use, ${before.heapMB.toFixed(1)} MB before`;
}

export class Watch {
  readonly #webhook: PodseidonProcess;
  readonly name: string;
  #readBytes: number;

  /** What the process has logged so far is no matter. */
  constructor(webhook: PodseidonProcess) {
    this.#webhook = webhook;
    this.name = webhook.process.name;
    this.#readBytes = Buffer.byteLength(webhook.process.log());
  }

  /** What is wrong since the last call: it has ended, its log tells of a mistake, or its probes fail. */
  async problem(): Promise<string | undefined> {
    const exit = this.#webhook.process.exit();
    const logged = this.#newLines().map(logProblem);
    const fromLog = logged.find((line) => line !== undefined);
    if (exit !== undefined) return `it has ended: ${JSON.stringify(exit)}; ${fromLog ?? "its log says nothing"}`;
    if (fromLog !== undefined) return fromLog;
    const { health, metrics } = this.#webhook.ports;
    for (const [port, path] of [
      [health, "/livez"],
      [health, "/readyz"],
      [metrics, "/metrics"],
    ] as const) {
      const code = await get(`http://127.0.0.1:${port}${path}`).then((answer) => answer.code, String);
      if (code !== 200) return `${path}: ${code}`;
    }
    return undefined;
  }

  /** Once nobody is connected any more. */
  async usage(): Promise<Usage> {
    this.#webhook.process.signal("SIGUSR2");
    await delay(collectMs);
    const metrics = await this.#metrics();
    const heapBytes = ["nodejs_heap_size_used_bytes", "nodejs_external_memory_bytes"]
      .map((name) => metrics.value(name) ?? Number.NaN)
      .reduce((sum, bytes) => sum + bytes, 0);
    const { pid } = this.#webhook.process;
    const residentKB = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    const files = readdirSync(`/proc/${pid}/fd`).length;
    return { files, heapMB: heapBytes / 1e6, residentMB: residentKB / 1024 };
  }

  /** The smallest of several usages, to compare later ones with. */
  async baseline(): Promise<Usage> {
    let least = await this.usage();
    for (let sample = 1; sample < baselineSamples; sample += 1) {
      await delay(pollMs);
      const { files, heapMB, residentMB } = await this.usage();
      least = {
        files: Math.min(files, least.files),
        heapMB: Math.min(heapMB, least.heapMB),
        residentMB: Math.min(residentMB, least.residentMB),
      };
    }
    return least;
  }

  /** The usage when nothing is larger than it was, or as it is when the patience is at its end. */
  async usageBackAt(before: Usage): Promise<Usage> {
    const endMs = performance.now() + settleMs;
    for (;;) {
      const usage = await this.usage();
      if (growth(before, usage) === undefined || performance.now() > endMs) return usage;
      await delay(pollMs);
    }
  }

  async reviewsInFlight(): Promise<number> {
    return (await this.#metrics()).value("webhook_reviews_in_flight") ?? Number.NaN;
  }

  /** On a busy machine an answer may take longer than a probe waits for it. */
  async #metrics(): ReturnType<PodseidonProcess["metrics"]> {
    const endMs = performance.now() + settleMs;
    for (;;) {
      try {
        return await this.#webhook.metrics();
      } catch (error) {
        if (performance.now() > endMs || this.#webhook.process.exit() !== undefined) throw error;
      }
    }
  }

  #newLines(): readonly string[] {
    const file = openSync(this.#webhook.process.logFile, "r");
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#readBytes);
      readSync(file, bytes, 0, bytes.length, this.#readBytes);
      // The last line may still be on its way.
      const whole = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
      this.#readBytes += whole.length;
      return whole.toString("utf8").split("\n");
    } finally {
      closeSync(file);
    }
  }
}
