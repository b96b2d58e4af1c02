/**
 * The pods of strangers among those that a PodProtector selects (docs/accounting.md#foreign-pods): which of them are
 * left out, by the present counts, and which really are.
 */
import { foreignIn, isForeign, neverReplicas } from "../../../../src/accounting/count/foreign-owners.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type Aggregation, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { cellOf } from "./history.ts";

type Spec = Pick<PodProtector["spec"], "foreignOwners">;

/** A state that was read so long ago is not judged by any more: its request, and a second. */
const readForMs = 6_000;

export class Strangers {
  /** By cell and kind of controller: until when they were left out. */
  readonly #untilMs = new Map<string, number>();

  /** The state is replaced by a newer one. */
  replaced({ status, spec }: PodProtector, nowMs: number): void {
    for (const { cellID, aggregation } of status?.cells ?? [])
      for (const kind of foreignIn(aggregation, spec)) this.#untilMs.set(`${cellID}/${kind}`, nowMs);
  }

  /**
   * Counts of this release are a compare-and-swap on the spec that they are made by: what that names, and the snapshot
   * has, they leave out. `held`: the selected pods of the snapshot.
   */
  unnamed(held: readonly PodRecord[], { countedOwners = [] }: Aggregation, { foreignOwners = [] }: Spec): string[] {
    const kinds = new Set(held.map(({ controllerKind = "" }) => controllerKind));
    return foreignOwners.filter((kind) => kinds.has(kind) && !countedOwners.includes(kind));
  }

  /** Whether counts and spec leave it out. */
  areLeftOut(record: PodRecord, cell: string, object: PodProtector | undefined): boolean {
    return object !== undefined && isForeign(record, cellOf(object, cell)?.aggregation, object.spec);
  }

  /** Whether a webhook that was asked then may have left it out. */
  mayBeLeftOut(record: PodRecord, cell: string, object: PodProtector | undefined, arrivedMs: number): boolean {
    const untilMs = this.#untilMs.get(`${cell}/${record.controllerKind}`) ?? Number.NEGATIVE_INFINITY;
    return untilMs >= arrivedMs - readForMs || this.areLeftOut(record, cell, object);
  }
}

/** Whether it cannot be a workload's own, whatever anybody counts. */
export function isStranger({ controllerKind = "" }: PodRecord): boolean {
  return neverReplicas.includes(controllerKind);
}
