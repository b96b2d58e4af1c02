/**
 * The retirement of cells (docs/cells.md#retire-a-cell). A person asks for it by the annotation `forget` on the cell's
 * Lease. It begins when nobody counts the cell any more: it is silent, or has neither beaten nor written counts since
 * the request for as long as makes a cell silent. Whoever counts the cell on is a reason to refuse. Then it leaves all
 * PodProtectors, some at a time, each when its entry has stood unchanged (leaving-cells.ts), and at last the Lease
 * goes. Nothing is remembered but times on this process's
 * own clock: the request is on the Lease, what is left to do is in the PodProtectors, so a new leader goes on, later.
 */
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Clock, later, laterOf, type MonotonicMs } from "../../util/clock.ts";
import { type CellLease, cellLeaseAnnotations } from "../../api/cell-lease.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";
import { type CellLeaseWrites } from "./cell-lease-writes.ts";
import { type CellRemovals } from "./cell-removals.ts";

export type RetirementVerdict =
  /** Nobody has counted the cell lately, but not for long enough. */
  | "waiting"
  /** Somebody counts it. */
  | "refused"
  /** It leaves all PodProtectors. */
  | "retiring";

interface Request {
  /** When it was first seen. */
  readonly askedAt: MonotonicMs;
  /** Of the Lease. */
  beat: string;
  /** The last beat or counts that were seen since, or when it was asked for. */
  activeAt: MonotonicMs;
  verdict: RetirementVerdict;
}

export class CellRetirement {
  readonly #times: SilenceTimes;
  /** By cell. As many as there are Leases with the annotation. */
  readonly #requests = new Map<string, Request>();
  #judgedAt: MonotonicMs | undefined;

  constructor(times: SilenceTimes) {
    this.#times = times;
  }

  /** Counts of the cell were written. */
  counted(cellID: string, nowMs: MonotonicMs): void {
    const request = this.#requests.get(cellID);
    if (request !== undefined) this.#active(request, nowMs);
  }

