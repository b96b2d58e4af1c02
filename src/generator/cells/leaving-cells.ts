/**
 * When a cell may leave a PodProtector (docs/cells.md#retire-a-cell): a ghost, or a cell that is being retired.
 *
 * Ghosts (docs/cells.md#ghost-cells) are cells with admitted deletions and without counts. Nobody counts them, so
 * nobody settles what is recorded there, and it takes quota for ever. (A cell that has a Lease is none: whoever renews
 * it counts soon. cell-removals.ts asks.) Old releases of this webhook and webhooks of the Go original made them,
 * for each review with a mistyped cell in its URL.
 *
 * Either may go when its entry has stood unchanged for a settle window. Whoever admits or counts in the cell changes
 * it, so what a decision about the cell did not know yet keeps it; and no deletion that was recorded there can still be
 * under way, whichever cell its pod is really in. Measured on this process's own clock since it first saw the entry as
 * it is, so a restart makes it later, never wrong.
 */
import { isDeepStrictEqual } from "node:util";
import { type ObjectKey } from "../../api/object-key.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { later, type MonotonicMs } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";

export type RetirementVerdict =
  /** Nothing was heard of it lately, but not for long enough. */
  | "waiting"
  /** Somebody counts it. */
  | "refused"
  /** It leaves all PodProtectors. */
  | "retiring"
  /** The same, also where its entry changes. */
  | "hurried";

/** The default of --aggregator-settle-window: no request to delete a pod lasts that long. */
export const ghostWindowMs = 75_000;

/** Named to people. */
const changedMax = 5;
const podsMax = 3;

interface Seen {
  readonly entry: CellStatus;
  readonly sinceMs: MonotonicMs;
  /** What has changed last; undefined = nothing has yet. */
  readonly change: string | undefined;
}

/** Of all PodProtectors that are watched. Holds what their statuses hold, and so is as limited as these are. */
export class LeavingCells {
  readonly #isRetiring: (cellID: string) => boolean;
  readonly #leaving = new Map<ObjectKey, { readonly uid: string; readonly cells: ReadonlyMap<string, Seen> }>();

  constructor(isRetiring: (cellID: string) => boolean) {
    this.#isRetiring = isRetiring;
  }

  /** Takes note of a PodProtector as it is now; returns its ghosts, and those that were none before. */
  watched(stored: StoredProtector, nowMs: MonotonicMs): Record<"present" | "added", readonly CellStatus[]> {
    const { key, uid, protector } = stored;
    const known = this.#leaving.get(key);
    const before = known?.uid === uid ? known.cells : undefined;
    const leaving = (protector.status?.cells ?? []).filter((cell) => isGhost(cell) || this.#isRetiring(cell.cellID));
    if (leaving.length === 0) this.#leaving.delete(key);
    else {
      const cells = leaving.map((entry): readonly [string, Seen] => {
        const seen = before?.get(entry.cellID);
        if (seen !== undefined && isDeepStrictEqual(seen.entry, entry)) return [entry.cellID, seen];
        return [entry.cellID, { entry, sinceMs: nowMs, change: seen && changeOf(seen.entry, entry) }];
      });
      this.#leaving.set(key, { uid, cells: new Map(cells) });
    }
    const present = leaving.filter(isGhost);
    return { present, added: present.filter(({ cellID }) => before?.has(cellID) !== true) };
  }

  forget(key: ObjectKey): void {
    this.#leaving.delete(key);
  }

  /** In how many milliseconds the first of its leaving cells may go; undefined when it has none. */
  waitMs(key: ObjectKey, nowMs: MonotonicMs): number | undefined {
    const known = this.#leaving.get(key);
    if (known === undefined) return undefined;
    const first = [...known.cells.values()].reduce((least, { sinceMs }) => Math.min(least, sinceMs), Infinity);
    return Math.max(0, Math.ceil(later(first as MonotonicMs, ghostWindowMs) - nowMs));
  }

  /** Whether the entry of a PodProtector that was just read live is the one that has stood for a window. */
  hasStood({ key, uid }: StoredProtector, entry: CellStatus, nowMs: MonotonicMs): boolean {
    const known = this.#leaving.get(key);
    const seen = known?.uid === uid ? known.cells.get(entry.cellID) : undefined;
    return seen !== undefined && later(seen.sinceMs, ghostWindowMs) <= nowMs && isDeepStrictEqual(seen.entry, entry);
  }

  /** PodProtectors in which the entry of a leaving cell has changed, and how, for people; "" when none has. */
  changed(cellID: string): string {
    const all = [...this.#leaving].flatMap(([key, { cells }]) => {
      const change = cells.get(cellID)?.change;
      return change === undefined ? [] : [`${key} (${change})`];
    });
    const more = all.length > changedMax ? ` and ${all.length - changedMax} more` : "";
    return `${all.slice(0, changedMax).join(", ")}${more}`;
  }

  /** Ghosts of all PodProtectors together, without those of cells that have a Lease. */
  count(isLeased: (cellID: string) => boolean): number {
    const all = [...this.#leaving.values()].flatMap(({ cells }) => [...cells.values()]);
    return all.filter(({ entry }) => isGhost(entry) && !isLeased(entry.cellID)).length;
  }
}

function changeOf(before: CellStatus, now: CellStatus): string {
  const known = new Set(before.admissionHistory?.buckets?.map((bucket) => JSON.stringify(bucket)));
  const added = (now.admissionHistory?.buckets ?? []).filter((bucket) => !known.has(JSON.stringify(bucket)));
  if (added.length === 0) return "counted";
  const pods = added.slice(0, podsMax).map(({ podName, podUID = "?" }) => printable(podName ?? podUID));
  return `deletions of ${pods.join(", ")}${added.length > podsMax ? ` and ${added.length - podsMax} more` : ""}`;
}

/** Ghosts of a PodProtector as it is now, in the order of its status. */
export function ghostsOf({ protector }: StoredProtector): readonly CellStatus[] {
  return (protector.status?.cells ?? []).filter(isGhost);
}

export function isGhost({ aggregation, admissionHistory }: CellStatus): boolean {
  return aggregation === undefined && (admissionHistory?.buckets ?? []).length > 0;
}
