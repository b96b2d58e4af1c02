/**
 * Takes cells out of the status of PodProtectors (docs/cells.md), of hand-made and dangling ones too: those that a
 * person names in the annotation remove-cell-once (docs/generator.md#remove-cells), ghosts (leaving-cells.ts), and
 * retired cells (cell-retirement.ts). Only the leader writes and reports.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../../accounting/history/bucket.ts";
import { type Config } from "../../config/config.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer } from "../../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient, KubeError, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors, type StoredProtector } from "../../kube/resources.ts";
import { createTokenBucket, type TokenBucket } from "../../kube/token-bucket.ts";
import { type Clock, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng } from "../../util/rng.ts";
import { type CellMetrics } from "../metrics/cell-metrics.ts";
import { ghostsOf, ghostWindowMs, isGhost, LeavingCells, type RetirementVerdict } from "./leaving-cells.ts";
import { type GeneratorSizes } from "../metrics/metrics.ts";
import { type Later, PacedQueue, type Work } from "../paced-queue.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { presentOrThrow, readProtectorLive, swapStatusAndCheck } from "../../kube/pod-protectors.ts";
import { assertNever } from "../../util/assert.ts";

export interface CellRemovalsDependencies {
  readonly core: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  /** Cells that have a Lease; undefined = not known for now. */
  readonly leased: () => ReadonlySet<string> | undefined;
  /** Whether the cell is being retired. */
  readonly verdictOn: (cellID: string) => RetirementVerdict | undefined;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: CellMetrics;
}

/** Lines of the log about single PodProtectors. A forger can make ghosts in all of them at once; metrics count all. */
const logRate = { qps: 1, burst: 25 };
/** A cell with admissions, without counts, and with a Lease is counted soon, or its Lease goes. */
const leaseCheckMs = 15_000;
/** Ghosts named in one message: a forger may have made thousands. */
const namedMax = 5;
/** Names of cells have 63 characters at most. Old releases let callers choose any text. */
const nameLengthMax = 80;

export class CellRemovals {
  readonly #deps: CellRemovalsDependencies;
  readonly #leaving: LeavingCells;
  /** PodProtectors from which cells are to be removed. */
  readonly #removals: PacedQueue;
  readonly #logBucket: TokenBucket;
  #isLeading = false;