  /** Takes what the newest LIST has shown; returns the verdict on each cell that is to be retired. */
  judge(cells: Iterable<ObservedCell>, nowMs: MonotonicMs): ReadonlyMap<string, RetirementVerdict> {
    // What happened in a hole between two LISTs is not known.
    const hasHole = this.#judgedAt !== undefined && nowMs - this.#judgedAt > this.#times.contactMs;
    this.#judgedAt = nowMs;
    const asked = new Set<string>();
    for (const cell of cells) {
      if (cell.lease?.isForgotten !== true) continue;
      asked.add(cell.cellID);
      const { beat } = cell.lease;
      const request = this.#requests.get(cell.cellID) ?? { askedAt: nowMs, beat, activeAt: nowMs, verdict: "waiting" };
      this.#requests.set(cell.cellID, request);
      if (hasHole) request.activeAt = laterOf(request.activeAt, nowMs);
      if (request.beat !== beat) this.#active(request, nowMs);
      request.beat = beat;
      const isQuiet = later(request.activeAt, this.#times.silentAfterMs) <= nowMs;
      if (request.verdict === "waiting" && (isQuiet || isSilent(cell))) request.verdict = "retiring";
    }
    for (const cellID of this.#requests.keys()) if (!asked.has(cellID)) this.#requests.delete(cellID);
    return new Map([...this.#requests].map(([cellID, { verdict }]) => [cellID, verdict]));
  }

  isRetiring(cellID: string): boolean {
    return this.#requests.get(cellID)?.verdict === "retiring";
  }

  /** While a cell waits, the last writes of an aggregator that is just being stopped are no reason to refuse. */
  #active(request: Request, nowMs: MonotonicMs): void {
    request.activeAt = nowMs;
    // One that was silent is back. What it counts now, and what is admitted by that, must not be removed.
    const isBack = request.verdict === "retiring";
    if (isBack || nowMs - request.askedAt > this.#times.contactMs) request.verdict = "refused";
  }
}

/** Known before the request. What somebody without heartbeats has counted may still be counted. */
function isSilent({ silentSince, state }: ObservedCell): boolean {
  return silentSince !== undefined && !(state.kind === "keep" && state.reason === "other-counter");
}

/**
 * PodProtectors in one round, which is 15 s by default: 10 a second, a read and a write each, are a tenth of what a
 * client may ask of the core by default. 10,000 take 17 minutes, and nobody waits for them.
 */
const perRoundDefault = 150;

export interface RetireCellsOptions {
  readonly retirement: CellRetirement;
  readonly protectors: Informer<StoredProtector>;
  readonly removals: Pick<CellRemovals, "retiring" | "retire">;
  readonly writes: CellLeaseWrites;
  /** PodProtectors in one round; undefined = as in production. */
  readonly perRound?: number | undefined;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RetireCells {
  readonly #options: RetireCellsOptions;
  /** What was told about a cell. */
  #told: ReadonlyMap<string, RetirementVerdict> = new Map();
  #left = 0;

  constructor(options: RetireCellsOptions) {
    this.#options = options;
  }

  sizes(): { readonly retiring: number; readonly retiringProtectors: number } {
    const retiring = [...this.#told.values()].filter((verdict) => verdict === "retiring").length;
    return { retiring, retiringProtectors: this.#left };
  }

  /** One round, after each LIST of the Leases. Never rejects. */
  async update(cells: readonly ObservedCell[], signal: AbortSignal): Promise<void> {
    const { retirement, clock } = this.#options;
    const verdicts = retirement.judge(cells, clock.monotonicMs());
    const left = this.#leftIn(verdicts);
    for (const { cellID, lease } of cells) {
      const verdict = verdicts.get(cellID);
      if (verdict === undefined || lease === undefined || signal.aborted) continue;
      if (this.#told.get(cellID) !== verdict) this.#tell(lease, cellID, verdict, left.get(cellID) ?? 0);
      if (verdict === "refused") await this.#refuse(lease, signal);
      else if (verdict === "retiring" && left.get(cellID) === 0) await this.#end(lease, cellID, signal);
    }
    this.#told = verdicts;
  }

  /** How many PodProtectors have each retiring cell. Hands the first of them over. */
  #leftIn(verdicts: ReadonlyMap<string, RetirementVerdict>): ReadonlyMap<string, number> {
    const left = new Map([...verdicts].flatMap(([cellID, verdict]) => (verdict === "retiring" ? [[cellID, 0]] : [])));
    this.#left = 0;
    if (left.size === 0) return left;
    const { protectors, removals, perRound = perRoundDefault } = this.#options;
    for (const stored of protectors.values()) {
      const retiring = (stored.protector.status?.cells ?? []).filter(({ cellID }) => left.has(cellID));
      if (retiring.length === 0) continue;
      for (const { cellID } of retiring) left.set(cellID, (left.get(cellID) ?? 0) + 1);
      this.#left += 1;
      removals.retiring(stored);
      if (this.#left <= perRound) removals.retire(stored.key);
    }
    return left;
  }

  /** The cell goes on as if nobody had asked. A Lease that never had a holder was made by a person, to ask. */
  async #refuse(lease: CellLease, signal: AbortSignal): Promise<void> {
    const { writes } = this.#options;
    if (lease.holderIdentity === "") await writes.remove(lease, signal);
    else await writes.annotate(lease, cellLeaseAnnotations.forget, null, signal);
  }

  async #end(lease: CellLease, cellID: string, signal: AbortSignal): Promise<void> {
    const { writes, events, logger } = this.#options;
    if ((await writes.remove(lease, signal)) !== "written") return;
    logger.info("Retired a cell: no PodProtector has it any more", { cell: cellID });
    const message = `Cell "${cellID}" is retired: no PodProtector has it any more, and its Lease is deleted`;
    events.record(writes.reference(lease), "Normal", "CellRetired", message);
  }

  #tell(lease: CellLease, cellID: string, verdict: RetirementVerdict, left: number): void {
    const { logger, events, writes } = this.#options;
    const regarding = writes.reference(lease);
    switch (verdict) {
      case "waiting":
        logger.info("Asked to retire a cell, waiting until it is certain that nobody counts it", { cell: cellID });
        return;
      case "refused":
        logger.warn("Not retiring a cell that is still counted", { cell: cellID });
        events.record(
          regarding,
          "Warning",
          "CellNotRetired",
          `The aggregator of cell "${cellID}" still counts it. Stop it first, then ask again.`,
        );
        return;
      case "retiring":
        logger.info("Retiring a cell", { cell: cellID, podProtectors: left });
        events.record(regarding, "Normal", "CellRetiring", `Removing cell "${cellID}" from ${left} PodProtectors`);
        return;
      default:
        assertNever(verdict);
    }
  }
}
