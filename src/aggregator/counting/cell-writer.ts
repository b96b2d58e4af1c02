/**
 * Reads and writes PodProtectors for one cell, and keeps their ProtectorMemory up to date with the answers. A write
 * replaces this cell's status only, in one compare-and-swap on the newest known object.
 */
import { type CellStatus, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type OwnAggregation, type ProtectorMemory } from "../../accounting/count/protector-memory.ts";
import { floorConditions, hasNews, writesConditionsAlone } from "../../accounting/count/floor-conditions.ts";
import { type FoundConditions, withConditions, withReady } from "../../api/v1alpha1/conditions.ts";
import { type SummarizedSpec, summarize } from "../../accounting/count/summary.ts";
import { type Settlement } from "../../accounting/settle/settlement.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type CheckedSwap, readProtectorLive, swapStatusAndCheck } from "../../kube/pod-protectors.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Outcome } from "../../work-queue/index.ts";
import { type CountingPace } from "./counting-pace.ts";
import { type AggregatorMetrics } from "../metrics.ts";
import { RefusedConditions } from "./refused-conditions.ts";
import { type WriteBudget } from "./write-budget.ts";

export interface CellWriterOptions {
  readonly core: KubeClient;
  /** Hears of each status that was sent. */
  readonly budget: Pick<WriteBudget, "wrote">;
  /** Hears how long each accepted write took. */
  readonly pace: Pick<CountingPace, "took">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<AggregatorMetrics, "statusWrites" | "settled" | "fences" | "pruned">;
}

/**
 * Least time between two warnings about a CRD that drops our fields. It drops them from every PodProtector, so one
 * warning speaks for all; an hour keeps it in the logs of any day.
 */
const pruningWarningSpacingMs = 3_600_000;

const droppedFields =
  "The CRD drops fields that this release writes, so admissions settle later or columns are empty: " +
  "apply the CRD of this release";

export class CellWriter {
  readonly #options: CellWriterOptions;
  readonly #refusedConditions: RefusedConditions;
  #pruningWarnedAtMs: MonotonicMs = longAgo;
  /** The last answer lacked the conditions that were written. */
  #areConditionsDropped = false;
  /** The last answer lacked fields of this release. Undefined = there was none. */
  #isPruning: boolean | undefined;

  constructor(options: CellWriterOptions) {
    this.#options = options;
    this.#refusedConditions = new RefusedConditions(options);
  }

  /** Reads the object live. Undefined when the state holds it now; else how the reconciliation ends. */
  async refresh(memory: ProtectorMemory, signal: AbortSignal): Promise<Outcome | undefined> {
    const { core, clock } = this.#options;
    const { resourceVersion: knownVersion, protector } = memory.newest;
    const live = await readProtectorLive(core, protector.metadata, { signal });
    switch (live.kind) {
      case "read":
        // Replaced: the watch will say so.
        if (!isSameObject(live.stored, memory)) return { kind: "done" };
        memory.readLive(live.stored, knownVersion, clock.monotonicMs());
        return undefined;
      case "gone":
        // The watch will say so.
        return { kind: "done" };
      case "invalid":
      case "failed":
        return { kind: "failed", error: live.error };
      default:
        return assertNever(live);
    }
  }

  /** Writes `cell` over the newest known object. Never rejects for operating errors. */
  async write(
    memory: ProtectorMemory,
    cell: CellStatus & { readonly aggregation: OwnAggregation },
    settled: Settlement["settled"],
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { clock, metrics } = this.#options;
    const base = memory.newest;
    const counted = withCell(base.protector.status, cell, base.protector.spec);
    const { outcome, status } = await this.#swapWithConditions(memory, counted, this.#pruned(), signal);
    switch (outcome.kind) {
      case "written":
        this.#noteDropped(outcome.stored, status);
        memory.wrote(outcome.stored, cell.aggregation, clock.monotonicMs());
        for (const [reason, weight] of settled) metrics.settled.inc({ reason }, weight);
        if (settled.has("gave-up")) metrics.fences.inc({ result: "gave-up" }, settled.get("gave-up"));
        this.#notePruned(memory, outcome.stored, cell);
        return { kind: "done" };
      case "conflict":
        // Gone or replaced: the watch will say so.
        if (!isSameObject(outcome.live, memory)) return { kind: "done" };
        memory.readLive(outcome.live, base.resourceVersion, clock.monotonicMs());
        return { kind: "conflict" };
      case "failed":
        return outcome;
      default:
        return assertNever(outcome);
    }
  }

