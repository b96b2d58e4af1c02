/**
 * Checks the floors of hand-made PodProtectors that follow workloads (docs/generator.md#hand-made-podprotectors): each
 * change is one that the replicas of the workloads ask for, or that a person has made; soon after a change, when all is
 * well, the floor is what they ask for; while nobody knows that, the last floor holds; and generators write nothing
 * else. Shares nothing with the product.
 */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { asArray, asNumber, asObject, asString, type KubeObject } from "../../../double/engine/object.ts";
import { type Change } from "../../../double/engine/store.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { kindOf } from "./kinds.ts";
import { mayGo, type Share, shareOf, type SourceRules } from "./shares.ts";
import { type Choice, type Workloads } from "./workloads.ts";

export interface FollowedCheckerOptions {
  readonly kernel: Kernel;
  readonly rules: SourceRules;
  readonly workloads: Workloads;
  /** Whether all is well, for so long at least. */
  readonly isCalm: (forMs?: number) => boolean;
  /** When a generator whose write is committed now may have read what it acts on. */
  readonly fromMs: () => number;
  readonly isHolding: () => boolean;
  /** A person may have set that floor lately. */
  readonly isByPerson: (key: string, minAvailable: number) => boolean;
  readonly repairedMs: number;
}

/** What its fields ask for. */
interface Wish {
  readonly share: Share;
  readonly choices: readonly Choice[];
}

interface Version {
  readonly sinceMs: number;
  /** Undefined = it is gone, or asks for nothing that can be understood. */
  readonly wish: Wish | undefined;
}

class Followed {
  readonly versions: Version[] = [];
  object: KubeObject | undefined;
  /** Floors that it has had, whoever has set them. */
  readonly had = new Set<number>();
  changedAtMs = 0;
  /** Until then nobody knew what the workloads ask for. */
  unknownUntilMs = Infinity;
}

export class FollowedChecker {
  readonly #options: FollowedCheckerOptions;
  /** By namespace and name. */
  readonly #all = new Map<string, Followed>();

  constructor(options: FollowedCheckerOptions) {
    this.#options = options;
  }

  /** A version of a hand-made PodProtector has been committed. */
  protector({ type, object, previous }: Change): void {
    const { kernel } = this.#options;
    const key = keyOf(object);
    const known = this.#all.get(key);
    if (known === undefined && readWish(object) === undefined) return;
    const followed = known ?? new Followed();
    this.#all.set(key, followed);
    followed.object = type === "DELETED" ? undefined : object;
    if (type === "DELETED") followed.versions.push({ sinceMs: kernel.nowMs, wish: undefined });
    else {
      this.#checkOthers(key, object);
      const floor = floorOf(object);
      if (previous !== undefined && floor !== floorOf(previous)) this.#checkFloor(key, followed, object);
      followed.had.add(floor);
      if (previous !== undefined && previous.metadata.generation === object.metadata.generation) return;
      followed.versions.push({ sinceMs: kernel.nowMs, wish: readWish(object) });
    }
    this.#changed(key, followed);
  }

  /** The workloads of a namespace are others than before. */
  recount(namespace: string): void {
    for (const [key, followed] of this.#all) if (key.startsWith(`${namespace}/`)) this.#changed(key, followed);
  }

  /** What is not as the workloads ask for, and why. */
  unmet(): readonly string[] {
    return [...this.#all].flatMap(([key, followed]) => this.#unmetOf(key, followed) ?? []);
  }

  /** Generators leave all but the floor to the people. */
  #checkOthers(key: string, { metadata }: KubeObject): void {
    const { finalizers = [], ownerReferences = [], annotations: set = {} } = metadata;
    const isKept = finalizers.length === 0 && ownerReferences.length === 0 && set[annotations.generated] === undefined;
    if (!isKept) this.#options.kernel.fail(`the hand-made PodProtector ${key} is taken for a generated one`);
  }

  #checkFloor(key: string, followed: Followed, object: KubeObject): void {
    const { kernel, isByPerson } = this.#options;
    const floor = floorOf(object);
    if (isByPerson(key, floor)) return;
    const possible = this.#possibleFloors(key, followed);
    if (possible.has(floor)) return;
    const words = [...possible].sort((a, b) => a - b).join(" or ") || "nothing";
    kernel.fail(`the floor of the hand-made PodProtector ${key} becomes ${floor}, but its workloads ask for ${words}`);
  }

