/**
 * Finds held deletions whose namespace is being deleted too: nothing tells of that, and what was a change of its own
 * becomes a part of the namespace's end (docs/mass-changes.md#terminating-namespaces).
 */
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { isKubeError } from "../../kube/kube-client.ts";
import { Turns } from "../../util/turns.ts";
import { type Goal } from "./change.ts";
import { type Surroundings } from "./surroundings.ts";

/** Namespaces in a round: two requests a second, when a disaster holds deletions in thousands of them. */
const askedMax = 10;

interface JudgedChange {
  readonly source: SourceRecord;
  readonly change: { readonly to: Goal };
  readonly terminatingNamespace: string | undefined;
  readonly state: string;
}

export class EndingNamespaces {
  readonly #surroundings: Pick<Surroundings, "namespace">;
  readonly #turns = new Turns(askedMax);

  constructor(surroundings: Pick<Surroundings, "namespace">) {
    this.#surroundings = surroundings;
  }

  /** Which of the changes are to be judged anew; call it now and then. Never throws KubeErrors. */
  async among(changes: ReadonlyMap<ObjectKey, JudgedChange>, signal: AbortSignal): Promise<readonly ObjectKey[]> {
    const held = [...changes.values()].filter(isHeldDeletion).map(namespaceOf);
    const ending = new Set<string>();
    for (const namespace of this.#turns.next(held)) if (await this.#isEnding(namespace, signal)) ending.add(namespace);
    // Meanwhile they may have been approved.
    const due = [...changes].filter(([, change]) => isHeldDeletion(change) && ending.has(namespaceOf(change)));
    return due.map(([key]) => key);
  }

  async #isEnding(namespace: string, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#surroundings.namespace(namespace, signal))?.isTerminating === true;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return false;
    }
  }
}

function isHeldDeletion({ state, change, terminatingNamespace }: JudgedChange): boolean {
  return state === "held" && change.to === undefined && terminatingNamespace === undefined;
}

function namespaceOf({ source }: JudgedChange): string {
  return source.namespace;
}
