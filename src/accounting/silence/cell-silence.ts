/**
 * Which cells are silent, as one observer of their Leases sees it (docs/accounting.md#silent-cells). A state machine
 * without clock and requests: it is told what each LIST of the Leases has shown.
 *
 * Times are chosen so that nobody is declared silent too early. The Leases of a LIST are those of some moment between
 * its sending and its answer. So a beat counts as seen when the LIST that shows it first is answered, and silence is
 * proven up to the moment when the last LIST was *sent*, as far as anybody's write was seen (contact.ts). A hole is
 * measured the other way round, from the sending of one LIST to the answer of the next. That makes a cell silent later
 * by the time of one request.
 */
import { type CellLease, observerLeaseName } from "../../api/cell-lease.ts";
import { epochMicrosOf, formatMicroTime } from "../../api/micro-time.ts";
import { type EpochMicros, earlierOf, later, laterOf, type MonotonicMs } from "../../util/clock.ts";
import { digestOfUID, unpackDigests } from "../history/uid-digest.ts";
import { type AnsweredList, type Contact } from "./contact.ts";
import { type SilenceTimes } from "./silence-times.ts";

/** Why the counts of a cell are in force although nothing is heard from it. */
export type KeepReason =
  /** It has had no Lease since the observer started: an original aggregator, or an earlier release. */
  | "no-lease"
  /** Its Lease has been gone for the time after which a cell is silent: somebody has deleted it. */
  | "lease-vanished"
  /** --silent-cell-policy=keep. */
  | "policy"
  /** The annotation keep-until on the Lease. */
  | "keep-until"
  /** An aggregator without heartbeats has counted it since its last beat. */
  | "other-counter"
  /** The observer may not list the Leases. */
  | "forbidden";

export type CellState =
  | { readonly kind: "beating" }
  | { readonly kind: "keep"; readonly reason: KeepReason }
  /** `since`: the last beat, or as long as that is known. May be before the observer started. */
  | { readonly kind: "silent"; readonly since: MonotonicMs };

export interface LeaseList extends AnsweredList {
  /** The wall clock of the observer: only keep-until, which a person sets, and ages in texts are compared with it. */
  readonly now: EpochMicros;
}

/** A cell that has, or had, a Lease. */
export interface ObservedCell {
  readonly cellID: string;
  /** As the last LIST had it; undefined = it has vanished. */
  readonly lease: CellLease | undefined;
  readonly state: CellState;
  /** When its last beat was seen; the first LIST when none was. */
  readonly beatAt: MonotonicMs;
  /** Since when it is silent, whatever keeps its counts in force; undefined = it is not. */
  readonly silentSince: MonotonicMs | undefined;
  /** When counts of an aggregator without heartbeats were seen last that no beat has followed. */
  readonly otherCounterAt: MonotonicMs | undefined;
  /** By digest of the UID: PodProtectors that the aggregator cannot count or write, and since when. */
  readonly behind: ReadonlyMap<string, MonotonicMs>;
}

/** `before` is undefined for a cell that is seen for the first time. */
export interface CellChange {
  readonly cellID: string;
  readonly before: CellState | undefined;
  readonly after: CellState;
}

/** More than a fleet has clusters. Cells beyond are as if they had no Lease; so nobody's counts are lost. */
const cellsMax = 1_000;

const beating: CellState = { kind: "beating" };
const noBehind: ReadonlyMap<string, MonotonicMs> = new Map();
const keeping: Readonly<Record<KeepReason, CellState>> = {
  "no-lease": { kind: "keep", reason: "no-lease" },
  "lease-vanished": { kind: "keep", reason: "lease-vanished" },
  policy: { kind: "keep", reason: "policy" },
  "keep-until": { kind: "keep", reason: "keep-until" },
  "other-counter": { kind: "keep", reason: "other-counter" },
  forbidden: { kind: "keep", reason: "forbidden" },
};

