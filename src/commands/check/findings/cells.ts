/** The cells of a core: who is heard, who counts for nothing, and who is only a name. */
import { namespacesNotGuarded } from "../../../api/cell-lease.ts";
import { epochMicrosOf, formatMicroTime } from "../../../api/micro-time.ts";
import { ghostsOf } from "../../../generator/cells/leaving-cells.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type ListedProtectors } from "../../fleet/protectors.ts";
import { type CellFacts, type CoreFacts, type HeartbeatFacts } from "../facts.ts";
import { agoText, counted, fail, type Finding, namesText, note, ok, unchecked, warn } from "../finding.ts";
import { lastRenewal } from "./generator.ts";

const silentPage = "docs/cells.md#see-a-silent-cell";
/** --silent-cell-after, where a Lease does not say it. */
const silentAfterSecondsDefault = 180;

/**
 * `now`: by the clock of the core. `checked`: cells whose worker is looked at as well, so that what their aggregators
 * say of the webhook need not be repeated.
 */
export function cellFindings(
  { heartbeats, protectors }: Pick<CoreFacts, "heartbeats" | "protectors">,
  now: EpochMicros,
  checked: ReadonlySet<string>,
): readonly Finding[] {
  if (!heartbeats.ok) return [unchecked("cell-silent", "cells", heartbeats.why)];
  const { cells } = heartbeats.value;
  const nobody = nobodyHeard(heartbeats.value, now);
  const leased = new Set(cells.map(({ cellID }) => cellID));
  return [
    ...(nobody === undefined ? [] : [nobody]),
    ...cells.flatMap((cell) => ofCell(cell, nobody === undefined ? now : undefined, checked.has(cell.cellID))),
    ...(protectors.ok ? [...ghosts(protectors.value, leased), ...unheard(protectors.value, leased)] : []),
  ];
}

/**
 * Nobody has written a heartbeat for longer than anybody's are apart. Where all cells and the generator seem silent at
 * once, that is one cause, and no news of any of them (docs/accounting.md#silent-cells). Undefined = somebody has.
 */
export function nobodyHeard({ writtenAt }: HeartbeatFacts, now: EpochMicros): Finding | undefined {
  if (writtenAt === undefined || now - writtenAt <= lateAfterSeconds * 1_000_000) return undefined;
  const text = `nobody has written a heartbeat for ${agoText(now, writtenAt)}: the core takes none, or nobody runs`;
  return fail("core-writes", text, {
    cure: "look whether its etcd is full, whether a policy refuses Leases, and whether webhooks run",
    page: "docs/runbooks/core-unwritable.md",
  });
}

/** `now`: undefined = nobody could be heard, so only what was known before is told. */
function ofCell(cell: CellFacts, now: EpochMicros | undefined, isChecked: boolean): readonly Finding[] {
  const { cellID, lease } = cell;
  const { gate } = lease;
  const findings: Finding[] = [];
  if (lease.isForgotten)
    findings.push(note("cell-retiring", `cell "${cellID}" is being retired`, "docs/cells.md#retire-a-cell"));
  else if (now !== undefined) findings.push(heard(cell, now));
  if (lease.behind !== undefined) {
    const text = `the aggregator of cell "${cellID}" cannot count or write some PodProtectors`;
    const cure = "look at its log, and at invalid PodProtectors below";
    findings.push(warn("cell-behind", text, { cure, page: "docs/aggregator.md#heartbeat" }));
  }
  for (const { annotation, value, allowed } of lease.ignored) {
    const text = `the Lease of cell "${cellID}" has ${annotation}=${value}, which is ignored`;
    findings.push(warn("annotation-ignored", text, { cure: `write ${allowed}`, page: "docs/cells.md#keep-a-cell" }));
  }
  if (gate !== undefined && !isChecked) {
    const open = namespacesNotGuarded(gate);
    const found =
      open === undefined
        ? `its webhook ${gateWords[gate] ?? gate}`
        : `that deletions in ${namesText(open)} are not sent to the webhook`;
    const text = `the aggregator of cell "${cellID}" finds ${found}`;
    const cure = `run this check with --worker ${cellID}=CONTEXT, and look at the webhook configuration there`;
    findings.push(fail("gate", text, { cure, page: "docs/aggregator.md#is-the-gate-still-there" }));
  }
  return findings;
}

