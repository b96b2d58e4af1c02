/**
 * The generator: turns workloads into PodProtectors and keeps them until the workload is deleted explicitly.
 * - controller.ts: events in, actions out. facts.ts: what is known of a source. decide.ts: what is to be done about it.
 *   paced-queue.ts, pacer.ts: how often one object is worked on.
 * - sources/: workloads as the caches have them, which of them ask for a PodProtector, and for which.
 * - feeds/: what tells of workloads that are more than one watched object: custom resources, budgets, followed floors.
 * - protectors/: how PodProtectors are made, kept, released, missed and made again.
 * - mass-changes/: what is held when too many sources change at once; its own map is held-changes.ts.
 * - cells/: what is done about cells. conditions/: what PodProtectors say to people. metrics/: what gauges say.
 */
export { Generator, type GeneratorSettings } from "./controller.ts";
export { CellController } from "./cells/cell-controller.ts";
export { FollowedFloors } from "./feeds/followed-floors.ts";
export { createHeldChanges } from "./mass-changes/create.ts";
export { type HeldChanges } from "./mass-changes/held-changes.ts";
export { createSourceFeeds } from "./feeds/source-feeds.ts";
export { decodeNamespace, type LabelledNamespace } from "./sources/namespace-modes.ts";
export { NamespaceModes } from "./sources/namespace-modes.ts";
export { ScaleAlarms } from "./feeds/scale-alarms.ts";
export { SourceCaches } from "./sources/source-caches.ts";
export { IgnoredOverrides } from "./sources/ignored-overrides.ts";
export { createGeneratorMetrics } from "./metrics/metrics.ts";
export { createMonitor } from "./metrics/monitor.ts";
export { ConditionWriter } from "./conditions/condition-writer.ts";
export { UnusableProtectors } from "./conditions/unusable-protectors.ts";
