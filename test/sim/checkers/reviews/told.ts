/**
 * Which replicas have been told of what there is in a core: one that has not cannot judge by it
 * (docs/accounting.md#the-promise).
 */
import { type Deliveries, type Edit } from "../../clusters/deliveries.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type Ledger } from "../accounting/ledger.ts";

export interface ToldOptions {
  readonly ledger: Ledger;
  /** Of the core's API server. */
  readonly deliveries: Deliveries;
  /** Those that judge by PodProtectors, or count for them. */
  readonly readers: () => readonly SimProcess[];
  /** Since when nobody reaches the core any more; undefined = somebody does. */
  readonly lostAtMs: () => number | undefined;
}

export class Told {
  readonly #options: ToldOptions;

  constructor(options: ToldOptions) {
    this.#options = options;
  }

  /** Whether the replica had been told of the edit by then. */
  knew(replica: string, edit: Edit, atMs: number): boolean {
    return this.#options.deliveries.knew(replica, edit, atMs);
  }

  /** The same, or it would have had to be: it takes so long no more. */
  mustKnow(replica: string, edit: Edit, atMs: number): boolean {
    const { ledger, lostAtMs } = this.#options;
    const { nowMs } = ledger.kernel;
    // The time without a core that never comes back does not count: nobody can be told meanwhile.
    const lostForMs = nowMs - (lostAtMs() ?? nowMs);
    return this.knew(replica, edit, atMs) || !ledger.exclusions.excuses("slow to be told", edit.sinceMs + lostForMs);
  }

  /** All that run had been told of the edit by then. */
  isToldToAll(edit: Edit, atMs: number): boolean {
    return this.#options
      .readers()
      .every((process) => process.node() === undefined || this.knew(process.name, edit, atMs));
  }
}