  constructor(queue: Config["generator"]["queue"], deps: CellRemovalsDependencies) {
    this.#deps = deps;
    const { clock, rng, logger, metrics, verdictOn } = deps;
    this.#leaving = new LeavingCells((cellID) => verdictOn(cellID) === "retiring");
    this.#logBucket = createTokenBucket(logRate, clock);
    this.#removals = new PacedQueue({
      config: queue,
      clock,
      rng,
      due: (key) => this.#dueRemoval(key),
      onReconcile: (_durationMs, outcome) => {
        if (outcome.kind === "failed") metrics.failures.inc({ error: errorLabel(outcome.error) });
      },
      onFailed: (podProtector, err) => logger.error("Cannot remove cells, retrying", { podProtector, err }),
    });
  }

  /** For gauges; a standby queues nothing. */
  sizes(): GeneratorSizes & { readonly ghosts: number } {
    const { size, paced } = this.#removals;
    return { queue: size, paced, ghosts: this.#leaving.count((cellID) => this.#isLeased(cellID)) };
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    const keys: ObjectKey[] = [];
    for (const stored of this.#deps.protectors.values()) {
      const ghosts = ghostsOf(stored);
      this.#reportGhosts(stored, ghosts);
      if (ghosts.length > 0 || asksForRemoval(stored.protector)) keys.push(stored.key);
    }
    await this.#removals.run(keys, signal);
    this.#isLeading = false;
  }

  /** The PodProtector is new, or has changed. */
  watched(stored: StoredProtector): void {
    const { added, present } = this.#leaving.watched(stored, this.#deps.clock.monotonicMs());
    if (this.#isLeading) this.#reportGhosts(stored, added);
    if (present.length > 0 || asksForRemoval(stored.protector)) this.#removals.add(stored.key);
  }

  /** The PodProtector is gone. */
  forget(key: ObjectKey): void {
    this.#leaving.forget(key);
  }

  /**
   * It has a cell that is being retired, which may leave it a settle window after the first call. Returns whether it
   * may, and then it leaves it soon if there `isRoom`.
   */
  retiring(stored: StoredProtector, isRoom: boolean): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#leaving.watched(stored, nowMs);
    const cells = stored.protector.status?.cells ?? [];
    const isDue = cells.some((cell) => this.#reasonToGo(stored, cell, nowMs) === "retired");
    if (isDue && isRoom) this.#removals.add(stored.key);
    return isDue;
  }

  /** As LeavingCells.changed. */
  changed(cellID: string): string {
    return this.#leaving.changed(cellID);
  }

  #isLeased(cellID: string): boolean {
    return this.#deps.leased()?.has(cellID) === true;
  }

  #dueRemoval(key: ObjectKey): Work | Later | undefined {
    const { protectors, clock } = this.#deps;
    const stored = protectors.get(key);
    if (stored === undefined) return undefined;
    const cells = stored.protector.status?.cells ?? [];
    const nowMs = clock.monotonicMs();
    const isDue =
      asksForRemoval(stored.protector) || cells.some((cell) => this.#reasonToGo(stored, cell, nowMs) !== undefined);
    if (isDue) return (signal) => this.#remove(stored, signal);
    const waitMs = this.#leaving.waitMs(key, nowMs);
    // A ghost that waits no longer has a Lease, or nobody knows.
    return waitMs === undefined ? undefined : { waitMs: waitMs === 0 ? leaseCheckMs : waitMs };
  }

  #reasonToGo(stored: StoredProtector, cell: CellStatus, nowMs: MonotonicMs): "ghost" | "retired" | undefined {
    const { leased, verdictOn } = this.#deps;
    const verdict = verdictOn(cell.cellID);
    if (verdict === "hurried") return "retired";
    if (!this.#leaving.hasStood(stored, cell, nowMs)) return undefined;
    if (verdict === "retiring") return "retired";
    return isGhost(cell) && leased()?.has(cell.cellID) === false ? "ghost" : undefined;
  }

  async #remove({ protector }: StoredProtector, signal: AbortSignal): Promise<void> {
    const { core, clock, metrics } = this.#deps;
    // Not from the cache: one that lags behind the writers of the status would only meet conflicts. And by the object
    // that the write is based on: whoever admits in a cell meanwhile keeps it, or wins the swap.
    const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
    if (live === undefined) return;
    const list = live.protector.metadata.annotations?.[annotations.removeCellOnce];
    // Unknown names are ignored.
    const named = new Set(list?.split(",").map((cell) => cell.trim()));
    const nowMs = clock.monotonicMs();
    const reasons = new Map<CellStatus, string>();
    for (const cell of live.protector.status?.cells ?? []) {
      const reason = named.has(cell.cellID) ? "asked" : this.#reasonToGo(live, cell, nowMs);
      if (reason !== undefined) reasons.set(cell, reason);
    }
    const written = await withoutCells(core, live, reasons, signal);
    if (written === undefined) return;
    if (list !== undefined) await removeAnnotation(core, written, signal);
    for (const reason of reasons.values()) metrics.removed.inc({ reason });
    const ghosts = [...reasons.keys()].filter((cell) => reasons.get(cell) === "ghost");
    if (ghosts.length > 0) this.#reportRemovedGhosts(live, ghosts);
  }

  #reportGhosts(stored: StoredProtector, cells: readonly CellStatus[]): void {
    const ghosts = cells.filter(({ cellID }) => !this.#isLeased(cellID));
    if (ghosts.length === 0) return;
    const { logger } = this.#deps;
    if (this.#logBucket.takeNow())
      logger.warn("Cells with admitted deletions that nobody counts", {
        podProtector: stored.key,
        cells: namesOf(ghosts),
        promised: weightOf(ghosts),
      });
    this.#record(
      stored,
      "Warning",
      "GhostCell",
      `Nobody counts ${ofCells(ghosts)}, and ${weightOf(ghosts)} admitted deletions are recorded there, which nobody ` +
        "settles and which take quota. Look for a mistyped cell in the URL of a webhook configuration or in " +
        `--aggregator-cell-id. Cells that stand unchanged for ${ghostWindowMs / 1000} s are removed.`,
    );
  }

  #reportRemovedGhosts(stored: StoredProtector, ghosts: readonly CellStatus[]): void {
    const { logger } = this.#deps;
    if (this.#logBucket.takeNow())
      logger.info("Removed cells that nobody counts", { podProtector: stored.key, cells: namesOf(ghosts) });
    this.#record(
      stored,
      "Normal",
      "GhostCellRemoved",
      `Removed ${ofCells(ghosts)}, with ${weightOf(ghosts)} admitted deletions: nobody counted it`,
    );
  }

  #record({ protector, uid }: StoredProtector, type: "Normal" | "Warning", reason: string, message: string): void {
    const { namespace, name } = protector.metadata;
    const { apiVersion, kind } = protector;
    this.#deps.events.record({ apiVersion, kind, namespace, name, uid }, type, reason, message);
  }
}

