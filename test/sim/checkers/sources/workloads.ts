/**
 * The workloads of a core and their replicas, as budgets and hand-made PodProtectors count them
 * (docs/generator.md#poddisruptionbudgets): how many there are now, and how many somebody may take them for who has
 * heard of each kind at another time. Shares nothing with the product.
 */
import { asObject, type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { type Change } from "../../../double/engine/store.ts";
import { kindOf, ofBudgets, ofDatabases, protectorKeyOf } from "./kinds.ts";
import { isSelected, labelsOfText } from "./selectors.ts";

/** Which workloads of a namespace somebody counts. */
export type Choice =
  /** Those with such pods. */
  | { readonly by: "pods"; readonly selector: JsonObject }
  /** That one, by its key. */
  | { readonly by: "name"; readonly key: string }
  /** Those of a kind that have such labels themselves. */
  | { readonly by: "labels"; readonly prefix: string; readonly selector: JsonObject };

interface Version {
  readonly sinceMs: number;
  readonly state: "there" | "ending" | "gone";
  /** It vanished, or was deleted when not everybody may have seen it. */
  readonly isMissed: boolean;
  readonly replicas: number;
  readonly labels: JsonObject;
  /** Undefined = nothing says so any more. */
  readonly podLabels: JsonObject | undefined;
}

export class Workloads {
  /** By the key of the PodProtector that each would have: its versions, the present one at the end. */
  readonly #versions = new Map<string, Version[]>();

  /** True when something has changed that anybody counts. `isSeen`: all is well, and everybody sees a deletion. */
  changed({ type, object, previous }: Change, nowMs: number, isSeen: boolean): boolean {
    const key = protectorKeyOf(object);
    if (key === undefined || kindOf(object) === ofBudgets) return false;
    const versions = this.#versions.get(key) ?? [];
    this.#versions.set(key, versions);
    const isDeleted = previous?.metadata.deletionTimestamp !== undefined;
    const isMissed = type === "DELETED" && !(isDeleted && isSeen);
    const version = { ...versionOf(object, type === "DELETED"), isMissed };
    const last = versions.at(-1);
    if (last !== undefined && JSON.stringify({ ...last, sinceMs: 0 }) === JSON.stringify({ ...version, sinceMs: 0 }))
      return false;
    versions.push({ ...version, sinceMs: nowMs });
    return true;
  }

  /** The replicas of all that is chosen, each counted once. Undefined = nobody can know, or nothing is chosen. */
  count(namespace: string, choices: readonly Choice[]): number | undefined {
    const found = new Map<string, number>();
    for (const choice of choices) {
      let isAny = false;
      for (const [key, versions] of this.#in(namespace)) {
        const last = versions.at(-1);
        if (last === undefined || !isMeant(choice, key, versions)) continue;
        if (last.isMissed || (choice.by === "pods" && last.state !== "gone" && last.podLabels === undefined))
          return undefined;
        const replicas = replicasIn(choice, last);
        if (replicas === undefined) continue;
        isAny = true;
        found.set(key, replicas);
      }
      if (!isAny) return undefined;
    }
    return [...found.values()].reduce((sum, one) => sum + one, 0);
  }

  /** All sums for somebody who knows any state that each of them has had since then. */
  possible(namespace: string, choices: readonly Choice[], fromMs: number): ReadonlySet<number> {
    /** Without any of them; and with one at least. */
    let [isNone, sums] = [true, new Set<number>()];
    for (const [key, versions] of this.#in(namespace)) {
      const chosen = choices.filter((choice) => isMeant(choice, key, versions));
      const known = versions.filter((_, index) => (versions[index + 1]?.sinceMs ?? Infinity) >= fromMs);
      const counts = new Set(known.flatMap((one) => chosen.flatMap((choice) => possibleReplicasIn(choice, one))));
      const isFirst = known[0] !== undefined && known[0].sinceMs >= fromMs;
      const mayLack = counts.has(undefined) || isFirst || counts.size === 0;
      const present = [...counts].filter((count) => count !== undefined);
      const added = present.flatMap((count) => [...sums, ...(isNone ? [0] : [])].map((sum) => sum + count));
      sums = new Set([...added, ...(mayLack ? sums : [])]);
      isNone &&= mayLack;
    }
    return sums;
  }

  *#in(namespace: string): Iterable<readonly [string, readonly Version[]]> {
    for (const [key, versions] of this.#versions) if (key.startsWith(`${namespace}/`)) yield [key, versions];
  }
}

function versionOf(object: KubeObject, isGone: boolean): Omit<Version, "isMissed"> {
  const { metadata, spec = {}, status } = object;
  const { replicas, members, template } = spec;
  const isDatabase = kindOf(object) === ofDatabases;
  const wanted = isDatabase ? members : replicas;
  const ending = metadata.deletionTimestamp === undefined ? "there" : "ending";
  return {
    sinceMs: 0,
    state: isGone ? "gone" : ending,
    replicas: typeof wanted === "number" ? Math.max(0, wanted) : 1,
    labels: metadata.labels ?? {},
    podLabels: isDatabase
      ? labelsOfText(asObject(status)["selector"])
      : asObject(asObject(asObject(template)["metadata"])["labels"]),
  };
}

/** Whether it is chosen, or was: what has vanished, or says nothing any more, is known by what it said before. */
function isMeant(choice: Choice, key: string, versions: readonly Version[]): boolean {
  switch (choice.by) {
    case "name":
      return key === choice.key;
    case "labels":
      return key.includes(`/${choice.prefix}`) && versions.some(({ labels }) => isSelected(labels, choice.selector));
    default:
      return versions.some(({ podLabels }) => podLabels !== undefined && isSelected(podLabels, choice.selector));
  }
}

/** Of one whose pod labels nothing tells any more: it may be known by those that it had, with its present replicas. */
function possibleReplicasIn(choice: Choice, version: Version): readonly (number | undefined)[] {
  const replicas = replicasIn(choice, version);
  const isLost = choice.by === "pods" && version.podLabels === undefined && version.state !== "gone";
  return isLost ? [replicas, version.state === "ending" ? 0 : version.replicas] : [replicas];
}

/** What it counts for; undefined = it is not chosen, or not there. */
function replicasIn(choice: Choice, { state, replicas, labels, podLabels }: Version): number | undefined {
  if (state === "gone") return undefined;
  switch (choice.by) {
    case "name":
      return replicas;
    case "labels":
      return state === "there" && isSelected(labels, choice.selector) ? replicas : undefined;
    default:
      if (podLabels === undefined || !isSelected(podLabels, choice.selector)) return undefined;
      // Its pods go with it.
      return state === "ending" ? 0 : replicas;
  }
}
