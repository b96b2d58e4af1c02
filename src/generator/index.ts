/**
 * The generator: turns workloads into PodProtectors and keeps them until the workload is deleted explicitly.
 * - controller.ts: events in, what each source wants, dangling PodProtectors.
 * - source-caches.ts: the sources of all kinds, by the keys of their PodProtectors. source-choice.ts: which of them ask
 *   for one. source-plan.ts: what they want. drift.ts: what differs from it. The kinds are in src/sources/.
 * - source-feeds.ts: what tells of the sources of each kind. scaled-sources.ts: of custom resources, by their scale.
 *   budget-sources.ts: of PodDisruptionBudgets, by expected-pods.ts. resolved-sources.ts: what both are made of.
 * - followed-floors.ts: floors of hand-made PodProtectors that follow workloads, by expected-pods.ts.
 *   scale-alarms.ts: what people are told of scales that cannot be read.
 * - wanted-protectors.ts: which PodProtector a source asks for. namespace-modes.ts: by which mode of its namespace.
 *   namespace-labels.ts: what a Namespace says.
 * - source-states.ts: how sources fare, for gauges. source-conditions.ts: writes it into the PodProtectors, as
 *   floor-conditions.ts has it in words. condition-writer.ts: how conditions are written. unusable-protectors.ts: which
 *   PodProtectors are invalid.
 * - optional-fields.ts: what overrides of a source set in its PodProtector. ignored-overrides.ts: tells of those that
 *   are ignored.
 * - protector-lifecycle.ts: create, sync, release. present-sources.ts: sources as they are now.
 * - dangling-protectors.ts: whose source vanished, told once.
 * - releases.ts: the list of what was released lately. vanished-protectors.ts: what vanished without.
 *   recreation.ts: makes it again.
 *   protector-crd.ts: whether there is a CRD to make it of.
 * - cell-controller.ts: what is done about cells, and when.
 * - cell-removals.ts: which cells leave which PodProtectors. remove-cells.ts: how. ghost-cells.ts: what a ghost is.
 * - silent-cell-marks.ts: marks on the Leases of silent cells. cell-conditions.ts: conditions for people.
 *   ignored-annotations.ts: Events about annotations that cannot be read.
 * - cell-retirement.ts: when a cell may be retired. retire-cells.ts: how. cell-lease-writes.ts: writes about Leases.
 * - mass-changes/: what is held when too many sources change at once; its own map is held-changes.ts.
 * - monitor.ts: sums over all PodProtectors. monitor-metrics.ts: as gauges of the leader.
 * - paced-queue.ts: the work queues. pacer.ts: how often one object is worked on.
 */
export { Generator, type GeneratorSettings } from "./controller.ts";
export { CellController } from "./cells/cell-controller.ts";
export { FollowedFloors } from "./feeds/followed-floors.ts";
export { createHeldChanges } from "./mass-changes/create.ts";
export { type HeldChanges } from "./mass-changes/held-changes.ts";
export { createSourceFeeds } from "./feeds/source-feeds.ts";
export { decodeNamespace, type LabelledNamespace } from "./sources/namespace-labels.ts";
export { NamespaceModes } from "./sources/namespace-modes.ts";
export { ScaleAlarms } from "./feeds/scale-alarms.ts";
export { SourceCaches } from "./sources/source-caches.ts";
export { IgnoredOverrides } from "./sources/ignored-overrides.ts";
export { createGeneratorMetrics } from "./metrics/metrics.ts";
export { createMonitor } from "./metrics/monitor-metrics.ts";
export { SourceConditions } from "./conditions/source-conditions.ts";
export { UnusableProtectors } from "./conditions/unusable-protectors.ts";