function asksForRemoval({ metadata }: PodProtector): boolean {
  return metadata.annotations?.[annotations.removeCellOnce] !== undefined;
}

function weightOf(cells: readonly CellStatus[]): number {
  return cells.reduce((sum, cell) => sum + totalWeight(cell.admissionHistory?.buckets), 0);
}

/** Anybody who could reach a webhook of an old release has chosen the names: no control characters, and not long. */
function namesOf(cells: readonly CellStatus[]): readonly string[] {
  return cells
    .slice(0, namedMax)
    .map(({ cellID }) => JSON.stringify(cellID.slice(0, nameLengthMax).replaceAll(/[^\x20-\x7E]/g, "?")));
}

function ofCells(cells: readonly CellStatus[]): string {
  const more = cells.length > namedMax ? ` and ${cells.length - namedMax} more` : "";
  return `${cells.length === 1 ? "the cell" : "the cells"} ${namesOf(cells).join(", ")}${more}`;
}

/** The object as stored after the removal; undefined when it is gone. */
async function withoutCells(
  core: KubeClient,
  stored: StoredProtector,
  removed: ReadonlyMap<CellStatus, unknown>,
  signal: AbortSignal,
): Promise<StoredProtector | undefined> {
  if (removed.size === 0) return stored;
  const { spec, status } = stored.protector;
  const cells = (status?.cells ?? []).filter((cell) => !removed.has(cell));
  const after = { ...status, cells, summary: summarize(cells, spec) };
  const swap = await swapStatusAndCheck(core, stored, after, { signal });
  switch (swap.kind) {
    case "written":
      return swap.stored;
    case "conflict":
      if (swap.live === undefined) return undefined;
      throw new KubeError("conflict", "the PodProtector was changed meanwhile", { cause: swap.error });
    case "failed":
      throw swap.error;
    default:
      return assertNever(swap);
  }
}

async function removeAnnotation(core: KubeClient, stored: StoredProtector, signal: AbortSignal): Promise<void> {
  const { namespace, name } = stored.protector.metadata;
  const { uid, resourceVersion } = stored;
  try {
    await core.request({
      method: "PATCH",
      path: resourcePath(podProtectors, { namespace, name }),
      contentType: "application/merge-patch+json",
      // At the version of the list that was carried out: another one, made meanwhile, stays.
      body: { metadata: { uid, resourceVersion, annotations: { [annotations.removeCellOnce]: null } } },
      signal,
    });
  } catch (error) {
    // The protector is gone, and the annotation with it.
    if (!isKubeError(error, "notFound")) throw error;
  }
}
