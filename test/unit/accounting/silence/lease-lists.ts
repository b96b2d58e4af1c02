/** An observer whose LISTs a test makes by hand. */
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { cellLeaseName, observerLeaseName } from "../../../../src/api/cell-lease.ts";
import { readMicroTime } from "../../../../src/api/micro-time.ts";
import { type CellChange, CellSilence, type CellState } from "../../../../src/accounting/silence/cell-silence.ts";
import { Contact } from "../../../../src/accounting/silence/contact.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";

const minutes3 = 180_000;

/** A Lease of cell `cellID` (of the generator when undefined) with this beat. */
export function lease(cellID: string | undefined, beat: string, changes: Partial<CellLease> = {}): CellLease {
  return {
    name: cellID === undefined ? observerLeaseName : cellLeaseName(cellID),
    uid: "uid",
    resourceVersion: "1",
    cellID,
    beat,
    holderIdentity: "aggregator",
    renewedAt: undefined,
    productVersion: undefined,
    clusterUID: undefined,
    behind: undefined,
    gate: undefined,
    silentSince: undefined,
    keepUntil: undefined,
    adopt: undefined,
    isForgotten: false,
    isHurried: false,
    durationSeconds: undefined,
    ignored: [],
    ...changes,
  };
}

/** The wall clock of the observer is at this time when its monotonic clock is at 0. */
const epochMs = Date.UTC(2026, 0, 1);
/** `seconds` after the observer's start, as an annotation. */
export const timeOf = (seconds: number): CellLease["silentSince"] =>
  readMicroTime(new Date(epochMs + seconds * 1000).toISOString());

export class LeaseLists {
  readonly contact = new Contact(silenceTimes(minutes3), at(0));
  readonly silence: CellSilence;
  seconds = 0;
  /** For how long its machine was suspended: the wall clock has gone on. */
  sleptSeconds = 0;
  changes: CellChange[] = [];

  constructor({ policy = "zero" }: { policy?: "zero" | "keep" } = {}) {
    this.silence = new CellSilence(silenceTimes(minutes3), policy, this.contact, at(0));
  }

  /** A LIST at `seconds`, answered `answeredAfter` seconds later, in a core that takes writes. */
  list(seconds: number, leases: readonly CellLease[], { answeredAfter = 0, isWritten = true } = {}): void {
    this.seconds = seconds + answeredAfter;
    const answeredMs = this.seconds * 1000;
    const now = ((epochMs + answeredMs + this.sleptSeconds * 1000) * 1000) as EpochMicros;
    const list = { sentAt: at(seconds * 1000), answeredAt: at(answeredMs), now, leases };
    this.contact.listed(list);
    if (isWritten) this.contact.wrote();
    this.changes.push(...this.silence.listed(list));
  }

  /** A LIST each 15 s from the last one up to `seconds`, all with the same Leases. */
  listUntil(seconds: number, leases: readonly CellLease[], { isWritten = true } = {}): void {
    while (this.seconds + 15 <= seconds) this.list(this.seconds + 15, leases, { isWritten });
  }

  /** "silent since 15", "keep policy" or "beating". */
  state(cellID = "a", uid = "some"): string {
    return textOf(this.silence.stateOf(cellID, uid));
  }

  isDecided(): boolean {
    return this.silence.isDecided(at(this.seconds * 1000));
  }
}

function textOf(state: CellState): string {
  switch (state.kind) {
    case "beating":
      return "beating";
    case "keep":
      return `keep ${state.reason}`;
    case "silent":
      return `silent since ${state.since / 1000}`;
  }
}
