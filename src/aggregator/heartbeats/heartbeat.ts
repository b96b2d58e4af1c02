/**
 * When the leading aggregator beats for its cell in one core (docs/aggregator.md#heartbeat). A beat vouches for the
 * counts of the cell, so it is sent only while these are proven to be fresh:
 * - the snapshot of pods and the watch of PodProtectors have each passed a LIST barrier that was sent lately;
 * - every PodProtector has been counted since the term began, or since a gap between beats; those that were not in
 *   time, and those whose write is overdue, are named in the beat.
 * All of that is measured by a clock that stands still while a machine is suspended. So a suspension ends the term.
 */
import { type CellLease } from "../../api/cell-lease.ts";
import { digestOfUID, packDigests } from "../../accounting/history/uid-digest.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { errorLabel, isKubeError } from "../../kube/kube-client.ts";
import { type Clock, later, longAgo, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { Suspensions } from "../../util/suspensions.ts";
import { type Rng } from "../../util/rng.ts";
import { type Backlog } from "../counting/backlog.ts";
import { type Beat, type CellLeaseWriter } from "./cell-lease-writer.ts";
import { Freshness, type ProvableWatch } from "../watching/barrier.ts";
import { type HeartbeatMetrics, type Silence } from "../metrics.ts";
import { type Tenure } from "./tenure.ts";

export interface HeartbeatOptions {
  /** Name of the core, for logs and metrics. */
  readonly core: string;
  readonly times: SilenceTimes;
  readonly pods: ProvableWatch;
  readonly protectors: ProvableWatch;
  readonly backlog: Pick<Backlog, "startRound" | "isRoundDone" | "behind">;
  readonly writer: Pick<CellLeaseWriter, "read" | "beat">;
  readonly tenure: Pick<Tenure, "clusterUID" | "mayBeat" | "beaten" | "interrupt">;
  /** Least time between two terms that end because of a suspension. */
  readonly settleWindowMs: number;
  /** What beats say of the gate (gate-probe.ts). */
  readonly gate: () => Beat["gate"];
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: HeartbeatMetrics;
}

/**
 * Most PodProtectors that a beat names: 53 KiB of the 256 KiB that an object's annotations may have. Beyond it nothing
 * vouches for the cell, and no beat is sent.
 */
const behindMax = 5000;
/** Looks in the time between two beats. */
const looksPerBeat = 5;

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #pods: Freshness;
  readonly #protectors: Freshness;
  readonly #suspensions: Suspensions;
  #lease: CellLease | undefined;
  /** The Lease must be read before it is written: at first, after a lost answer, and when somebody else wrote it. */
  #mustRead = true;
  /** When the last accepted beat of this term was sent. */
  #beatAtMs: MonotonicMs = longAgo;
  #nextBeatAtMs: MonotonicMs = longAgo;
  /** When the round before the first beat began (backlog.ts). */
  #roundAtMs: MonotonicMs | undefined;
  /** The newest touch of the update-trigger that was carried out. */
  #touchedAtMs: MonotonicMs = longAgo;
  #silence: Silence | undefined;
  /** Since when every write was forbidden, in this term; undefined = the last one was not. */
  #forbiddenSinceMs: MonotonicMs | undefined;
  #wasForbidden = false;

  constructor(options: HeartbeatOptions) {
    const { pods, protectors, times, settleWindowMs, clock, rng } = options;
    this.#options = options;
    this.#pods = new Freshness(pods, times, rng);
    this.#protectors = new Freshness(protectors, times, rng);
    this.#suspensions = new Suspensions(clock, { leastMs: times.contactMs, spacingMs: settleWindowMs });
  }

  /** A touch that was sent at `sentAtMs` was carried out: the watch of pods should see it at once. */
  touched(sentAtMs: MonotonicMs): void {
    this.#touchedAtMs = sentAtMs;
  }

  /** Of the cell's Lease, once it was read or written. */
  get leaseUID(): string | undefined {
    return this.#lease?.uid;
  }

  /** Milliseconds since the last beat of this term; Infinity before the first. */
  ageMs(): number {
    return this.#options.clock.monotonicMs() - this.#beatAtMs;
  }

  /** Beats until the signal aborts, which ends a term. The backlog must be that of the term. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, core, metrics, times } = this.#options;
    this.#beatAtMs = longAgo;
    this.#nextBeatAtMs = longAgo;
    this.#roundAtMs = undefined;
    this.#forbiddenSinceMs = undefined;
    this.#mustRead = true;
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs();
      const suspendedMs = this.#suspensions.lastedMs();
      if (suspendedMs !== undefined) {
        this.#interrupt(nowMs, { suspendedMs: Math.round(suspendedMs) });
        break;
      }
      this.#pods.keep(nowMs);
      this.#protectors.keep(nowMs);
      const obstacle = this.#obstacle(nowMs);
      if (obstacle !== undefined) this.#report(obstacle);
      else if (nowMs >= this.#nextBeatAtMs) await this.#beat(nowMs, signal);
      await sleep(clock, times.beatMs / looksPerBeat, signal);
    }
    // A standby is silent for no reason that anybody should look at.
    this.#silence = undefined;
    metrics.setSilence(core, undefined);
  }

  /** Why the cell must not beat now. */
  #obstacle(nowMs: MonotonicMs): Silence | undefined {
    const { times, backlog } = this.#options;
    const hasGap = nowMs > later(this.#beatAtMs, times.freshMs);
    const stale = this.#stale(nowMs);
    if (stale !== undefined) {
      // What is counted before the watches are fresh again proves nothing.
      if (hasGap) this.#roundAtMs = undefined;
      return stale;
    }
    if (!hasGap) return undefined;
    if (this.#roundAtMs === undefined) {
      this.#roundAtMs = nowMs;
      backlog.startRound();
    }
    return backlog.isRoundDone || nowMs >= later(this.#roundAtMs, times.firstBeatMs) ? undefined : "first-counts";
  }

  #stale(nowMs: MonotonicMs): Silence | undefined {
    const { freshMs, freshTouchedMs } = this.#options.times;
    // Touches end with the worker, and that must not make its last snapshot good for longer: when the longer limit
    // applies again, a barrier that was sent soon after the last touch is too old for it.
    const isTouched = nowMs <= later(this.#touchedAtMs, freshMs + freshTouchedMs);
    if (!this.#pods.isProven(nowMs, isTouched ? freshTouchedMs : freshMs)) return "pods-not-fresh";
    return this.#protectors.isProven(nowMs, freshMs) ? undefined : "podprotectors-not-fresh";
  }

  async #beat(nowMs: MonotonicMs, signal: AbortSignal): Promise<void> {
    const { backlog, core, metrics, times } = this.#options;
    const uids = backlog.behind(later(nowMs, -times.silentAfterMs));
    metrics.setBehind(core, uids.length);
    if (uids.length > behindMax) {
      this.#report("too-many-behind");
      return;
    }
    const behind = uids.length === 0 ? undefined : packDigests(uids.map((uid) => digestOfUID(uid)));
    try {
      if (!(await this.#write(behind, signal))) return;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.#mustRead = true;
      if (signal.aborted) return;
      metrics.sent.inc({ core, result: errorLabel(error) });
      this.#failed(error, nowMs);
      return;
    }
    metrics.sent.inc({ core, result: "sent" });
    this.#beatAtMs = nowMs;
    this.#nextBeatAtMs = later(nowMs, times.beatMs);
    this.#roundAtMs = undefined;
    this.#forbiddenSinceMs = undefined;
    this.#wasForbidden = false;
    this.#report(undefined);
  }

  /** What was seen until now is older than this clock says. */
  #interrupt(nowMs: MonotonicMs, details: { readonly suspendedMs: number } | { readonly silentSince: string }): void {
    const { core, logger, tenure } = this.#options;
    logger.warn("This machine was suspended, or its clock was set: counting anew before the next heartbeat", {
      core,
      ...details,
    });
    this.#pods.distrust(nowMs);
    this.#protectors.distrust(nowMs);
    tenure.interrupt();
  }

  /** False when the term ends: the cell is another cluster's now, or this clock has stood still. */
  async #write(behind: string | undefined, signal: AbortSignal): Promise<boolean> {
    const { clock, gate, tenure, times, writer } = this.#options;
    const beat = { clusterUID: tenure.clusterUID, behind, gate: gate() };
    if (!this.#mustRead) {
      try {
        this.#lease = await writer.beat(this.#lease, beat, signal);
        tenure.beaten(this.#lease);
        return true;
      } catch (error) {
        // Somebody has written a mark or an annotation, or deleted the Lease.
        if (!isKubeError(error, "conflict", "notFound")) throw error;
      }
    }
    const read = await writer.read(signal);
    if (!tenure.mayBeat(read)) return false;
    // By this clock a beat of ours was accepted a moment ago, and the generator has heard none for far longer.
    if (read?.silentSince !== undefined && this.ageMs() <= times.freshMs) {
      this.#interrupt(clock.monotonicMs(), { silentSince: read.silentSince });
      return false;
    }
    this.#lease = await writer.beat(read, beat, signal);
    tenure.beaten(this.#lease);
    this.#mustRead = false;
    return true;
  }

  #failed(error: Error, nowMs: MonotonicMs): void {
    const { core, logger, times } = this.#options;
    if (isKubeError(error, "forbidden")) {
      // An API server that has just started forbids everything for a moment, and a beat that is left out for that must
      // not silence the cell, nor keep it silent at the beginning of a term. Later on, somebody may grant the right at
      // any time.
      this.#forbiddenSinceMs ??= nowMs;
      const isMomentary = nowMs < later(this.#forbiddenSinceMs, times.silentAfterMs);
      this.#nextBeatAtMs = later(nowMs, isMomentary ? times.beatMs : times.silentAfterMs);
      if (!this.#wasForbidden)
        logger.warn("Not allowed to renew the cell's Lease: nobody will notice when this cell falls silent", {
          core,
          err: error,
        });
      this.#wasForbidden = true;
      this.#silence = undefined;
      this.#report("forbidden");
      return;
    }
    this.#forbiddenSinceMs = undefined;
    this.#nextBeatAtMs = later(nowMs, times.beatMs);
    // The end is told by the next beat.
    if (this.#silence !== "write-failed") logger.warn("Cannot renew the cell's Lease, retrying", { core, err: error });
    this.#report("write-failed");
  }

  /** Says so once when the cell goes silent, and when it is heard again. */
  #report(silence: Silence | undefined): void {
    const { core, logger, metrics } = this.#options;
    if (silence === this.#silence) return;
    const before = this.#silence;
    this.#silence = silence;
    metrics.setSilence(core, silence);
    if (silence === undefined) logger.info("Sending heartbeats of the cell", { core, before });
    else if (silence === "too-many-behind")
      logger.error("Too many PodProtectors are not counted, sending no heartbeats: the cell will fall silent", {
        core,
        limit: behindMax,
      });
    else if (silence !== "first-counts" && silence !== "forbidden" && silence !== "write-failed")
      logger.warn("Sending no heartbeats of the cell", { core, reason: silence });
  }
}
