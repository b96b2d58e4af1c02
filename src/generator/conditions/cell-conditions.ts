/**
 * The conditions that depend on which cells are heard (docs/conditions.md): CellSilent, on PodProtectors of which
 * nothing is free without cells that are silent, Unmatched (unmatched-protectors.ts), and NotGuarded, where a cell says
 * that deletions of a namespace are not sent to the webhook.
 */
import { type FoundConditions, type Holding } from "../../api/v1alpha1/conditions.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { namespacesNotGuarded } from "../../api/cell-lease.ts";
import { countFor, criterionFor } from "../../accounting/count/health-criterion.ts";
import { type CellState, type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock } from "../../util/clock.ts";
import { UnmatchedProtectors } from "./unmatched-protectors.ts";

/** Cells named in one message. */
const namedMax = 5;

export interface CellConditionsOptions {
  readonly protectors: Informer<StoredProtector>;
  readonly times: SilenceTimes;
  /** As CellLeases.stateOf. */
  readonly stateOf: (cellID: string, protectorUID: string) => CellState;
  readonly clock: Clock;
}

export class CellConditions {
  readonly #options: CellConditionsOptions;
  readonly #unmatched: UnmatchedProtectors;
  #affected = 0;
  /** By namespace, the cells that say so. */
  #notGuarded: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(options: CellConditionsOptions) {
    this.#options = options;
    this.#unmatched = new UnmatchedProtectors(options);
  }

  /** PodProtectors of which nothing is free without a silent cell, as of the last update. */
  get affected(): number {
    return this.#affected;
  }

  /** Looks at all PodProtectors. `cells`: as the last LIST has shown them. */
  update(cells: Iterable<ObservedCell>): void {
    const { protectors, stateOf } = this.#options;
    const all = Array.from(protectors.values(), ({ protector }) => protector);
    const observed = [...cells];
    this.#unmatched.update(all, observed);
    this.#notGuarded = notGuardedIn(observed);
    this.#affected = all.filter((protector) => silentCellsOf(protector, stateOf) !== false).length;
  }

  found({ protector }: StoredProtector): FoundConditions {
    const CellSilent = silentCellsOf(protector, this.#options.stateOf);
    const Unmatched = this.#unmatched.found(protector);
    const NotGuarded = openIn(protector, this.#notGuarded.get(protector.metadata.namespace) ?? []);
    return { CellSilent, NotGuarded, ...(Unmatched !== undefined && { Unmatched }) };
  }
}

/** What the Leases of the cells say; that of a silent cell is the last that is known. */
function notGuardedIn(cells: readonly ObservedCell[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { cellID, lease } of cells)
    for (const namespace of namespacesNotGuarded(lease?.gate) ?? [])
      found.set(namespace, [...(found.get(namespace) ?? []), cellID]);
  return found;
}

function openIn({ spec }: PodProtector, cells: readonly string[]): Holding<"NotGuarded"> | false {
  if (spec.minAvailable <= 0 || cells.length === 0) return false;
  const more = cells.length > namedMax ? ` and ${cells.length - namedMax} more` : "";
  return {
    reason: "NotSent",
    message:
      `In cell ${cells.toSorted().slice(0, namedMax).join(", ")}${more} deletions of this namespace are not sent to ` +
      "the webhook, so no floor holds there: podseidon check names the line of the webhook configuration",
  };
}

/**
 * False = more pods than must stay are counted without the silent cells, if there are any. The summary, which kubectl's
 * columns show, has those cells in it: whoever writes it need not know who is silent. What is promised is left out of
 * the comparison. It settles within seconds, and each change back and forth would be two writes.
 */
export function silentCellsOf(
  { metadata, spec, status }: PodProtector,
  stateOf: CellConditionsOptions["stateOf"],
): Holding<"CellSilent"> | false {
  const silent: string[] = [];
  const criterion = criterionFor(undefined, spec);
  let available = 0;
  for (const { cellID, aggregation } of status?.cells ?? []) {
    const count = aggregation === undefined ? 0 : countFor(criterion, aggregation, spec);
    if (count === 0 || stateOf(cellID, metadata.uid).kind !== "silent") available += count;
    else silent.push(cellID);
  }
  if (silent.length === 0 || spec.minAvailable <= 0 || available > spec.minAvailable) return false;
  const more = silent.length > namedMax ? ` and ${silent.length - namedMax} more` : "";
  const names = silent.slice(0, namedMax).map((cellID) => `"${cellID}"`);
  return {
    reason: "NoHeartbeat",
    // No count of what is left: it may change every second, and each text is a write.
    message:
      `No pod is free: without ${silent.length === 1 ? "cell" : "cells"} ${names.join(", ")}${more}, from which ` +
      `nothing is heard, no more than the ${spec.minAvailable} that must stay are available`,
  };
}
