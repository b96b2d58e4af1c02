/**
 * What the generator of a core does about cells (docs/cells.md): events and LISTs in, and who does something about
 * them. It removes cells from PodProtectors (cell-removals.ts), marks silent cells (silent-cell-marks.ts), says which
 * pods are not free without them and which PodProtectors match nothing (cell-conditions.ts), and retires cells
 * (cell-retirement.ts).
 *
 * Every process observes, so that a new leader knows at once which cells are silent. Only the leader writes and
 * reports.
 */
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { cellsCountedByOthers } from "../../accounting/silence/other-counter.ts";
import { silenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Config } from "../../config/config.ts";
import { CellLeases } from "../../kube/cell-leases/index.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Rng } from "../../util/rng.ts";
import { CellConditions } from "../conditions/cell-conditions.ts";
import { CellLeaseWrites } from "./cell-lease-writes.ts";
import { createCellMetrics } from "../metrics/cell-metrics.ts";
import { CellRemovals } from "./cell-removals.ts";
import { CellRetirement } from "./cell-retirement.ts";
import { IgnoredAnnotations } from "./ignored-annotations.ts";
import { type GeneratorSizes } from "../metrics/metrics.ts";
import { SilentCellMarks } from "./silent-cell-marks.ts";

/** The settings that it needs, under the names that they have in the Config. */
export interface CellSettings extends Pick<Config, "cells">, Pick<Config["generator"], "queue"> {
  /** PodProtectors that retired cells leave in one round; undefined = as in production. */
  readonly retiredPerRound?: number | undefined;
}

export interface CellControllerDependencies {
  readonly core: KubeClient;
  /** Another client of the core, so that what is said of cells never waits behind the writes of PodProtectors. */
  readonly leases: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  readonly events: EventRecorder;
  /** Of this process in the leader election. */
  readonly identity: string;
  /** Of this program, for people. */
  readonly productVersion: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What `found` returns may have changed. */
  readonly onLooked: () => void;
}

export class CellController {
  readonly #deps: CellControllerDependencies;
  readonly #leases: CellLeases;
  readonly #removals: CellRemovals;
  readonly #retirement: CellRetirement;
  readonly #marks: SilentCellMarks;
  readonly #ignored: IgnoredAnnotations;
  readonly #conditions: CellConditions;
  /** Set while this process leads. */
  #leadership: AbortSignal | undefined;
  /** What is done about a LIST. The next one is passed over while it lasts. */
  #round: Promise<void> | undefined;
  #silentCells = 0;
  /** UIDs of kube-system of the cells' clusters. */
  #clusterUIDs: ReadonlySet<string | undefined> = new Set();

  constructor({ cells, queue, retiredPerRound }: CellSettings, deps: CellControllerDependencies) {
    this.#deps = deps;
    const { core, leases, protectors, events, clock, rng, logger, identity, productVersion } = deps;
    const { leaseNamespace, silentAfterMs } = cells;
    const times = silenceTimes(silentAfterMs);
    const metrics = createCellMetrics(deps.metrics);
    this.#leases = new CellLeases({
      ...cells,
      core: core.cluster,
      client: leases,
      role: "generator",
      clock,
      logger,
      metrics: deps.metrics,
      onListed: (observed) => this.#listed(observed),
    });
    this.#removals = new CellRemovals(queue, {
      core,
      protectors,
      leased: () => this.#leases.leased(),
      verdictOn: (cellID) => this.#retirement.verdictOn(cellID),
      events,
      clock,
      rng,
      logger,
      metrics,
    });
    const writes = new CellLeaseWrites({
      core: leases,
      namespace: leaseNamespace,
      identity,
      productVersion,
      silentAfterMs,
      timeoutMs: times.observeMs,
      clock,
      logger,
      failures: metrics.leaseFailures,
    });
    this.#ignored = new IgnoredAnnotations({ writes, events });
    this.#marks = new SilentCellMarks({ writes, events, clock, silentAfterMs });
    const shared = { protectors, writes, events, clock, logger };
    this.#retirement = new CellRetirement({ times, removals: this.#removals, perRound: retiredPerRound, ...shared });
    this.#conditions = new CellConditions({
      protectors,
      times,
      stateOf: (cellID, uid) => this.#leases.stateOf(cellID, uid),
      clock,
    });
    protectors.subscribe({ onEvent: (event) => this.#protectorEvent(event) });
    deps.metrics.onScrape(() => {
      const isLeading = this.#leadership !== undefined;
      metrics.setSizes({
        ghosts: isLeading ? this.#removals.sizes().ghosts : 0,
        silent: isLeading ? this.#silentCells : 0,
        affected: isLeading ? this.#conditions.affected : 0,
        ...(isLeading ? this.#retirement.sizes() : { retiring: 0, retiringProtectors: 0 }),
      });
    });
  }

  /** Of the work queue, for gauges. */
  sizes(): GeneratorSizes {
    return this.#removals.sizes();
  }

  /** Whether the cluster with this UID of kube-system is known to be a cell. */
  isCell(clusterUID: string): boolean {
    return this.#clusterUIDs.has(clusterUID);
  }

  /** As Sayer.found, of conditions that depend on which cells are heard. */
  found(stored: StoredProtector): FoundConditions {
    return this.#conditions.found(stored);
  }

  /** Observes the cells until the signal aborts. */
  async observe(signal: AbortSignal): Promise<void> {
    await this.#leases.run(signal);
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#leadership = signal;
    await this.#removals.lead(signal);
    this.#leadership = undefined;
    await this.#round;
  }

  #listed(cells: readonly ObservedCell[]): void {
    this.#clusterUIDs = new Set(cells.map(({ lease }) => lease?.clusterUID));
    const signal = this.#leadership;
    if (signal === undefined || signal.aborted) return;
    this.#silentCells = cells.filter(
      ({ lease, silentSince }) => lease !== undefined && silentSince !== undefined,
    ).length;
    this.#conditions.update(cells);
    this.#deps.onLooked();
    this.#ignored.update(cells);
    this.#round ??= this.#act(cells, signal).finally(() => (this.#round = undefined));
  }

  async #act(cells: readonly ObservedCell[], signal: AbortSignal): Promise<void> {
    await this.#marks.update(cells, signal);
    await this.#retirement.update(cells, signal);
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { object } = event;
    if (event.type === "deleted") this.#removals.forget(object.key);
    else this.#removals.watched(object);
    if (event.type !== "modified" || event.isListed === true) return;
    const before = event.previous.protector.status?.cells ?? [];
    for (const cellID of cellsCountedByOthers(before, object.protector.status?.cells ?? []))
      this.#leases.countedByOther(cellID);
  }
}
