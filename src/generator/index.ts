/**
 * The generator: turns workloads into PodProtectors and keeps them until the workload is deleted explicitly.
 * - controller.ts: events in, what each Deployment wants, dangling PodProtectors.
 * - deployment-plan.ts: the PodProtector that a Deployment wants. drift.ts: what differs from it.
 * - protector-lifecycle.ts: create, sync, release.
 * - remove-cells.ts: the annotation remove-cell-once.
 * - paced-queue.ts: the work queues. pacer.ts: how often one object is worked on.
 */
export { Generator, type GeneratorSettings } from "./controller.ts";
export { createGeneratorMetrics } from "./metrics.ts";
