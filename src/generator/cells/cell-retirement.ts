/**
 * When a cell may be retired (docs/cells.md#retire-a-cell). A person asks for it by the annotation `forget` on the
 * cell's Lease. It begins when nobody counts the cell any more: it is silent, or has neither beaten nor written counts
 * since the request for as long as makes a cell silent. Whoever counts the cell on is a reason to refuse. Nothing is
 * remembered but times on this process's own clock, so a restart makes it later.
 */
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { later, laterOf, type MonotonicMs } from "../../util/clock.ts";

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
