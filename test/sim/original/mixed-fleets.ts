/** Worlds of mixed fleets, beside the same worlds with the Go original alone. */
import { presentRelease as ours } from "../processes/release.ts";
import { originalRelease as original } from "./index.ts";
import { fleetOf, type MixedFleet, type MixedPlay, playMixed } from "./mixed-world.ts";

/** What is replaced, one component after the other and in other orders; the rest is the original's. */
const mixedFleets: Readonly<Record<string, MixedFleet>> = {
  "one webhook": { ...fleetOf(original), webhooks: [ours, original] },
  "both webhooks": { ...fleetOf(original), webhooks: [ours, ours] },
  "one aggregator": { ...fleetOf(original), aggregators: [ours, original] },
  "both aggregators": { ...fleetOf(original), aggregators: [ours, ours] },
  generator: { ...fleetOf(original), generator: ours },
  "one webhook and one aggregator": {
    generator: original,
    aggregators: [ours, original],
    webhooks: [ours, original],
  },
  "all but the generator": { ...fleetOf(ours), generator: original },
};

/** By name: those that promise more than the original, because all of their counts are ours. */
export const exactFleets = ["both aggregators", "all but the generator"] as const;

/**
 * By name: those in which the original's aggregators forget as ever, and its webhooks admit by that. How deep a world
 * falls is chance then, for these as for the original alone, so few worlds tell nothing about it.
 */
export const chancyFleets: readonly string[] = ["one webhook", "generator"];

export interface Comparison {
  /** Pods below the floor at the worst moment, summed over the worlds: of the original alone, and of each fleet. */
  readonly short: ReadonlyMap<string, number>;
  /** Deletions that were carried out. */
  readonly deleted: number;
  /** Admissions that went below the floor by the figures of the object itself, one line each. */
  readonly unguarded: readonly string[];
}

/** The name of the original alone in a comparison. */
export const alone = "the original alone";

/**
 * The same worlds with each fleet. Which moment a pod goes decides what the original forgets, so only sums over several
 * worlds can be compared.
 */
export async function compare(
  seeds: readonly number[],
  weather: Pick<MixedPlay, "isLagging" | "wavesMs">,
  fleets: Readonly<Record<string, MixedFleet>> = mixedFleets,
): Promise<Comparison> {
  const short = new Map<string, number>();
  const unguarded: string[] = [];
  let deleted = 0;
  for (const seed of seeds)
    for (const [name, fleet] of Object.entries({ [alone]: fleetOf(original), ...fleets })) {
      const outcome = await playMixed({ ...weather, seed }, fleet);
      short.set(name, (short.get(name) ?? 0) + Math.max(0, outcome.floor - outcome.least));
      deleted += outcome.deleted;
      unguarded.push(...outcome.unguarded.map((text) => `seed ${seed}, ours: ${name}: ${text}`));
    }
  return { short, deleted, unguarded };
}
