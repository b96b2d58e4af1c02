/** Cells that are silent when a test says so, and otherwise have no Leases. */
import { type CellState } from "../../../../src/accounting/silence/cell-silence.ts";
import { type WebhookCore } from "../../../../src/webhook/webhook.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";

export class FakeCells {
  /** By cell, and by cell and UID of one PodProtector ("a/uid"): silent since when, in milliseconds. */
  readonly silentSince = new Map<string, number>();
  /** The cells that an aggregator without heartbeats has counted. */
  readonly countedByOthers: string[] = [];

  /** By cell: for how long it has not been heard, in milliseconds. */
  readonly late = new Map<string, number>();

  /** Cells that a person has asked to retire. */
  readonly forgotten = new Set<string>();

  isForgotten(cellID: string): boolean {
    return this.forgotten.has(cellID);
  }

  unwrittenForMs(): undefined {
    return undefined;
  }

  lateForMs(cellID: string): number | undefined {
    return this.late.get(cellID);
  }

  stateOf(cellID: string, uid: string): CellState {
    const since = this.silentSince.get(cellID) ?? this.silentSince.get(`${cellID}/${uid}`);
    if (since === undefined) return { kind: "keep", reason: "no-lease" };
    return { kind: "silent", since: since as MonotonicMs };
  }

  countedByOther(cellID: string): void {
    this.countedByOthers.push(cellID);
  }
}

/** None of them is ever silent. */
export const noLeases: WebhookCore["cells"] = new FakeCells();
