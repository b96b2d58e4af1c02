/**
 * Ghost cells (docs/cells.md#ghost-cells): cells with admitted deletions and without counts. Nobody counts them, so
 * nobody settles what is recorded there, and it takes quota for ever. (A cell that has a Lease is none: whoever renews
 * it counts soon. The caller knows the Leases.) Old releases of this webhook and webhooks of the
 * Go original made them, for each review with a mistyped cell in its URL.
 *
 * A ghost may go when it has stood unchanged for a settle window: then no deletion that was recorded there can still be
 * under way, whichever cell its pod is really in. Measured on this process's own clock since it first saw the cell as
 * it is, so a restart makes it later, never wrong.
 */
import { isDeepStrictEqual } from "node:util";
import { type ObjectKey } from "../../api/object-key.ts";
import { type Bucket, type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { later, type MonotonicMs } from "../../util/clock.ts";

/** The default of --aggregator-settle-window: no request to delete a pod lasts that long. */
export const ghostWindowMs = 75_000;

interface Seen {
  readonly buckets: readonly Bucket[];
  readonly sinceMs: MonotonicMs;
}

/** Of all PodProtectors that are watched. Holds what their statuses hold, and so is as limited as these are. */
export class GhostCells {
  readonly #ghosts = new Map<ObjectKey, { readonly uid: string; readonly cells: ReadonlyMap<string, Seen> }>();

  /** Takes note of a PodProtector as it is now; returns its ghosts, and those that were none before. */
  watched(stored: StoredProtector, nowMs: MonotonicMs): Record<"present" | "added", readonly CellStatus[]> {
    const { key, uid } = stored;
    const present = ghostsOf(stored);
    const known = this.#ghosts.get(key);
    const before = known?.uid === uid ? known.cells : undefined;
    if (present.length === 0) this.#ghosts.delete(key);
    else {
      const cells = present.map((cell): readonly [string, Seen] => {
        const seen = before?.get(cell.cellID);
        const isUnchanged = seen !== undefined && isDeepStrictEqual(seen.buckets, bucketsOf(cell));
        return [cell.cellID, isUnchanged ? seen : { buckets: bucketsOf(cell), sinceMs: nowMs }];
      });
      this.#ghosts.set(key, { uid, cells: new Map(cells) });
    }
    return { present, added: present.filter(({ cellID }) => before?.has(cellID) !== true) };
  }

  forget(key: ObjectKey): void {
    this.#ghosts.delete(key);
  }

  /** In how many milliseconds the first ghost of the PodProtector may go; undefined when it has none. */
  waitMs(key: ObjectKey, nowMs: MonotonicMs): number | undefined {
    const known = this.#ghosts.get(key);
    if (known === undefined) return undefined;
    const first = [...known.cells.values()].reduce((least, { sinceMs }) => Math.min(least, sinceMs), Infinity);
    return Math.max(0, Math.ceil(later(first as MonotonicMs, ghostWindowMs) - nowMs));
  }

  /** Whether the cell of a PodProtector that was just read live is still the ghost that has stood for a window. */
  mayGo({ key, uid }: StoredProtector, cell: CellStatus, nowMs: MonotonicMs): boolean {
    const known = this.#ghosts.get(key);
    const seen = known?.uid === uid ? known.cells.get(cell.cellID) : undefined;
    return (
      seen !== undefined &&
      isGhost(cell) &&
      isDeepStrictEqual(seen.buckets, bucketsOf(cell)) &&
      later(seen.sinceMs, ghostWindowMs) <= nowMs
    );
  }

  /** Ghosts of all PodProtectors together, without those of cells that have a Lease. */
  count(isLeased: (cellID: string) => boolean): number {
    let count = 0;
    for (const { cells } of this.#ghosts.values()) for (const cellID of cells.keys()) if (!isLeased(cellID)) count += 1;
    return count;
  }
}

/** Ghosts of a PodProtector as it is now, in the order of its status. */
export function ghostsOf({ protector }: StoredProtector): readonly CellStatus[] {
  return (protector.status?.cells ?? []).filter(isGhost);
}

function isGhost(cell: CellStatus): boolean {
  return cell.aggregation === undefined && bucketsOf(cell).length > 0;
}

function bucketsOf(cell: CellStatus): readonly Bucket[] {
  return cell.admissionHistory?.buckets ?? [];
}
