/**
 * Quota and settlement once more, written from the design alone and as simply as possible: an admission is an entry of
 * a list, nothing is packed, and every row of the tables is one line. Slow and without any of the product's structure
 * on purpose.
 */

/** One admission that has not settled. `pod` is undefined for one whose pod a Go component forgot. */
export interface Entry {
  readonly pod: string | undefined;
  readonly cell: string;
  /** Undefined: an eviction, or written by a Go webhook. */
  readonly version: number | undefined;
}

export interface NaiveCell {
  readonly name: string;
  readonly available: number;
  /** Of the present spec, of another one, or never made. */
  readonly counts: "there" | "former" | "none";
}

export interface Wish {
  readonly pod: string;
  readonly cell: string;
  readonly version: number;
  readonly eviction: boolean;
  readonly health: "ready" | "young" | "not ready" | "terminating";
  readonly forced: boolean;
  readonly protected: boolean;
}

export type Answer =
  | "allowed, not recorded"
  | "allowed, recorded"
  | "rejected"
  | "unconfirmed"
  | "lag-limit"
  | "counts-pending";

/** Design 2.2 and 2.5. Returns the answer and the entries afterwards. */
export function decide(
  wish: Wish,
  cells: readonly NaiveCell[],
  entries: readonly Entry[],
  minAvailable: number,
  maxLag: number,
): { answer: Answer; entries: readonly Entry[] } {
  const refuse = (answer: Answer): { answer: Answer; entries: readonly Entry[] } => ({ answer, entries });
  if (wish.health === "terminating") return refuse("allowed, not recorded");
  if (wish.health === "not ready" && !wish.eviction) return refuse("allowed, not recorded");

  const own = entries.find((entry) => entry.pod === wish.pod && entry.cell === wish.cell);
  const after = [
    ...entries.filter((entry) => entry !== own),
    { pod: wish.pod, cell: wish.cell, version: versionAfter(wish, own) },
  ];
  const allow = { answer: "allowed, recorded" as const, entries: after };
  const made = cells.find((cell) => cell.name === wish.cell)?.counts ?? "none";
  if (wish.forced || !wish.protected || minAvailable <= 0)
    return made === "none" ? refuse("allowed, not recorded") : allow;

  const needsQuota = wish.health === "ready";
  if (made === "none" || (made === "former" && (needsQuota || wish.eviction))) return refuse("counts-pending");
  if (!needsQuota) return allow;

  let counted = 0;
  let kept = 0;
  let keptLast = 0;
  for (const { name, available, counts } of cells) {
    const promised = entries.filter(({ cell }) => cell === name).length;
    const left = Math.max(0, available - promised);
    if (counts === "there") counted += available;
    if (counts === "there") kept += left;
    if (counts !== "none") keptLast += left;
    // Nobody knows whose pods these are.
    if (counts === "none") kept -= promised;
    if (counts === "none") keptLast -= promised;
  }
  const weight = own === undefined ? 1 : 0;
  const lags = own === undefined && maxLag !== 0 && entries.length >= maxLag;
  if (kept - weight >= minAvailable && counted - 1 >= minAvailable && !lags) return allow;
  let last = counted;
  for (const cell of cells) if (cell.counts === "former") last += cell.available;
  if (counted - 1 < minAvailable) return refuse(last - 1 < minAvailable ? "rejected" : "counts-pending");
  if (lags) return refuse("lag-limit");
  return refuse(keptLast - weight < minAvailable ? "unconfirmed" : "counts-pending");
}

/** A bucket without a version never gains one; an eviction removes it; a repeat raises it. */
function versionAfter(wish: Wish, own: Entry | undefined): number | undefined {
  if (wish.eviction) return undefined;
  if (own === undefined) return wish.version;
  return own.version === undefined ? undefined : Math.max(own.version, wish.version);
}

/** What an aggregator knows about one entry that names its pod. All times in ms; -Infinity = never. */
export interface Situation {
  readonly version: number | undefined;
  readonly seenAt: number;
  readonly pod: "absent" | "terminating" | { readonly version: number };
  readonly snapshot: number;
  readonly barrierSentAt: number;
  readonly fence: { readonly sentAt: number; readonly version: number } | undefined;
  readonly fenceForbidden: boolean;
}

/** The table of docs/accounting.md#settlement for entries that name their pod: which row settles it, or undefined. */
export function settledBy(one: Situation, settleWindowMs: number): string | undefined {
  const rows: readonly [string, boolean][] = [
    ["terminating", one.pod === "terminating"],
    ["gone", one.pod === "absent" && one.version !== undefined && one.snapshot >= one.version],
    ["gone", one.pod === "absent" && one.barrierSentAt > one.seenAt],
    ["newer-version", isAlive(one.pod) && one.version !== undefined && one.pod.version > one.version],
    [
      "fenced",
      isAlive(one.pod) &&
        one.version !== undefined &&
        one.fence !== undefined &&
        one.fence.sentAt > one.seenAt &&
        one.pod.version >= one.fence.version,
    ],
    [
      "window",
      isAlive(one.pod) &&
        (one.version === undefined || one.fenceForbidden) &&
        one.barrierSentAt >= one.seenAt + settleWindowMs,
    ],
  ];
  return rows.find(([, holds]) => holds)?.[0];
}

function isAlive(pod: Situation["pod"]): pod is { readonly version: number } {
  return typeof pod === "object";
}
