/** What a soak prints. */
import os from "node:os";
import { type ClusterTally } from "./cluster.ts";
import { type FloorWatch } from "./checks/floors.ts";
import { type Judgement, type Sample, type Usage } from "./usage.ts";

export interface Progress {
  readonly seconds: number;
  readonly of: number;
  /** Changes of pods since the start. */
  readonly events: number;
  readonly tallies: readonly ClusterTally[];
  readonly floors: FloorWatch;
  readonly samples: readonly Sample[];
  readonly done: Readonly<Record<string, number>>;
}

const quantities: readonly (keyof Usage)[] = ["heapMB", "residentMB", "files", "sockets", "timers"];
const kinds = ["admitted", "refused", "failed", "starved"] as const;
const digitsOf = (quantity: keyof Usage): number => (quantity === "heapMB" ? 1 : 0);

/** One line: how far it is, what was done, what the largest processes hold. */
export function progressLine({ seconds, of, events, tallies, floors, samples, done }: Progress): string {
  const sumOf = (kind: (typeof kinds)[number]): number => tallies.reduce((sum, tally) => sum + tally.reviews[kind], 0);
  const newest = new Map(samples.map((sample) => [sample.name, sample.usage]));
  const largest = (quantity: keyof Usage): string =>
    Math.max(...Array.from(newest.values(), (usage) => usage[quantity])).toFixed(0);
  return [
    `${seconds.toFixed(0).padStart(5)}/${of} s`,
    `${(events / seconds).toFixed(0)} pod events/s`,
    `reviews ${kinds.map((kind) => `${sumOf(kind)} ${kind}`).join(" ")}`,
    `least spare ${floors.leastSpare}`,
    `largest: heap ${largest("heapMB")} MB, ${largest("files")} files, ${largest("timers")} timers`,
    Object.entries(done)
      .map(([what, times]) => `${what} ${times}`)
      .join(" "),
    `load ${os.loadavg()[0]!.toFixed(0)}`,
  ].join("; ");
}

/** A line for each process: where each quantity ends, and by how much it grew in the second half. */
export function table(samples: readonly Sample[], judgements: readonly Judgement[]): readonly string[] {
  const names = [...new Set(samples.map(({ name }) => name))];
  const width = Math.max(...names.map((name) => name.length));
  const head = ["process".padEnd(width), ...quantities.map((quantity) => `${quantity} (growth)`.padStart(20))];
  const rows = names.map((name) =>
    [
      name.padEnd(width),
      ...quantities.map((quantity) => {
        const found = judgements.find((one) => one.name === name && one.quantity === quantity);
        if (found === undefined) return "".padStart(20);
        const digits = digitsOf(quantity);
        const { last, growth, scatter } = found.trend;
        if (Number.isNaN(growth)) return "too few samples".padStart(20);
        const sign = growth < 0 ? "" : "+";
        const mark = found.grows ? " !" : "";
        return `${last.toFixed(digits)} (${sign}${growth.toFixed(1)}±${scatter.toFixed(1)})${mark}`.padStart(20);
      }),
    ].join(" "),
  );
  return [head.join(" "), ...rows];
}
