/** Metrics of the generator, with upstream's names where it has them (docs/compatibility.md#metrics). */
import { type Counter, functionDurationSeconds, type Histogram, type Metrics } from "../util/metrics.ts";

export type GeneratorAction = "Create" | "Sync" | "Delete" | "Dangling" | "Finalizing" | "CleanSourceFinalizer";

export interface GeneratorSizes {
  /** Deployments and PodProtectors in the work queues, including delayed ones. */
  readonly queue: number;
  /** Objects whose turns are remembered (pacer.ts). */
  readonly paced: number;
}

export interface GeneratorMetrics {
  readonly reconcile: Histogram;
  readonly actions: Counter;
  /** To be called before each scrape. */
  setSizes(sizes: GeneratorSizes): void;
}

export function createGeneratorMetrics(metrics: Metrics): GeneratorMetrics {
  const queue = metrics.gauge("generator_queue_entries", "Objects in the work queues, including delayed ones");
  const paced = metrics.gauge("generator_paced_objects", "Objects that were worked on in the last half minute");
  return {
    reconcile: metrics.histogram(
      "generator_reconcile",
      "Duration of one reconciliation of a source object, in seconds",
      ["group", "version", "resource", "namespace", "error"],
      functionDurationSeconds,
    ),
    actions: metrics.counter("generator_action", "Actions of the generator, by action", [
      "group",
      "version",
      "resource",
      "namespace",
      "action",
    ]),
    setSizes(sizes) {
      queue.set({}, sizes.queue);
      paced.set({}, sizes.paced);
    },
  };
}
