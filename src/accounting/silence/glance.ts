/**
 * What one look at a Lease tells of its cell, for people who ask once. Observers look again and again and compare no
 * clocks (cell-silence.ts); here the clock that renewed the Lease is compared with that of whoever looks. Nothing is
 * decided by it. Pure.
 */
import { type CellLease, witnessLeaseName } from "../../api/cell-lease.ts";
import { epochMicrosOf, formatMicroTime } from "../../api/micro-time.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { digestOfUID, unpackDigests } from "../history/uid-digest.ts";
import { silenceTimes } from "./silence-times.ts";

export interface CellGlance {
  /** Milliseconds since its last beat, at least 0; undefined = the Lease does not tell. */
  readonly heardAgoMs: number | undefined;
  /** For how long it is silent, in milliseconds, whatever keeps its counts in force; undefined = it is not. */
  readonly silentForMs: number | undefined;
  /** Milliseconds since its last beat where it should have been heard by now; undefined = it is not late, or silent. */
  readonly lateForMs: number | undefined;
  /** About now webhooks and the generator find it silent, each at its own next look: some may not have yet. */
  readonly isTurning: boolean;
  /** A person keeps its counts in force until then. */
  readonly isKept: boolean;
  /** Its aggregator cannot count or write this PodProtector. */
  readonly isBehind: (protectorUID: string) => boolean;
}

/** Of an aggregator that writes no duration: the default of --silent-cell-after. */
const silentAfterSecondsDefault = 180;

/** Looks within which an observer that lists the Leases again and again has noticed that a beat is missing. */
const looksToNotice = 3;

/**
 * For how long nobody has written a heartbeat into the core, in milliseconds, where that is as long as makes a cell
 * silent: it takes no writes, or nothing of Podseidon runs. Undefined = somebody was heard, or it is not known: without
 * the Lease of observers nobody has made sure of it. `leases`: all with the label of heartbeats. Times ahead of `now`
 * tell nothing.
 */
export function unwrittenForMs(leases: readonly CellLease[], now: EpochMicros): number | undefined {
  if (leases.every(({ name }) => name !== witnessLeaseName)) return undefined;
  const durations = leases.flatMap(({ durationSeconds = 0 }) => (durationSeconds > 0 ? [durationSeconds] : []));
  const silentAfterMs = 1000 * Math.min(...(durations.length > 0 ? durations : [silentAfterSecondsDefault]));
  const agoMs = leases.flatMap(({ renewedAt: at }) => (at === undefined ? [] : [(now - epochMicrosOf(at)) / 1000]));
  const leastMs = Math.min(...agoMs.filter((ms) => ms > -silenceTimes(silentAfterMs).contactMs));
  return Number.isFinite(leastMs) && leastMs > silentAfterMs ? leastMs : undefined;
}

/**
 * A cell is silent when the generator has marked it, or when its Lease has not been renewed for its duration and one
 * look more: observers count from the look that showed the last beat to one that shows none (cell-silence.ts). For the
 * last `unwrittenMs` milliseconds nobody could be heard, which tells nothing of the cell.
 */
export function glanceAt(lease: CellLease, now: EpochMicros, unwrittenMs = 0): CellGlance {
  const { renewedAt, silentSince, keepUntil, behind, durationSeconds = silentAfterSecondsDefault } = lease;
  const agoMs = (time: EpochMicros): number => Math.max(0, (now - time) / 1000);
  const heardAgoMs = renewedAt === undefined ? undefined : agoMs(epochMicrosOf(renewedAt));
  const silentAfterMs = durationSeconds * 1000;
  const { observeMs, contactMs } = silenceTimes(silentAfterMs);
  const unheardMs = (heardAgoMs ?? 0) - unwrittenMs;
  const beyondMs = unheardMs - silentAfterMs;
  const isSilent = beyondMs >= observeMs;
  const digests = new Set(behind === undefined ? [] : unpackDigests(behind)?.list());
  const silentForMs = isSilent ? heardAgoMs : silentSince === undefined ? undefined : agoMs(epochMicrosOf(silentSince));
  return {
    heardAgoMs,
    silentForMs,
    lateForMs: silentForMs === undefined && unheardMs > contactMs ? heardAgoMs : undefined,
    isTurning: beyondMs >= 0 && beyondMs < looksToNotice * observeMs,
    isKept: keepUntil !== undefined && keepUntil > formatMicroTime(now),
    isBehind: (uid) => digests.size > 0 && digests.has(digestOfUID(uid)),
  };
}

/**
 * For how long the cell counts for nothing for this PodProtector, in milliseconds; undefined = its counts are in force.
 * Under --silent-cell-policy=zero, which is the default.
 */
export function silentFor(glance: CellGlance | undefined, protectorUID: string): number | undefined {
  if (glance === undefined || glance.isKept) return undefined;
  if (glance.silentForMs !== undefined) return glance.silentForMs;
  return glance.isBehind(protectorUID) ? (glance.heardAgoMs ?? 0) : undefined;
}