  /**
   * Writes the conditions of the newest known object, with the summary, if what they tell has changed and nothing else
   * will write them; does nothing otherwise. Never rejects for operating errors.
   */
  async writeConditions(memory: ProtectorMemory, cellID: string, signal: AbortSignal): Promise<Outcome> {
    const { clock } = this.#options;
    const base = memory.newest;
    const known = base.protector.status;
    if (known === undefined || this.#areConditionsDropped || !writesConditionsAlone(known, cellID))
      return { kind: "done" };
    const plain = { ...known, summary: summarize(known.cells, base.protector.spec) };
    if (!hasNews(known, this.#withConditions(memory, plain, {}))) return { kind: "done" };
    const { outcome, status } = await this.#swapWithConditions(memory, plain, {}, signal);
    if (outcome.kind === "failed") return outcome;
    const stored = outcome.kind === "written" ? outcome.stored : outcome.live;
    // Gone or replaced: the watch will say so.
    if (!isSameObject(stored, memory)) return { kind: "done" };
    memory.readLive(stored, base.resourceVersion, clock.monotonicMs());
    if (outcome.kind === "conflict") return { kind: "conflict" };
    this.#noteDropped(stored, status);
    return { kind: "done" };
  }

  /**
   * Writes `plain` over the newest known object with the conditions that follow from it, and `others`; without them
   * while the core refuses them.
   */
  #swapWithConditions(
    memory: ProtectorMemory,
    plain: PodProtectorStatus,
    others: FoundConditions,
    signal: AbortSignal,
  ): Promise<{ readonly outcome: CheckedSwap; readonly status: PodProtectorStatus }> {
    const { core, budget, pace, clock, metrics } = this.#options;
    const base = memory.newest;
    const areRefused = !this.#refusedConditions.areTried();
    const status = this.#withConditions(memory, plain, others);
    return this.#refusedConditions.written({ status, plain }, base, async (sent) => {
      const sentAtMs = clock.monotonicMs();
      memory.sending(sentAtMs);
      budget.wrote(base.key, JSON.stringify(sent).length, sent.cells.length);
      const outcome = await swapStatusAndCheck(core, base, sent, { signal });
      if (outcome.kind === "written") pace.took(clock.monotonicMs() - sentAtMs);
      const isWithout = outcome.kind === "written" && (areRefused || sent !== status);
      metrics.statusWrites.inc({ result: isWithout ? "without-conditions" : outcome.kind });
      return outcome;
    });
  }

  /** The status with the conditions that follow from it, and `others`; as it is while the core refuses them. */
  #withConditions(memory: ProtectorMemory, status: PodProtectorStatus, others: FoundConditions): PodProtectorStatus {
    const question = memory.question();
    if (question === undefined || !this.#refusedConditions.areTried()) return status;
    const { spec, metadata } = memory.newest.protector;
    const found = { ...floorConditions(spec, status, question), ...others };
    const now = this.#options.clock.epochMicros();
    const { generation } = metadata;
    const conditions = withConditions(status.conditions, found, now, generation) ?? [];
    return { ...status, conditions: withReady(conditions, status.cells, { generation, now }) };
  }

  /** As the last answer has shown. All PodProtectors have the same CRD, so all aggregators find the same. */
  #pruned(): FoundConditions {
    if (this.#isPruning === undefined) return {};
    return { Pruned: this.#isPruning && { reason: "FieldsDropped", message: droppedFields } };
  }

  /** A CRD that drops conditions would have them written again and again. */
  #noteDropped({ protector }: StoredProtector, { conditions }: PodProtectorStatus): void {
    if (conditions !== undefined) this.#areConditionsDropped = protector.status?.conditions === undefined;
  }

  /** Looks whether the answer to a write lacks extension fields: counts each such answer, logs at most one an hour. */
  #notePruned(memory: ProtectorMemory, stored: StoredProtector, sent: CellStatus): void {
    const { core, clock, logger, metrics } = this.#options;
    const kept = stored.protector.status?.cells.find(({ cellID }) => cellID === sent.cellID)?.aggregation;
    const areCountsPruned = kept?.countedSpec === undefined;
    const areDetailsPruned =
      kept?.countedGeneration !== sent.aggregation?.countedGeneration ||
      kept?.unseenReplicas !== sent.aggregation?.unseenReplicas ||
      kept?.foreignReplicas !== sent.aggregation?.foreignReplicas;
    this.#isPruning = areCountsPruned || areDetailsPruned || isSummaryPruned(stored);
    if (!this.#isPruning) return;
    metrics.pruned(core.cluster);
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#pruningWarnedAtMs < pruningWarningSpacingMs) return;
    this.#pruningWarnedAtMs = nowMs;
    const loss = areCountsPruned
      ? "only upstream's guarantee holds"
      : "columns are empty and conditions may be missing";
    logger.warn(`The CRD of the core drops extension fields, so ${loss}; install the CRD of this version`, {
      podProtector: memory.key,
    });
  }
}

function isSameObject(live: StoredProtector | undefined, memory: ProtectorMemory): live is StoredProtector {
  return live !== undefined && live.uid === memory.uid;
}

/** The columns of kubectl lack what they show then. */
function isSummaryPruned({ protector }: StoredProtector): boolean {
  return protector.status?.summary.disruptionsAllowed === undefined;
}

function withCell(status: PodProtectorStatus | undefined, cell: CellStatus, spec: SummarizedSpec): PodProtectorStatus {
  const cells = status?.cells ?? [];
  const known = cells.some(({ cellID }) => cellID === cell.cellID);
  const all = known ? cells.map((other) => (other.cellID === cell.cellID ? cell : other)) : [...cells, cell];
  return { ...status, cells: all, summary: summarize(all, spec) };
}