interface Cell {
  readonly cellID: string;
  lease: CellLease | undefined;
  /** The last beat that a LIST has shown. A Lease that comes back from a backup with it has not beaten. */
  beat: string;
  beatAt: MonotonicMs;
  vanishedAt: MonotonicMs | undefined;
  /** The last Lease had the annotation `forget`: when it is gone, the cell is retired. */
  isForgotten: boolean;
  /** It was there, unmarked, in the first LIST, and nothing has decided yet whether it is silent. */
  isUndecided: boolean;
  /** Set from the moment when it was found silent until the next beat. */
  silentSince: MonotonicMs | undefined;
  /** The last news of another counter that no beat has followed. */
  otherCounterAt: MonotonicMs | undefined;
  behind: ReadonlyMap<string, MonotonicMs>;
  /** What keeps its counts in force even while it is silent, and those of objects that are behind. */
  keptBy: KeepReason | undefined;
  state: CellState;
}

/** The Lease of the generator, which marks silent cells. */
interface Marker {
  readonly beat: string;
  /** It has beaten since the observer started, so silent cells are marked. */
  readonly hasBeaten: boolean;
}

export class CellSilence {
  readonly #times: SilenceTimes;
  readonly #policy: "zero" | "keep";
  readonly #contact: Contact;
  readonly #startedAt: MonotonicMs;
  readonly #cells = new Map<string, Cell>();
  #marker: Marker | undefined;
  #firstSentAt: MonotonicMs | undefined;
  /** The sending of the last LIST; undefined before the first one. */
  #sentAt: MonotonicMs | undefined;
  /** The answer to the first LIST since this process slept: its monotonic clock stood still then. */
  #awakeFrom: MonotonicMs;
  /** Of the last LIST. */
  #now: EpochMicros | undefined;
  #deniedSince: MonotonicMs | undefined;
  #isDenied = false;
  #wasDecided = false;

  /** `contact` is told of each LIST before. */
  constructor(times: SilenceTimes, policy: "zero" | "keep", contact: Contact, startedAt: MonotonicMs) {
    this.#times = times;
    this.#policy = policy;
    this.#contact = contact;
    this.#startedAt = startedAt;
    this.#awakeFrom = startedAt;
  }