  #possibleFloors(key: string, { versions, had, unknownUntilMs }: Followed): ReadonlySet<number> {
    const { workloads, rules, fromMs, isCalm } = this.#options;
    const sinceMs = fromMs();
    // Who does not know now goes by what it knew before, and copies of other kinds are of other times.
    const isOpen = !isCalm() || unknownUntilMs >= sinceMs;
    const wishes = versions
      .filter((_, index) => (versions[index + 1]?.sinceMs ?? Infinity) >= sinceMs)
      .flatMap(({ wish }) => wish ?? []);
    const floors = wishes.flatMap(({ choices, share }) =>
      [...workloads.possible(namespaceOf(key), choices, isOpen ? 0 : sinceMs)].map((replicas) =>
        floorBy(share, replicas, rules),
      ),
    );
    return new Set([...floors, ...(isOpen && wishes.length > 0 ? had : [])]);
  }

  #changed(key: string, followed: Followed): void {
    const { kernel, isCalm, repairedMs } = this.#options;
    followed.changedAtMs = kernel.nowMs;
    const isKnown = this.#wanted(key, followed) !== undefined;
    if (!isKnown) followed.unknownUntilMs = Infinity;
    else if (followed.unknownUntilMs === Infinity) followed.unknownUntilMs = kernel.nowMs;
    if (isCalm()) kernel.schedule(repairedMs, () => this.#checkRepaired(key, followed));
  }

  #checkRepaired(key: string, followed: Followed): void {
    const { kernel, isCalm, isHolding, repairedMs } = this.#options;
    if (!isCalm(repairedMs) || kernel.nowMs - followed.changedAtMs < repairedMs) return;
    const unmet = this.#unmetOf(key, followed);
    if (unmet === undefined) return;
    const isHigher = floorOf(followed.object) > (this.#wanted(key, followed) ?? Infinity);
    if (isHigher && isHolding()) kernel.schedule(repairedMs, () => this.#checkRepaired(key, followed));
    else kernel.fail(`${Math.round(repairedMs / 1000)} s after a change, ${unmet}`);
  }

  #unmetOf(key: string, followed: Followed): string | undefined {
    const wanted = this.#wanted(key, followed);
    const floor = floorOf(followed.object);
    if (wanted === undefined || floor === wanted) return undefined;
    return `the floor of the hand-made PodProtector ${key} is ${floor}, not ${wanted}`;
  }

  /** Undefined = nobody knows, or nothing is asked for. */
  #wanted(key: string, { object }: Followed): number | undefined {
    const { workloads, rules } = this.#options;
    const wish = object && readWish(object);
    const replicas = wish && workloads.count(namespaceOf(key), wish.choices);
    return replicas === undefined || wish === undefined ? undefined : floorBy(wish.share, replicas, rules);
  }
}

function floorBy(share: Share, replicas: number, rules: SourceRules): number {
  return Math.max(0, replicas - mayGo(share, replicas, rules));
}

function floorOf(object: KubeObject | undefined): number {
  return asNumber(object?.spec?.["minAvailable"]) ?? 0;
}

/** Undefined = it asks for nothing, or for what cannot be. */
function readWish({ metadata, spec = {} }: KubeObject): Wish | undefined {
  const { maxUnavailable, minAvailablePercent, targets, selector } = spec;
  if (metadata.annotations?.[annotations.generated] !== undefined) return undefined;
  // Exactly one of them.
  if ((maxUnavailable === undefined) === (minAvailablePercent === undefined)) return undefined;
  const lent = maxUnavailable ?? `${100 - (asNumber(minAvailablePercent) ?? 0)}%`;
  const byPods = { by: "pods", selector: asObject(selector) } as const;
  const choices = targets === undefined ? [byPods] : asArray(targets).map((one) => choiceOf(metadata.namespace, one));
  return choices.every((choice) => choice !== undefined) ? { share: shareOf(lent), choices } : undefined;
}

function choiceOf(namespace: string | undefined, target: unknown): Choice | undefined {
  const { apiVersion, kind, name, selector } = asObject(target);
  const found = kindOf({ apiVersion: asString(apiVersion) ?? "", kind: asString(kind) ?? "" });
  if (found === undefined) return undefined;
  const one = asString(name);
  if (one !== undefined) return { by: "name", key: `${namespace ?? ""}/${found.prefix}${one}` };
  return { by: "labels", prefix: found.prefix, selector: asObject(selector) };
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
