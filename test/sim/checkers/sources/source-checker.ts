/**
 * Checks what generators make of sources of all kinds: each change of a PodProtector is one that its source asked for
 * lately (safety), and soon after a change of either, when all is well, the PodProtector is what the source asks for
 * (liveness). It knows what is wanted by code of its own (wanted.ts).
 */
import { annotations, finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { asNumber, asObject, type KubeObject } from "../../../double/engine/object.ts";
import { type Change } from "../../../double/engine/store.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { type Meddled, Meddling } from "./meddling.ts";
import { FollowedChecker } from "./followed-checker.ts";
import { shadowModeOf } from "../reviews/shadows.ts";
import { Modes, namespaceOf } from "./modes.ts";
import { isNameOfGenerated, kindOf, ofBudgets, ofDatabases, protectorKeyOf } from "./kinds.ts";
import { calmLagMs, lagMs, Readings } from "./readings.ts";
import { type SourceRules } from "./shares.ts";
import { Source } from "./source.ts";
import { differenceOf, floorWith, specOf, type Wanted, wantedOf } from "./wanted.ts";
import { type Choice, Workloads } from "./workloads.ts";

/** When all is well: an event, two reads and a write; and a few times that beside the writes of a mass deletion. */
const repairedMs = 15_000;

/** Whether a source asks for a PodProtector at all is the same by all rules for floors. */
const anyRules: SourceRules = { percentRounding: "up", singleReplica: "drainable", protectsNonZero: true };

export interface SourceCheckerOptions {
  readonly kernel: Kernel;
  /** Undefined = nobody knows: generators of another release have other rules for floors. */
  readonly rules: SourceRules | undefined;
  /** Since when all is well; undefined = it is not. */
  readonly calmSinceMs: () => number | undefined;
  /** The PodProtector as it is. */
  readonly find: (namespace: string, name: string) => KubeObject | undefined;
  /** Causes whose changes the generator says that it holds, until a person approves (actors/people/approvers.ts). */
  readonly latched: () => readonly string[];
  /** More was released than the list holds, so whoever was away cannot tell a loss from a release. */
  readonly mayMissReleases: () => boolean;
}

interface Lost {
  readonly spec: Wanted;
  readonly atMs: number;
}

export class SourceChecker {
  readonly #options: SourceCheckerOptions;
  /** By the namespace and the name of their PodProtectors, as all else here. */
  readonly #sources = new Map<string, Source>();
  readonly #meddling = new Meddling();
  /** By key: PodProtectors that the core has lost. One that is made again by a former loss may come after another. */
  readonly #lost = new Map<string, readonly Lost[]>();
  /** By key: PodProtectors that a person has marked as released. */
  readonly #letGo = new Set<string>();
  /** By key: those that were let go for another reason than their sources, until there is another one. */
  readonly #wasLetGo = new Set<string>();
  /** By key: the latest change of the source, or of the PodProtector by others than its source. */
  readonly #changedAtMs = new Map<string, number>();
  /** By key: what the PodProtector has said, whoever has written it. */
  readonly #had = new Map<string, Set<string>>();
  readonly #workloads = new Workloads();
  readonly #modes = new Modes();
  readonly #readings: Readings;
  readonly #followed: FollowedChecker;

  constructor(options: SourceCheckerOptions) {
    this.#options = options;
    const { kernel, latched } = options;
    this.#readings = new Readings(kernel, options.calmSinceMs);
    this.#followed = new FollowedChecker({
      kernel,
      rules: this.#rules,
      workloads: this.#workloads,
      isCalm: (forMs) => this.#readings.isCalm(forMs),
      fromMs: () => this.#readings.fromMs(),
      isHolding: () => latched().length > 0,
      isByPerson: (key, floor) => this.#meddling.mayBe(key, `minAvailable ${floor}`, kernel.nowMs - lagMs),
      repairedMs,
    });
  }

  /** Somebody is about to do that to a generated PodProtector. */
  meddled(namespace: string, protector: string, what: Meddled): void {
    this.#meddling.told(`${namespace}/${protector}`, what, this.#options.kernel.nowMs);
  }

  /** A version of a source has been committed. */
  source(change: Change): void {
    const { type, object, previous } = change;
    const key = protectorKeyOf(object);
    if (key === undefined) return;
    const source = this.#sourceOf(key);
    const { kernel } = this.#options;
    // Of a budget nothing tells an erasure from a deletion.
    const isDeleted = previous?.metadata.deletionTimestamp !== undefined || isBudget(object);
    if (type === "DELETED") source.ended(isDeleted, kernel.nowMs, kernel.nowMs - lagMs);
    else this.#became(source, object);
    if (this.#workloads.changed(change, kernel.nowMs, this.#readings.isCalm(calmLagMs)))
      this.#recount(object.metadata.namespace ?? "");
    kernel.note(`core source ${key} ${type} ${object.metadata.resourceVersion}`);
    this.#changed(key);
    const lostGuard = isGuarded(previous) && (type === "DELETED" || !isGuarded(object));
    if (type !== "DELETED" && lostGuard && isInForce(this.#protectorOf(key)) && this.#readings.isCalm())
      kernel.fail(`the source ${key} is let go although its PodProtector is in force`);
  }

  /** A version of a Namespace has been committed: its sources may ask for something else. */
  namespace({ type, object }: Change): void {
    if (type === "DELETED" || !this.#modes.labelled(object, this.#options.kernel.nowMs)) return;
    for (const [key, source] of this.#sources) {
      if (!key.startsWith(`${object.metadata.name}/`)) continue;
      if (source.present?.kind === "there") this.#became(source, source.present.object);
      this.#changed(key);
    }
  }

  /** A version of a PodProtector has been committed. */
  protector(change: Change): void {
    const { type, object, previous } = change;
    const { namespace = "", name } = object.metadata;
    if (!isNameOfGenerated(name)) return this.#followed.protector(change);
    const key = `${namespace}/${name}`;
    const source = this.#sources.get(key);
    if (source === undefined || !hasChanged(type, object, previous)) return;
    if (type === "DELETED") this.#checkEnd(key, source, object);
    else {
      this.#checkRelease(key, source, object, previous);
      this.#checkMode(key, object, previous);
      this.#checkSpec(key, source, specOf(object), previous === undefined ? undefined : specOf(previous));
      if (previous === undefined && !source.wasGuardedSince(this.#readings.fromMs()) && !this.#lost.has(key))
        this.#options.kernel.fail(`the PodProtector of ${key} is made before its source is held`);
      this.#remember(key, specOf(object));
    }
    this.#changed(key);
  }

  /** What is not as the sources ask for, and why. */
  unmet(): readonly string[] {
    const { rules, latched } = this.#options;
    const held = rules === undefined ? [] : latched().map((cause) => `changes of the cause ${cause} are held`);
    const followed = rules === undefined ? [] : this.#followed.unmet();
    return [...this.#sources.keys()].flatMap((key) => this.#unmetOf(key) ?? []).concat(followed, held);
  }

  #unmetOf(key: string): string | undefined {
    const { present } = this.#sourceOf(key);
    if (this.#options.rules === undefined || present === undefined) return undefined;
    const protector = this.#protectorOf(key);
    if (present.kind === "gone") {
      const mayBeLetGo = present.isDeleted || this.#wasLetGo.has(key) || !present.wasHeld;
      if (!mayBeLetGo && protector === undefined && !this.#options.mayMissReleases())
        return `${key} has vanished, and so has its PodProtector`;
      // One that was lost while its deletion was waited for may dangle.
      const isOver = present.isDeleted && !present.wasGuarded;
      return isOver && isInForce(protector) ? `${key} is deleted, and its PodProtector stays` : undefined;
    }
    if (present.wanted === undefined) {
      if (protector !== undefined) return `${key} asks for no PodProtector, and has one`;
      return isGuarded(present.object) ? `${key} asks for no PodProtector, and is held` : undefined;
    }
    // What nobody knows keeps what is in force, and makes nothing.
    const isKnown = !Object.values(present.wanted).includes(undefined);
    if (protector === undefined) return present.isTerminating || !isKnown ? undefined : `${key} lacks its PodProtector`;
    if (isMarked(protector)) return `the PodProtector of ${key} is marked as released, and its source is there`;
    if (!present.isGuarded && !present.isTerminating) return `${key} is not held`;
    const { metadata } = protector;
    if (!isGuarded(protector) && metadata.deletionTimestamp === undefined)
      return `the PodProtector of ${key} is not held`;
    const isOwned = (metadata.ownerReferences ?? []).some(({ uid }) => uid === present.object.metadata.uid);
    if (!isOwned) return `the PodProtector of ${key} is not owned by its source`;
    const mode = isKnown ? this.#modes.wrongWith(key, protector) : undefined;
    if (mode !== undefined) return `the PodProtector of ${key} is ${mode}`;
    const difference = differenceOf(present.wanted, specOf(protector));
    return difference === undefined ? undefined : `the PodProtector of ${key} says ${difference}`;
  }

  #checkMode(key: string, object: KubeObject, previous: KubeObject | undefined): void {
    if ((previous !== undefined && shadowModeOf(previous) === shadowModeOf(object)) || this.#lost.has(key)) return;
    const wrong = this.#modes.wrongWith(key, object, this.#readings.modesFromMs());
    if (wrong !== undefined) this.#options.kernel.fail(`the PodProtector of ${key} becomes ${wrong}`);
  }

  #checkSpec(key: string, source: Source, after: Wanted, before: Wanted | undefined): void {
    const { rules, kernel } = this.#options;
    if (rules === undefined) return;
    const fromMs = this.#readings.fromMs();
    const others = [...this.#askedUnlessOff(key, source), ...(this.#lost.get(key) ?? []).map(({ spec }) => spec)];
    const asked = [...source.askedSince(fromMs), ...others];
    for (const field of ["minAvailable", "minReadySeconds", "selector"] as const) {
      if (after[field] === before?.[field] || asked.some((wanted) => wanted[field] === after[field])) continue;
      if (this.#mayStay(key, source, fromMs) && this.#isLast(key, field, after[field])) continue;
      if (field === "minAvailable" && this.#possibleFloors(source, fromMs).has(after[field] ?? 0)) continue;
      const what: Meddled = field === "selector" ? field : (`${field} ${after[field]}` as Meddled);
      if (this.#meddling.mayBe(key, what, kernel.nowMs - lagMs)) continue;
      const wanted = [...new Set(asked.map((one) => one[field]))].join(" or ") || "nothing";
      kernel.fail(`${field} of the PodProtector of ${key} becomes ${after[field]}, but its source asked for ${wanted}`);
    }
  }

  /** It may not be known yet that its namespace is off, or has been. */
  #askedUnlessOff(key: string, source: Source): readonly Wanted[] {
    const [namespace, fromMs] = [namespaceOf(key), this.#readings.modesFromMs()];
    if (!this.#modes.wasOff(namespace, fromMs) || this.#modes.isOff(namespace, fromMs)) return [];
    const objects = source.objectsSince(this.#readings.fromMs());
    return [...objects.map((object) => this.#wantedOf(object)), source.lastWanted].filter((one) => one !== undefined);
  }

  /** Whoever acts may not have known what it asks for: then what was in force holds. */
  #mayStay(key: string, source: Source, fromMs: number): boolean {
    const { lastObject } = source;
    if (lastObject === undefined || !(isBudget(lastObject) || kindOf(lastObject) === ofDatabases)) return false;
    return !this.#readings.isCalm() || source.isUnknownSince(fromMs) || this.#lost.has(key);
  }

  /** It has been in force; and where nothing has, pods count at once. */
  #isLast(key: string, field: keyof Wanted, value: Wanted[keyof Wanted]): boolean {
    return this.#had.get(key)?.has(`${field} ${value}`) === true || (field === "minReadySeconds" && value === 0);
  }

  /** Of a source whose replicas are not its own: by all counts that somebody may know. */
  #possibleFloors(source: Source, fromMs: number): ReadonlySet<number> {
    const isOpen = !this.#readings.isCalm() || source.isUnknownSince(fromMs);
    const floors = source.objectsSince(fromMs).flatMap((object) => {
      const choices = choicesOf(object);
      const { namespace = "" } = object.metadata;
      const counts = [...this.#workloads.possible(namespace, choices, isOpen ? 0 : fromMs)];
      // A number is all that a budget needs that selects nothing.
      const own = asNumber(object.spec?.["minAvailable"]);
      const all = isOpen && isBudget(object) && own !== undefined ? [...counts, own] : counts;
      return all.map((replicas) => floorWith(object, replicas, this.#rules));
    });
    return new Set(floors);
  }

  #remember(key: string, spec: Wanted): void {
    const had = this.#had.get(key) ?? new Set();
    this.#had.set(key, had);
    for (const [field, value] of Object.entries(spec)) had.add(`${field} ${value}`);
  }

  #became(source: Source, object: KubeObject): void {
    const { nowMs } = this.#options.kernel;
    const wanted = this.#modes.isOff(object.metadata.namespace ?? "") ? undefined : this.#wantedOf(object);
    source.became(object, wanted, nowMs, nowMs - lagMs);
  }

  #wantedOf(object: KubeObject): Wanted | undefined {
    const { namespace = "" } = object.metadata;
    const expected = isBudget(object) ? this.#workloads.count(namespace, choicesOf(object)) : undefined;
    return wantedOf(object, this.#rules, expected);
  }

  /** The workloads of a namespace are others than before. */
  #recount(namespace: string): void {
    for (const [key, source] of this.#sources) {
      const { present } = source;
      if (!key.startsWith(`${namespace}/`) || present?.kind !== "there" || !isBudget(present.object)) continue;
      this.#became(source, present.object);
      this.#changed(key);
    }
    this.#followed.recount(namespace);
  }

  #checkRelease(key: string, source: Source, object: KubeObject, previous: KubeObject | undefined): void {
    const { kernel } = this.#options;
    this.#wasLetGo.delete(key);
    const isNew = (has: (object: KubeObject) => boolean): boolean =>
      has(object) && (previous === undefined || !has(previous));
    const isLeft = isGuarded(previous) && !isGuarded(object);
    if (!isMarked(object)) this.#letGo.delete(key);
    else if (this.#meddling.mayBe(key, "release", kernel.nowMs - lagMs)) this.#letGo.add(key);
    if (isNew(isMarked) && !this.#hasReason(key, source))
      kernel.fail(`the PodProtector of ${key} is marked as released, but its source was not deleted`);
    const isEnding = isNew(({ metadata }) => metadata.deletionTimestamp !== undefined) || isLeft;
    if (!isEnding || this.#meddling.mayBe(key, "loss", kernel.nowMs - lagMs)) return;
    if (!isMarked(object)) kernel.fail(`the PodProtector of ${key} is deleted before it is marked as released`);
    else if (!this.#hasReason(key, source))
      kernel.fail(`the PodProtector of ${key} is deleted, but its source was not`);
  }

  #checkEnd(key: string, source: Source, object: KubeObject): void {
    const { kernel } = this.#options;
    // In a namespace that is off, one whose source has vanished goes as well.
    const wasOff = this.#modes.wasOff(namespaceOf(key), this.#readings.modesFromMs());
    const isLetGo = this.#letGo.delete(key);
    if (isLetGo || wasOff) this.#wasLetGo.add(key);
    if (this.#meddling.mayBe(key, "loss", kernel.nowMs - lagMs)) {
      const before = (this.#lost.get(key) ?? []).filter(({ atMs }) => kernel.nowMs - atMs <= lagMs);
      this.#lost.set(key, [...before, { spec: specOf(object), atMs: kernel.nowMs }]);
      return;
    }
    this.#lost.delete(key);
    if (!isMarked(object)) kernel.fail(`the PodProtector of ${key} is gone, and was not marked as released`);
    else if (!isLetGo && !this.#hasReason(key, source))
      kernel.fail(`the PodProtector of ${key} is gone, but its source was not`);
  }

  /** Why a generator may let it go. */
  #hasReason(key: string, source: Source): boolean {
    const wasOff = this.#modes.wasOff(namespaceOf(key), this.#readings.modesFromMs());
    return wasOff || source.gaveReasonSince(this.#readings.fromMs()) || this.#letGo.has(key);
  }

  /** All is well: then the change will be answered soon. */
  #changed(key: string): void {
    const { kernel } = this.#options;
    this.#changedAtMs.set(key, kernel.nowMs);
    if (!this.#readings.isCalm()) return;
    kernel.schedule(repairedMs, () => this.#checkRepaired(key));
  }

  /** What a person has to approve first is looked at again after a while, until nothing is held any more. */
  #checkRepaired(key: string): void {
    const { kernel } = this.#options;
    if (!this.#readings.isCalm(repairedMs) || this.#changedSince(key, repairedMs)) return;
    const unmet = this.#unmetOf(key) ?? this.#keptOf(key);
    if (unmet === undefined) return;
    if (this.#mayBeHeld(key)) kernel.schedule(repairedMs, () => this.#checkRepaired(key));
    else kernel.fail(`${Math.round(repairedMs / 1000)} s after a change, ${unmet}`);
  }

  /** A budget has no finalizer: its deletion counts where it was seen, and everybody sees it while all is well. */
  #keptOf(key: string): string | undefined {
    const { present, lastObject } = this.#sourceOf(key);
    const isGone = present?.kind === "gone" && lastObject !== undefined && isBudget(lastObject);
    return isGone && isInForce(this.#protectorOf(key)) ? `${key} is deleted, and its PodProtector stays` : undefined;
  }

  /** All that is wrong is that a floor is still in force, and the generator says that it holds some. */
  #mayBeHeld(key: string): boolean {
    const protector = this.#protectorOf(key);
    const { present } = this.#sourceOf(key);
    if (protector === undefined || present === undefined || this.#options.latched().length === 0) return false;
    if (present.kind === "gone") return this.#keptOf(key) !== undefined;
    if (!isInForce(protector) || !present.isGuarded) return false;
    const { wanted } = present;
    if (wanted === undefined) return true;
    const found = specOf(protector);
    const isSwitched = this.#modes.wrongWith(key, protector) !== undefined && shadowModeOf(protector) === "enforced";
    const isHigher = (wanted.minAvailable ?? 0) < (found.minAvailable ?? 0);
    return (
      (isHigher || isSwitched) && differenceOf({ ...wanted, minAvailable: found.minAvailable }, found) === undefined
    );
  }

  #changedSince(key: string, ms: number): boolean {
    return this.#options.kernel.nowMs - (this.#changedAtMs.get(key) ?? 0) < ms;
  }

  #protectorOf(key: string): KubeObject | undefined {
    const [namespace = "", name = ""] = key.split("/");
    return this.#options.find(namespace, name);
  }

  #sourceOf(key: string): Source {
    let source = this.#sources.get(key);
    if (source === undefined) this.#sources.set(key, (source = new Source()));
    return source;
  }

  get #rules(): SourceRules {
    return this.#options.rules ?? anyRules;
  }
}

function isBudget(object: KubeObject): boolean {
  return kindOf(object) === ofBudgets;
}

/** Whose replicas its floor follows; nobody's where they are its own. */
function choicesOf(object: KubeObject): readonly Choice[] {
  if (isBudget(object)) return [{ by: "pods", selector: asObject(object.spec?.["selector"]) }];
  return kindOf(object) === ofDatabases ? [{ by: "name", key: protectorKeyOf(object) ?? "" }] : [];
}

function isGuarded(object: KubeObject | undefined): boolean {
  return object?.metadata.finalizers?.includes(finalizer) === true;
}

function isMarked({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotations.released] !== undefined;
}

function isInForce(protector: KubeObject | undefined): boolean {
  return protector !== undefined && isGuarded(protector) && !isMarked(protector);
}

/** Something that a generator keeps may be another one: no write of a status or of somebody's annotation. */
function hasChanged(type: Change["type"], object: KubeObject, previous: KubeObject | undefined): boolean {
  if (type === "DELETED" || previous === undefined) return true;
  const [after, before] = [object.metadata, previous.metadata];
  return (
    after.generation !== before.generation ||
    after.deletionTimestamp !== before.deletionTimestamp ||
    isMarked(object) !== isMarked(previous) ||
    shadowModeOf(object) !== shadowModeOf(previous) ||
    isGuarded(object) !== isGuarded(previous) ||
    after.ownerReferences?.[0]?.uid !== before.ownerReferences?.[0]?.uid
  );
}