const gateWords: Readonly<Record<string, string>> = {
  missing: "missing: pod deletions there are not reviewed",
  "other-cell": "called for another cell",
  unreachable: "out of reach: pod deletions there are refused",
};

/** Heartbeats come every 10 s; webhooks name such a cell in refusals from then on, too. */
const lateAfterSeconds = 45;

function heard(cell: CellFacts, now: EpochMicros): Finding {
  const { cellID, lease } = cell;
  const since = silentSince(cell, now);
  if (since === undefined) {
    const last = lastRenewal(cell);
    const text = `cell "${cellID}" was last heard ${agoText(now, last)} ago`;
    if (last === undefined || now - last <= lateAfterSeconds * 1_000_000) return ok("cell-silent", text);
    return warn("cell-silent", `${text}: soon its pods count for nothing`, {
      cure: "look whether its aggregator runs, and reaches its cluster and the core",
      page: silentPage,
    });
  }
  const { keepUntil } = lease;
  if (keepUntil !== undefined && keepUntil > formatMicroTime(now)) {
    const text = `cell "${cellID}" is silent, and its last counts are kept until ${keepUntil}`;
    return note("cell-keep", text, "docs/cells.md#keep-a-cell");
  }
  return fail(
    "cell-silent",
    `cell "${cellID}" has been silent for ${agoText(now, since)}: its pods count for nothing`,
    {
      cure:
        `start its aggregator; for planned work, podseidon cells keep ${cellID} --for 2h keeps its last counts; a ` +
        `cell that is gone for good is retired by podseidon cells forget ${cellID}`,
      page: silentPage,
    },
  );
}

/** By the mark of the generator, which counts beats; where none marks, by the last write. */
function silentSince(cell: CellFacts, now: EpochMicros): EpochMicros | undefined {
  const { lease } = cell;
  if (lease.silentSince !== undefined) return epochMicrosOf(lease.silentSince);
  const last = lastRenewal(cell);
  const afterSeconds = lease.durationSeconds ?? silentAfterSecondsDefault;
  // An aggregator whose clock is behind beats all the same; without the server's time of the write we cannot tell.
  return last !== undefined && now - last > afterSeconds * 1_000_000 ? last : undefined;
}

/** Cells of statuses that have promised deletions and neither counts nor a Lease. */
function ghosts({ valid }: ListedProtectors, leased: ReadonlySet<string>): readonly Finding[] {
  const objects = new Map<string, number>();
  for (const stored of valid)
    for (const { cellID } of ghostsOf(stored))
      if (!leased.has(cellID)) objects.set(cellID, (objects.get(cellID) ?? 0) + 1);
  return [...objects].map(([cellID, count]) =>
    warn(
      "ghost-cell",
      `cell "${cellID}" is a ghost: ${counted(count, "PodProtector")} ${count === 1 ? "has" : "have"} promised ` +
        "deletions there, and nobody counts it",
      {
        cure:
          `find the webhook configuration whose URL ends with /${cellID} and correct it; the generator removes the ` +
          "ghost 75 s after the last admission",
        page: "docs/cells.md#ghost-cells",
      },
    ),
  );
}

/** Counted cells without a Lease: of the Go original, of an earlier release, or dead. */
function unheard({ valid }: ListedProtectors, leased: ReadonlySet<string>): readonly Finding[] {
  const objects = new Map<string, number>();
  for (const { protector } of valid)
    for (const { cellID, aggregation } of protector.status?.cells ?? [])
      if (aggregation !== undefined && !leased.has(cellID)) objects.set(cellID, (objects.get(cellID) ?? 0) + 1);
  return [...objects].map(([cellID, count]) =>
    warn(
      "cell-silent",
      `cell "${cellID}" counts in ${counted(count, "PodProtector")} and has no Lease: if its aggregator is dead, ` +
        "nobody will notice",
      {
        cure: "run an aggregator of this release for it, or retire it: podseidon cells forget",
        page: "docs/cells.md#retire-a-cell",
      },
    ),
  );
}
