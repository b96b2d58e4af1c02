/** Metrics of the generator, with upstream's names where it has them (docs/compatibility.md#metrics). */
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type SourceKind } from "../../sources/source.ts";
import { type Counter, functionDurationSeconds, type Metrics } from "../../util/metrics.ts";
import { createWorkerMetrics, type Outcome, type WorkerMetrics } from "../../work-queue/index.ts";
import { type SourceCounts } from "./source-states.ts";

export type GeneratorAction =
  | "Create"
  | "Recreate"
  | "Sync"
  | "Delete"
  | "Dangling"
  | "Finalizing"
  | "CleanSourceFinalizer";

/** Something was done to an object on behalf of a source of that kind. */
export type OnAction = (
  action: GeneratorAction,
  kind: SourceKind,
  object: { readonly namespace: string; readonly name: string },
) => void;

export interface GeneratorSizes {
  /** Sources and PodProtectors in the work queues, including delayed ones. */
  readonly queue: number;
  /** Objects whose turns are remembered (pacer.ts). */
  readonly paced: number;
}

/** What is in trouble, as the leader sees it. */
export interface GeneratorTroubles {
  /** PodProtectors of kinds that this generator does not work for. */
  readonly ignored: number;
  /** PodProtectors that vanished unreleased, and are not made again yet. */
  readonly vanished: number;
  /** Releases that wait for the list of releases. */
  readonly waitingReleases: number;
  readonly isCrdLost: boolean;
}

export interface GeneratorMetrics {
  /** A source was looked at; `key` is that of its PodProtector, which has the namespace of the source. */
  reconciled(kind: SourceKind, key: ObjectKey, outcome: Outcome, durationMs: number): void;
  readonly actions: Counter;
  /** Conditions of sources that were not stored, by `error`. */
  readonly conditionFailures: Counter;
  /** The conditions CellSilent, Unmatched and NotGuarded that were not stored, by `error`. */
  readonly cellConditionFailures: Counter;
  /** Reads and writes of the list of releases that failed, by `error`. */
  readonly releaseListFailures: Counter;
  /** To be called before each scrape. */
  setTroubles(troubles: GeneratorTroubles): void;
  /** To be called before each scrape. */
  setSizes(sizes: GeneratorSizes): void;
  /** To be called before each scrape. */
  setSources(counts: SourceCounts): void;
  /** To be called before each scrape, with the numbers of sources by kind. */
  setUnreadableScales(counts: ReadonlyMap<SourceKind, number>): void;
  /** To be called before each scrape. */
  setKinds(kinds: readonly { readonly kind: SourceKind; readonly isKnown: boolean }[]): void;
}

export function createGeneratorMetrics(metrics: Metrics): GeneratorMetrics {
  const queue = metrics.gauge("generator_queue_entries", "Objects in the work queues, including delayed ones");
  const worker = createWorkerMetrics(metrics, "generator");
  const paced = metrics.gauge("generator_paced_objects", "Objects that were worked on in the last half minute");
  const undrainable = metrics.gauge(
    "generator_undrainable_sources",
    "Sources whose replicas must all stay, as the leader sees them",
  );
  const unprotected = metrics.gauge(
    "generator_unprotected_sources",
    "Sources with replicas of which none must stay, as the leader sees them",
  );
  const unprotectable = metrics.gauge(
    "generator_unprotectable_sources",
    "Sources that want a PodProtector and lack it, by reason, as the leader sees them",
    ["reason"],
  );
  return {
    reconciled: createReconcileObserver(metrics, worker),
    actions: metrics.counter("generator_action", "Actions of the generator, by action", [
      "group",
      "version",
      "resource",
      "namespace",
      "action",
    ]),
    conditionFailures: metrics.counter(
      "generator_source_condition_failures_total",
      "Writes of the conditions Undrainable, Unprotected and Dangling that failed or were dropped, by error",
      ["error"],
    ),
    cellConditionFailures: metrics.counter(
      "generator_cell_condition_failures_total",
      "Writes of the conditions CellSilent, Unmatched and NotGuarded that failed or were dropped, by error",
      ["error"],
    ),
    releaseListFailures: metrics.counter(
      "generator_release_list_failures_total",
      "Reads and writes of the list of releases that failed, by error",
      ["error"],
    ),
    setKinds: createKindGauge(metrics),
    setUnreadableScales: createScaleGauge(metrics),
    setTroubles: createTroubleGauges(metrics),
    setSizes(sizes) {
      queue.set({}, sizes.queue);
      worker.queueLength(sizes.queue);
      paced.set({}, sizes.paced);
    },
    setSources(counts) {
      undrainable.set({}, counts.undrainable);
      unprotected.set({}, counts.unprotected);
      for (const [reason, count] of counts.unprotectable) unprotectable.set({ reason }, count);
    },
  };
}

function createReconcileObserver(metrics: Metrics, worker: WorkerMetrics): GeneratorMetrics["reconciled"] {
  const reconcile = metrics.histogram(
    "generator_reconcile",
    "Duration of one reconciliation of a source object, in seconds",
    ["group", "version", "resource", "namespace", "error"],
    functionDurationSeconds,
  );
  return (kind, key, outcome, durationMs) => {
    const error = outcome.kind === "failed" ? errorLabel(outcome.error) : "nil";
    reconcile.observe({ ...kind.resource, namespace: partsOf(key).namespace, error }, durationMs / 1000);
    worker.reconciled(error, durationMs);
  };
}

function createKindGauge(metrics: Metrics): GeneratorMetrics["setKinds"] {
  const known = metrics.gauge(
    "generator_source_kind_known",
    "1 while the sources of this kind are listed and watched, 0 while their resource is not served, or not listed yet",
    ["group", "version", "resource"],
  );
  return (kinds) => {
    for (const { kind, isKnown } of kinds) known.set({ ...kind.resource }, isKnown ? 1 : 0);
  };
}

function createScaleGauge(metrics: Metrics): GeneratorMetrics["setUnreadableScales"] {
  const unreadable = metrics.gauge(
    "generator_unreadable_scales",
    "Custom resources, budgets and PodProtectors whose replicas are not known: their last floor holds; by the leader",
    ["group", "version", "resource"],
  );
  return (counts) => {
    for (const [kind, count] of counts) unreadable.set({ ...kind.resource }, count);
  };
}

function createTroubleGauges(metrics: Metrics): GeneratorMetrics["setTroubles"] {
  const ignored = metrics.gauge(
    "generator_ignored_podprotectors",
    "PodProtectors in force of kinds that --generator-sources does not name, left as they are, as the leader sees them",
  );
  const vanished = metrics.gauge(
    "generator_vanished_podprotectors",
    "PodProtectors that vanished without having been released and are not made again yet, as the leader sees them",
  );
  const waitingReleases = metrics.gauge(
    "generator_waiting_releases",
    "PodProtectors whose release waits until it is in the list of releases",
  );
  const crdLost = metrics.gauge(
    "generator_crd_lost",
    "1 while the CRD of PodProtectors is gone or being deleted, as the leader sees it",
  );
  return (troubles) => {
    ignored.set({}, troubles.ignored);
    vanished.set({}, troubles.vanished);
    waitingReleases.set({}, troubles.waitingReleases);
    crdLost.set({}, troubles.isCrdLost ? 1 : 0);
  };
}
