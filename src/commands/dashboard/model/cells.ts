/** The cells of a core as the page shows them. */
import { epochMicrosOf } from "../../../api/micro-time.ts";
import { printable } from "../../../util/printable.ts";
import { type FleetCell } from "../../fleet/cells.ts";
import { type Tone } from "./row-state.ts";

export interface CellCard {
  readonly core: string;
  readonly cell: string;
  readonly word: string;
  readonly tone: Tone;
  /** For people: what follows from it; "" where the word says all. */
  readonly why: string;
  /** Its last beat, in epoch milliseconds of its own clock; undefined = the Lease does not tell. */
  readonly heardMs: number | undefined;
  /** Of its aggregator; "" = it does not say. */
  readonly version: string;
}

/** Pure. */
export function cellCard(core: string, { cellID, lease, glance }: FleetCell): CellCard {
  const card = (word: string, tone: Tone, why = ""): CellCard => ({
    core,
    cell: printable(cellID),
    word,
    tone,
    why,
    heardMs: lease.renewedAt === undefined ? undefined : epochMicrosOf(lease.renewedAt) / 1000,
    version: printable(lease.productVersion ?? ""),
  });
  const isSilent = glance.silentForMs !== undefined;
  if (lease.isForgotten) return card("Retiring", "note", "It is being removed from every PodProtector");
  if (isSilent && glance.isKept) return card("Silent, kept", "warn", "A person keeps its last counts in force");
  if (isSilent) return card("Silent", "bad", "Its pods do not count until it is heard again");
  if (lease.gate !== undefined) return card("Not guarded", "bad", printable(lease.gate));
  if (lease.behind !== undefined) return card("Behind", "warn", "It cannot count or write some PodProtectors");
  return card("Heard", "good");
}

/** Of a cell that PodProtectors name. `isKnown`: the Leases of the core have been read, and it has none. */
export function cardWithoutLease(core: string, cell: string, isKnown: boolean): CellCard {
  const why = "It shows no heartbeat; its last counts stay in force";
  const told = isKnown
    ? ({ word: "No Lease", tone: "warn", why } as const)
    : ({ word: "Unknown", tone: "note", why: "" } as const);
  return { core, cell, ...told, heardMs: undefined, version: "" };
}

const urgency: readonly Tone[] = ["bad", "warn", "note", "good"];

/** Of hundreds of cells only the first are on the screen. Equal ones keep their order. */
export function worstFirst(cards: readonly CellCard[]): readonly CellCard[] {
  return cards.toSorted((a, b) => urgency.indexOf(a.tone) - urgency.indexOf(b.tone));
}
