/**
 * Which PodProtectors want pods to stay and match none in any cell, for the condition Unmatched (docs/conditions.md).
 * The generator finds them, because only it knows all cells: one that has never counted a pod is not in the status.
 *
 * A cell that is silent, or has not had the time to count, may have pods. So something is said only when each cell has
 * sent a beat that vouches for what there was when this began. Until then what was said stays.
 */
import { type Holding } from "../../api/v1alpha1/conditions.ts";
import { type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";

export interface UnmatchedProtectorsOptions {
  readonly times: Pick<SilenceTimes, "silentAfterMs" | "freshMs">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

interface Unmatched {
  /** An edit of the spec begins anew. */
  readonly generation: number | undefined;
  readonly sinceMs: MonotonicMs;
}

const unmatched: Holding<"Unmatched"> = {
  reason: "NoPods",
  message:
    "Pods must stay, and none in any cell matches: compare spec.selector with the labels of the pods, " +
    "or delete the PodProtector if its workload is gone",
};

export class UnmatchedProtectors {
  readonly #options: UnmatchedProtectorsOptions;
  /** By UID: those that match nothing, as of the last update. At most one for each PodProtector. */
  #known: ReadonlyMap<string, Unmatched> = new Map();
  #cells: ReadonlyMap<string, ObservedCell> = new Map();

  constructor(options: UnmatchedProtectorsOptions) {
    this.#options = options;
  }

  /** Takes all PodProtectors, and the cells as the last LIST of their Leases has shown them. */
  update(protectors: Iterable<PodProtector>, cells: Iterable<ObservedCell>): void {
    const nowMs = this.#options.clock.monotonicMs();
    const now = new Map<string, Unmatched>();
    for (const protector of protectors) {
      const { uid, generation } = protector.metadata;
      if (!matchesNothing(protector)) continue;
      const before = this.#known.get(uid);
      const isSame = before !== undefined && before.generation === generation;
      now.set(uid, isSame ? before : { generation, sinceMs: nowMs });
    }
    this.#known = now;
    // A cell whose Lease has been gone for long is none, unless a status has it.
    const present = [...cells].filter(({ state }) => state.kind !== "keep" || state.reason !== "lease-vanished");
    this.#cells = new Map(present.map((cell) => [cell.cellID, cell]));
  }

  /** False = pods match, or none has to stay. Undefined = not known, or not for long enough. */
  found(protector: PodProtector): Holding<"Unmatched"> | false | undefined {
    if (!matchesNothing(protector)) return false;
    const { uid, generation } = protector.metadata;
    const known = this.#known.get(uid);
    if (known === undefined || known.generation !== generation || this.#cells.size === 0) return undefined;
    const { freshMs, silentAfterMs } = this.#options.times;
    // A beat includes what there was so long before it, and names what was not written within the time of silence.
    const provenAtMs = later(known.sinceMs, freshMs + silentAfterMs);
    const digest = digestOfUID(uid);
    for (const { state, beatAt, behind } of this.#cells.values())
      if (state.kind !== "beating" || beatAt < provenAtMs || behind.has(digest)) return undefined;
    for (const { cellID, aggregation } of protector.status?.cells ?? [])
      if (aggregation === undefined || !this.#cells.has(cellID)) return undefined;
    return unmatched;
  }
}

function matchesNothing({ spec, status }: PodProtector): boolean {
  const hasNone = ({ aggregation }: CellStatus): boolean => (aggregation?.totalReplicas ?? 0) === 0;
  return spec.minAvailable > 0 && (status?.cells ?? []).every(hasNone);
}
