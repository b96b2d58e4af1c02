/**
 * The generator: turns workloads into PodProtectors and keeps them until the workload is deleted explicitly.
 * - controller.ts: events in, queue, dangling protectors. protector-lifecycle.ts: create, sync, release. drift.ts: what
 *   differs.
 * - pacer.ts: how often one object is worked on.
 * - remove-cells.ts: the remove-cell-once annotation. What a Deployment wants is decided in
 *   generator/deployment-plan.ts.
 */
export { Generator, type GeneratorSettings } from "./controller.ts";
export { createGeneratorMetrics } from "./metrics.ts";
