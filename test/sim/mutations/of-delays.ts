/** Mutations that break no floor, but refuse what could be admitted (docs/accounting.md#the-promise). */
import { type Mutation } from "./mutation.ts";

export const mutationsOfDelays: readonly Mutation[] = [
  {
    name: "terminating-pod-holds-its-quota",
    why: "a bucket settles as soon as its pod terminates",
    file: "accounting/settle/settlement.ts",
    find: `if (pod.isTerminating) return { kind: "settled", reason: "terminating" };`,
    replace: ``,
    only: ["evictions"],
  },
  {
    name: "moved-pod-holds-its-quota",
    why: "a bucket settles when its pod has a newer version than it was admitted at",
    file: "accounting/settle/settlement.ts",
    find:
      `if (compareResourceVersions(pod.resourceVersion, version) > 0) return { kind: "settled", reason: ` +
      `"newer-version" };`,
    replace: ``,
    only: ["flapping-pods", "other-refusals"],
  },
  {
    name: "counts-are-late",
    why: "counts are written within the aggregation rate",
    file: "aggregator/controller.ts",
    find: `aggregationRateMs * uniform(`,
    replace: `10 * aggregationRateMs * uniform(`,
    only: [],
  },
  {
    name: "failing-fences-never-give-up",
    why: "no bucket waits for ever for a fence that never succeeds",
    file: "accounting/settle/settlement.ts",
    find: `if (snapshot.barrierSentAtMs > fromMs) return { kind: "settled", reason: "gave-up" };`,
    replace: ``,
    only: ["losses", "other-refusals"],
    plan: { loss: "fences", updateTrigger: true },
  },
  {
    name: "dead-leader-keeps-its-lease",
    why: "a Lease that its holder has not renewed for its duration is taken over",
    file: "kube/leader-election/elector.ts",
    find: `return this.clock.monotonicMs() < later(this.#observedAtMs, durationMs) ? other : undefined;`,
    replace: `return durationMs >= 0 ? other : undefined;`,
    only: ["losses"],
    plan: { loss: "aggregator", aggregatorsPerCell: 2 },
  },
  {
    name: "turn-that-never-comes",
    why: "a peer that has nothing to write is passed over",
    file: "webhook/protector/write-turn.ts",
    find: `later(this.#lastAt, placesBehind * slotMs);`,
    replace: `later(this.#lastAt, placesBehind * slotMs * 1_000);`,
    only: [],
    plan: { webhooks: 3, deletionsPerSecond: 5 },
  },
  {
    name: "object-rests-for-ever",
    why: "after a batch an object rests for as long as its write took, and 50 ms at most",
    file: "webhook/protector/write-turn.ts",
    find: `later(this.#lastAt, Math.min(restMsMax, this.#writeMs))`,
    replace: `later(this.#lastAt, restMsMax * 1_000)`,
    only: [],
    plan: { cells: ["a"], podsPerCell: 20, minAvailable: 2, webhooks: 1, deletionsPerSecond: 20 },
  },
  {
    name: "own-bytes-are-slow",
    why: "an object waits for as long as its bytes take at 2 MB/s",
    file: "webhook/protector/write-pace.ts",
    find: `const ownMs = bytes / bytesPerMs;`,
    replace: `const ownMs = bytes * 10;`,
    only: [],
    plan: { cells: ["a"], podsPerCell: 20, minAvailable: 2, webhooks: 1, deletionsPerSecond: 20 },
  },
];
