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
  /** PodProtectors that there have ever been. */
  readonly protectors: number;
  /** Pods that there have ever been. */
  readonly pods: number;
  /** Reviews that have reached the process and have not been answered; undefined = somebody else asks as well. */
  readonly reviews: number | undefined;
}

/** Fences that wait for their turn (aggregator/fencer.ts). */
const fencesWaitingMax = 1_000;

type Limit = (there: Remembered) => number;

const limits: ReadonlyMap<string, Limit> = new Map<string, Limit>([
  ["webhook_podprotectors core", ({ protectors }) => protectors],
  ["webhook_reviews_in_flight", ({ reviews }) => reviews ?? reviewsInFlightMax],
  ["retrybatch_inflight_keys podprotector-update", ({ protectors }) => protectors],
  ["aggregator_next_event_pool_current_size 0", ({ protectors }) => protectors],
  ["aggregator_table_entries protectors", ({ protectors }) => protectors],
  ["aggregator_table_entries selectors", ({ protectors }) => protectors],
  ["aggregator_table_entries queue", ({ protectors }) => protectors],
  ["aggregator_table_entries barrier-pool", ({ protectors }) => protectors],
  ["aggregator_table_entries fence-pool", ({ pods }) => pods],
  ["aggregator_table_entries fences", ({ pods }) => pods],
  ["aggregator_table_entries fences-waiting", ({ pods }) => Math.min(pods, fencesWaitingMax)],
]);

/** Empty when nobody asks for anything any more. */
const emptyAtRest = ["webhook_reviews_in_flight", "retrybatch_inflight_keys podprotector-update"];
/** Empty when nothing has to be counted or settled any more. */
const emptyWhenSettled = [
  "aggregator_next_event_pool_current_size 0",
  "aggregator_table_entries queue",
  "aggregator_table_entries barrier-pool",
  "aggregator_table_entries fence-pool",
  "aggregator_table_entries fences-waiting",
  "generator_queue_entries",
];

/** Every table of the process is within its limit. */
export function checkBounds(kernel: Kernel, keeper: Keeper, there: Remembered): void {
  if (keeper.node() === undefined) return;
  const gauges = keeper.gauges();
  for (const [name, limit] of limits) {
    const size = gauges.get(name) ?? 0;
    if (size > limit(there)) kernel.fail(`${keeper.name}: ${name} is ${size}, and there are ${limit(there)} at most`);
  }
}

/** What is left in tables that should be empty; `isSettled`: also in those of unfinished work. */
export function leftovers(keepers: readonly Keeper[], isSettled: boolean): string[] {
  const names = isSettled ? [...emptyAtRest, ...emptyWhenSettled] : emptyAtRest;
  return keepers.flatMap((keeper) => {
    if (keeper.node() === undefined) return [];
    const gauges = keeper.gauges();
    return names.flatMap((name) => {
      const size = gauges.get(name) ?? 0;
      return size > 0 ? [`${keeper.name}: ${name} is ${size}`] : [];
    });
  });
}