  /** Takes the answer to a LIST. Returns the cells whose state has changed. */
  listed(list: LeaseList): readonly CellChange[] {
    const previousSentAt = this.#sentAt;
    const hasSlept = (list.now - (this.#now ?? list.now)) / 1000 > this.#times.contactMs;
    if (hasSlept) this.#awakeFrom = list.answeredAt;
    this.#now = list.now;
    this.#firstSentAt ??= list.sentAt;
    this.#sentAt = list.sentAt;
    this.#deniedSince = undefined;
    this.#isDenied = false;
    this.#seeMarker(list.leases.find(({ name }) => name === observerLeaseName));
    const before = new Map([...this.#cells].map(([cellID, { state }]) => [cellID, state]));
    const present = new Set<string>();
    for (const lease of list.leases) {
      if (lease.cellID === undefined) continue;
      if (!this.#cells.has(lease.cellID) && this.#cells.size >= cellsMax) continue;
      present.add(lease.cellID);
      this.#seeLease(lease.cellID, lease, list, previousSentAt);
    }
    for (const cell of this.#cells.values()) {
      if (!present.has(cell.cellID)) this.#missLease(cell, list);
      else this.#judge(cell, list);
    }
    return [...this.#cells.values()].flatMap(({ cellID, state }) =>
      isSameState(before.get(cellID), state) ? [] : [{ cellID, before: before.get(cellID), after: state }],
    );
  }

  /**
   * A LIST was answered with 403. Without the right everything is as upstream has it. But an API server that has just
   * started forbids everything for a moment, and must not bring dead cells back: so a right that was there is believed
   * to be gone only after the time after which a cell is silent.
   */
  denied(at: MonotonicMs): void {
    this.#deniedSince ??= at;
    if (this.#sentAt === undefined || at - this.#deniedSince >= this.#times.silentAfterMs) this.#isDenied = true;
  }

  /** Counts of the cell were written by an aggregator that has no heartbeats. */
  countedByOther(cellID: string, at: MonotonicMs): void {
    const cell = this.#cells.get(cellID);
    if (cell !== undefined) cell.otherCounterAt = at;
  }

  /** The right to list is gone, and not just for a moment. */
  isDenied(): boolean {
    return this.#isDenied;
  }

  /** The state of a cell for the PodProtector with this UID, as of the last LIST. */
  stateOf(cellID: string, protectorUID: string): CellState {
    if (this.#isDenied) return keeping.forbidden;
    const cell = this.#cells.get(cellID);
    if (cell === undefined) return keeping["no-lease"];
    if (cell.state.kind !== "beating" || cell.behind.size === 0 || cell.keptBy !== undefined) return cell.state;
    const since = cell.behind.get(digestOfUID(protectorUID));
    return since === undefined ? cell.state : { kind: "silent", since };
  }

  /**
   * For how long no beat of a cell has been seen that is not silent yet, in milliseconds; undefined = its last beat is
   * no older than beats are, or it is not known whether it is: somebody else must have been heard meanwhile.
   */
  lateForMs(cellID: string, at: MonotonicMs): number | undefined {
    const cell = this.#cells.get(cellID);
    const { contactMs } = this.#times;
    const { until } = this.#contact;
    if (this.#isDenied || cell?.state.kind !== "beating" || at - until > contactMs) return undefined;
    const lateMs = at - cell.beatAt;
    return lateMs > contactMs && until - cell.beatAt >= contactMs ? lateMs : undefined;
  }

  /** Whether a person has asked to retire the cell, by its last Lease. */
  isForgotten(cellID: string): boolean {
    return this.#cells.get(cellID)?.isForgotten === true;
  }

  /** All that have, or had, a Lease. */
  cells(): Iterable<ObservedCell> {
    return this.#cells.values();
  }

  /**
   * Whether it is known which cells were silent when the observer started. True at the latest when the time after which
   * a cell is silent has passed since the first LIST that succeeded, or since the start if none did: what keeps the
   * LISTs from succeeding is shown elsewhere, and must not keep every replica from its work.
   */
  isDecided(at: MonotonicMs): boolean {
    this.#wasDecided ||=
      this.#policy === "keep" ||
      this.#isDenied ||
      (this.#sentAt !== undefined && [...this.#cells.values()].every(({ isUndecided }) => !isUndecided));
    return this.#wasDecided || at - (this.#firstSentAt ?? this.#startedAt) >= this.#times.silentAfterMs;
  }

  #seeMarker(lease: CellLease | undefined): void {
    if (lease === undefined) {
      this.#marker = undefined;
      return;
    }
    const { beat } = lease;
    const isFirst = this.#marker === undefined;
    this.#marker = { beat, hasBeaten: !isFirst && (this.#marker?.hasBeaten === true || beat !== this.#marker?.beat) };
  }

  #seeLease(
    cellID: string,
    lease: CellLease,
    { answeredAt }: LeaseList,
    previousSentAt: MonotonicMs | undefined,
  ): void {
    const cell = this.#cells.get(cellID);
    if (cell === undefined) {
      this.#cells.set(cellID, {
        cellID,
        lease,
        beat: lease.beat,
        beatAt: answeredAt,
        vanishedAt: undefined,
        isForgotten: lease.isForgotten,
        // A Lease that appears later was created meanwhile, by its aggregator.
        isUndecided: previousSentAt === undefined,
        silentSince: undefined,
        otherCounterAt: undefined,
        behind: behindOf(lease, noBehind, answeredAt),
        keptBy: undefined,
        state: beating,
      });
      return;
    }
    // A Lease that was gone meanwhile is another one, and says anew who is behind.
    if (cell.lease === undefined || lease.behind !== cell.lease.behind)
      cell.behind = behindOf(lease, cell.behind, answeredAt);
    cell.lease = lease;
    cell.isForgotten = lease.isForgotten;
    cell.vanishedAt = undefined;
    if (lease.beat === cell.beat) return;
    cell.beat = lease.beat;
    cell.beatAt = answeredAt;
    cell.isUndecided = false;
    cell.silentSince = undefined;
    // The beat came after the last LIST was sent. Only counts that came before that are certainly older.
    if (cell.otherCounterAt !== undefined && previousSentAt !== undefined && cell.otherCounterAt < previousSentAt) {
      cell.otherCounterAt = undefined;
    }
  }

  /** Until it has been gone for long, everything stays as it was: its counts, or its silence. */
  #missLease(cell: Cell, { answeredAt }: LeaseList): void {
    cell.lease = undefined;
    cell.isUndecided = false;
    cell.vanishedAt ??= answeredAt;
    if (this.#contact.provenMs(cell.vanishedAt) < this.#times.silentAfterMs) return;
    if (cell.isForgotten) {
      this.#cells.delete(cell.cellID);
      return;
    }
    cell.silentSince = undefined;
    cell.behind = noBehind;
    cell.state = keeping["lease-vanished"];
    // Forgotten only to make room: until then it is shown to people.
    if (this.#cells.size >= cellsMax) this.#cells.delete(cell.cellID);
  }

  #judge(cell: Cell, list: LeaseList): void {
    cell.keptBy = this.#keepReason(cell, list.now);
    cell.silentSince ??= this.#newlySilentSince(cell, list);
    if (cell.silentSince === undefined) {
      cell.state = beating;
      return;
    }
    cell.isUndecided = false;
    cell.state = cell.keptBy === undefined ? { kind: "silent", since: cell.silentSince } : keeping[cell.keptBy];
  }

  /** Undefined = the cell is not known to be silent. */
  #newlySilentSince(cell: Cell, { answeredAt, now }: LeaseList): MonotonicMs | undefined {
    const { silentAfterMs, startMs, startAloneMs } = this.#times;
    const mark = cell.lease?.silentSince;
    // A beat clears the mark. So one that stands beside a beat which was just seen come in is not the generator's.
    if (mark !== undefined && cell.beatAt <= laterOf(this.#awakeFrom, this.#contact.from)) {
      const ageMs = Math.max(0, (now - epochMicrosOf(mark)) / 1000);
      return earlierOf(cell.beatAt, later(answeredAt, -ageMs));
    }
    const unheardMs = this.#contact.provenMs(cell.beatAt);
    if (unheardMs >= silentAfterMs) return cell.beatAt;
    if (!cell.isUndecided) return undefined;
    if (this.#marker?.hasBeaten === true) {
      // The generator marks silent cells, and has not marked this one.
      cell.isUndecided = false;
      return undefined;
    }
    return unheardMs >= (this.#marker === undefined ? startAloneMs : startMs) ? cell.beatAt : undefined;
  }

  /** What keeps the counts of a silent cell in force. */
  #keepReason({ lease, otherCounterAt }: Cell, now: EpochMicros): KeepReason | undefined {
    if (this.#policy === "keep") return "policy";
    if (lease?.keepUntil !== undefined && lease.keepUntil > formatMicroTime(now)) return "keep-until";
    return otherCounterAt === undefined ? undefined : "other-counter";
  }
}

function behindOf(
  { behind }: CellLease,
  known: ReadonlyMap<string, MonotonicMs>,
  at: MonotonicMs,
): ReadonlyMap<string, MonotonicMs> {
  const digests = behind === undefined ? undefined : unpackDigests(behind)?.list();
  if (digests === undefined) return noBehind;
  return new Map(digests.map((digest) => [digest, known.get(digest) ?? at]));
}

function isSameState(a: CellState | undefined, b: CellState): boolean {
  if (a?.kind === "keep" && b.kind === "keep") return a.reason === b.reason;
  return a?.kind === b.kind;
}
