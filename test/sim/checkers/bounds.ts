/**
 * What a process keeps has limits (docs/contributing.md#limits), and none of it is left behind when all is done. Read
 * from the gauges of the product, after every commit in the core and every answer. A world is far smaller than the
 * limits that the product states, so that each table is also compared with what is there: an entry that is forgotten
 * shows long before a limit does.
 */
import { reviewsInFlightMax } from "../../../src/webhook/http/in-flight-limit.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type SimNode } from "../kernel/node.ts";

/** A process of the product, as far as its memory goes. */
export interface Keeper {
  readonly name: string;
  node(): SimNode | undefined;
  /** By name, with the values of the labels behind it. */
  gauges(): ReadonlyMap<string, number>;
}

/** What there is in the world for a process to remember, at most. */
export interface Remembered {
  /** PodProtectors that there have ever been, by the core. */
  readonly protectors: ReadonlyMap<string, number>;
  /** Pods that there have ever been. */
  readonly pods: number;
  /** Reviews that have reached the process and have not been answered; undefined = somebody else asks as well. */
  readonly reviews: number | undefined;
}

/** Fences that wait for their turn (src/aggregator/counting/fencer.ts). */
const fencesWaitingMax = 1_000;

/** Reviews that a replica holds (webhook/decide/held-reviews.ts). */
const heldMax = 64;

/** `protectors`: of the core, or of all. */
type Limit = (there: Remembered, protectors: number) => number;

const ofProtectors: Limit = (_there, protectors) => protectors;
const ofPods: Limit = ({ pods }) => pods;

/** PodProtectors of which a webhook gathers or executes a batch, in all cores. */
const batches = "retrybatch_inflight_keys podprotector-update";

const ofReplica: ReadonlyMap<string, Limit> = new Map<string, Limit>([
  ["webhook_reviews_in_flight", ({ reviews }) => reviews ?? reviewsInFlightMax],
  ["webhook_reviews_held", ({ reviews = heldMax }) => Math.min(reviews, heldMax)],
  [batches, ofProtectors],
]);
/** Of what a process keeps of each core. */
const ofCore: ReadonlyMap<string, Limit> = new Map<string, Limit>([
  ["webhook_podprotectors", ofProtectors],
  ["aggregator_next_event_pool_current_size 0", ofProtectors],
  ["aggregator_table_entries protectors", ofProtectors],
  ["aggregator_table_entries selectors", ofProtectors],
  ["aggregator_table_entries queue", ofProtectors],
  ["aggregator_table_entries barrier-pool", ofProtectors],
  ["aggregator_table_entries fence-pool", ofPods],
  ["aggregator_table_entries fences", ofPods],
  ["aggregator_table_entries pods", ofPods],
  ["aggregator_table_entries unseen-pods", ofPods],
  ["aggregator_table_entries fences-waiting", ({ pods }) => Math.min(pods, fencesWaitingMax)],
]);

/** Empty when nobody asks for anything any more. */
const emptyAtRest = ["webhook_reviews_in_flight", "webhook_reviews_held", batches];
/** Empty when nothing has to be counted or settled in the core any more; and when all sources are met. */
const emptyWhenSettled = [
  "aggregator_next_event_pool_current_size 0",
  "aggregator_table_entries queue",
  "aggregator_table_entries barrier-pool",
  "aggregator_table_entries fence-pool",
  "aggregator_table_entries fences-waiting",
];
const emptyOfGenerators = ["generator_queue_entries"];

/** Every table of the process is within its limit. */
export function checkBounds(kernel: Kernel, keeper: Keeper, there: Remembered): void {
  if (keeper.node() === undefined) return;
  const gauges = keeper.gauges();
  const check = (name: string, limit: number): void => {
    const size = gauges.get(name) ?? 0;
    if (size > limit) kernel.fail(`${keeper.name}: ${name} is ${size}, and there are ${limit} at most`);
  };
  const all = [...there.protectors.values()].reduce((sum, count) => sum + count, 0);
  for (const [name, limit] of ofReplica) check(name, limit(there, all));
  const isOnly = there.protectors.size === 1;
  for (const [core, protectors] of there.protectors)
    for (const [name, limit] of ofCore) check(gaugeOf(name, core, isOnly), limit(there, protectors));
}

/** Aggregators name the core where there are several, webhooks always. */
function gaugeOf(name: string, core: string, isOnly: boolean): string {
  return isOnly && !name.startsWith("webhook_") ? name : `${name} ${core}`;
}

export interface Rest {
  /**
   * Of which something is demanded, each with how many of its PodProtectors are gone without having been released:
   * these alone may stay in force. And whether the world has no others.
   */
  readonly cores: ReadonlyMap<string, number>;
  readonly isOnly: boolean;
  /**
   * PodProtectors of cores that are lost for ever. What was admitted on their last known quota is recorded when they
   * are back, and a webhook goes on trying (webhook/outage/late-records.ts).
   */
  readonly protectorsLost: number;
  /** Tables of unfinished work should be empty too. */
  readonly isSettled: boolean;
}

/** What is left in tables that should be empty. */
export function leftovers(keepers: readonly Keeper[], rest: Rest): string[] {
  const { cores, isOnly, protectorsLost, isSettled } = rest;
  const settled = [...cores.keys()].flatMap((core) => emptyWhenSettled.map((name) => gaugeOf(name, core, isOnly)));
  const limits = new Map([...cores].map(([core, missing]) => [`webhook_tombstones ${core}`, missing]));
  const atRest = [...emptyAtRest, ...limits.keys()];
  const names = isSettled ? [...atRest, ...emptyOfGenerators, ...settled] : atRest;
  return keepers.flatMap((keeper) => {
    if (keeper.node() === undefined) return [];
    const gauges = keeper.gauges();
    return names.flatMap((name) => {
      const size = gauges.get(name) ?? 0;
      const limit = name === batches ? protectorsLost : (limits.get(name) ?? 0);
      return size > limit ? [`${keeper.name}: ${name} is ${size}`] : [];
    });
  });
}
