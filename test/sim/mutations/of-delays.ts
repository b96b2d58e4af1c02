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
];
