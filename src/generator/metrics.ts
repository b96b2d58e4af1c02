/** Metrics of the generator, with upstream's names (section 8.5). */
import { type Counter, functionDurationSeconds, type Gauge, type Histogram, type Metrics } from "../util/metrics.ts";

export type GeneratorAction = "Create" | "Sync" | "Delete" | "Dangling" | "Finalizing" | "CleanSourceFinalizer";

export interface GeneratorMetrics {
  readonly reconcile: Histogram;
  readonly actions: Counter;
  readonly queueSize: Gauge;
}

export function createGeneratorMetrics(metrics: Metrics): GeneratorMetrics {
  return {
    reconcile: metrics.histogram(
      "generator_reconcile",
      "Duration of one reconciliation of a source object, in seconds",
      ["group", "version", "resource", "namespace", "error"],
      functionDurationSeconds,
    ),
    actions: metrics.counter("generator_action", "What the generator did, by action", [
      "group",
      "version",
      "resource",
      "namespace",
      "action",
    ]),
    queueSize: metrics.gauge(
      "generator_queue_entries",
      "Objects in the work queue, those that wait for a moment included",
    ),
  };
}
