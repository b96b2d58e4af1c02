/** What a refusal says of silent cells (docs/accounting.md#silent-cells): which, for how long, and what to do. */
import { cellLeaseAnnotations, cellLeaseName } from "../../../api/cell-lease.ts";
import { isCellID } from "../../../api/cell-id.ts";
import { type CellFigures, type QuotaFigures } from "../../../accounting/reserve/quota-figures.ts";
import { type RefusingVerdict } from "../../../accounting/reserve/reservation.ts";
import { printable } from "../../../util/printable.ts";

/** Cells named with their age, so that a person can read it. */
const cellsMax = 3;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** "45 s", "4 min" or "3 h": never more than it has been. */
export function ageText(ms: number): string {
  if (ms < 2 * minuteMs) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (ms < 2 * hourMs) return `${Math.floor(ms / minuteMs)} min`;
  return `${Math.floor(ms / hourMs)} h`;
}

/** The cells of a refusal that would not be without their silence: `cell "a" has been silent for 4 min`. */
export function missedText({ cells }: QuotaFigures, missed: readonly string[]): string {
  const silent = cells.filter(({ cellID }) => missed.includes(cellID));
  const named = silent.slice(0, cellsMax).map(silentText).join(" and ");
  const more = silent.length - cellsMax;
  const others = more === 1 ? ", and so has one more cell" : more > 1 ? `, and so have ${more} more cells` : "";
  return `${named}${others}, so what was counted there is left out; with it there would be room`;
}

function silentText({ cellID, silentForMs = 0 }: CellFigures): string {
  return `cell ${quoted(cellID)} has been silent for ${ageText(silentForMs)}`;
}

/** Not heard for `ms` milliseconds, and not silent yet. */
export interface LateCell {
  readonly cellID: string;
  readonly ms: number;
}

/** `lateForMs`: undefined = none is. */
export function lateCells(
  { cells }: QuotaFigures,
  lateForMs: ((cellID: string) => number | undefined) | undefined,
): readonly LateCell[] {
  return cells.flatMap(({ cellID }) => {
    const ms = lateForMs?.(cellID);
    return ms === undefined ? [] : [{ cellID, ms }];
  });
}

/**
 * The late cells that a deletion waits for: for their counts, or for what they have promised. An aggregator that has
 * died counts and settles nothing, however often somebody tries again.
 */
export function unheardOf(verdict: RefusingVerdict, late: readonly LateCell[]): readonly string[] {
  const { cells } = verdict.figures;
  const awaited =
    verdict.kind === "counts-pending"
      ? verdict.awaited
      : verdict.kind === "retry" && verdict.missed === undefined
        ? cells.filter(({ unconfirmed }) => unconfirmed > 0).map(({ cellID }) => cellID)
        : [];
  return late.map(({ cellID }) => cellID).filter((cellID) => awaited.includes(cellID));
}

/** Cells that may be silent soon: `Not heard: cell "a" for 65 s. If that goes on, check the aggregator there`. */
export function lateText(late: readonly LateCell[]): string | undefined {
  if (late.length === 0) return undefined;
  const named = late.slice(0, cellsMax).map(({ cellID, ms }) => `cell ${quoted(cellID)} for ${ageText(ms)}`);
  const more = late.length > cellsMax ? [`${late.length - cellsMax} more`] : [];
  return `Not heard: ${[...named, ...more].join(", ")}. If that goes on, check the aggregator there`;
}

/**
 * What the core cluster takes no writes for: `failure`, the last one of a status write, or as nobody's heartbeat was
 * written for `unwrittenForMs` milliseconds. Undefined = it takes them, as far as is known.
 */
export function coreTroubleText(failure: string | undefined, unwrittenForMs: number | undefined): string | undefined {
  const why =
    failure !== undefined
      ? `takes no writes (${failure})`
      : unwrittenForMs !== undefined
        ? `has taken no write of a heartbeat for ${ageText(unwrittenForMs)}`
        : undefined;
  return why && `Its core cluster ${why}: until it does, nothing settles, and no cell can be heard`;
}

/** What to do about a silent cell, or about a PodProtector for which alone the cell is silent. */
export function silenceAdvice(cellID: string): string {
  // A name that is none comes from the writer of a status; it has no Lease.
  const lease = isCellID(cellID) ? `its Lease ${cellLeaseName(cellID)} in the core cluster` : "its Lease";
  return (
    `Check the aggregator of cell ${quoted(cellID)}: whether it runs, reaches its API server and the core cluster, ` +
    "and may write the status of this PodProtector. For planned maintenance the annotation " +
    `${cellLeaseAnnotations.keepUntil} on ${lease} keeps the last counts in force until the time that it names`
  );
}

/** Of a pod whose kubelet is not heard (docs/accounting.md#unseen-pods): a clause, and what to do. */
export const unseenText = "the kubelet of this pod is not heard, so that it may well serve";
export const unseenAdvice =
  "Wait until its node is heard again, or until enough others are available. Taint eviction may delete it: it waits " +
  "for dead nodes, and stops where a whole zone seems dead";

export function retirementAdvice(cellID: string): string {
  return (
    `It is decided within minutes; to keep the cell, take the annotation ${cellLeaseAnnotations.forget} ` +
    `off its Lease ${isCellID(cellID) ? `${cellLeaseName(cellID)} ` : ""}in the core cluster`
  );
}

function quoted(cellID: string): string {
  return printable(JSON.stringify(cellID));
}
