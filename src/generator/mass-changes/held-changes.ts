/**
 * Holds changes of sources that are too many at once for one cause (docs/mass-changes.md). The controller asks before
 * it releases a PodProtector or lowers its floor; whatever is not let pass stays as it is. Kept by the leader alone.
 *
 * A change that counts is judged two seconds after it was seen, so that a burst is held whole. Restarts forget nothing:
 * what has passed is counted by the list of releases and by the annotations floor-before, latches and approvals are in
 * the ConfigMap, and what is held is seen again.
 */
import { type DeploymentRecord } from "../../api/deployment.ts";
import { type ObjectKey, objectKey } from "../../api/object-key.ts";
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type Config } from "../../config/config.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, type EpochMicros, later, type MonotonicMs, sleep } from "../../util/clock.ts";
import { deploymentNameOf } from "../deployment-plan.ts";
import { type Announcements, type HeldChange } from "./announcements.ts";
import { type Change, type CountingRule, causeOfLowered, judge, type Subject } from "./change.ts";
import { ChangeWindow } from "./change-window.ts";
import { FloorCount } from "./floor-count.ts";
import { floorBeforeOf, formatFloorBefore, isDeepFall } from "./floor-before.ts";
import { everyCause, type LatchBook } from "./latch-book.ts";
import { EndingNamespaces } from "./ending-namespaces.ts";
import { News } from "./news.ts";
import { type Surroundings } from "./surroundings.ts";
import { Trickle } from "./trickle.ts";

export type MassChangeSettings = Pick<Config["generator"], "massChanges" | "percentRounding" | "singleReplica">;

export interface HeldChangesOptions {
  readonly config: MassChangeSettings;
  readonly deployments: Informer<DeploymentRecord>;
  readonly protectors: Informer<StoredProtector>;
  readonly surroundings: Surroundings;
  readonly latches: LatchBook;
  readonly announcements: Announcements;
  /** Whether a cluster with this UID of kube-system is a cell: then a namespace of the core has pods of its own. */
  readonly isCell: (clusterUID: string) => boolean;
  readonly clock: Clock;
}

export type Verdict =
  /** `cause`: of a change that counts; "" for any other. `floorBefore`: the annotation for the patch that lowers it. */
  | { readonly kind: "pass"; readonly cause: string; readonly floorBefore: string | undefined }
  | { readonly kind: "later"; readonly waitMs: number }
  | { readonly kind: "held" };

/** So long after a change was seen it is judged: most of a burst by a garbage collector or a script is there then. */
const judgeAfterMs = 2_000;
/** Between two looks for approvals: what a person waits for. */
const roundEveryMs = 5_000;
/** The policy "trickle": an alarm that is seen after a minute has cost sixty workloads, not all. */
const heldEveryMs = 1_000;
/** Floors that a new rule lowers: 200 take 40 s, 10,000 half an hour; time enough to stop a rollout of ours. */
const ownEveryMs = 200;

/** What a terminating namespace takes with it is one change. */
const namespacesCause = { text: "namespaces", isHalfTooMany: false } as const;

/** Of a release that counts, in the list of releases. */
const countedCause = /^(?:owner|manager|namespace)\//;

interface Entry {
  readonly protectorUID: string;
  readonly windowID: string;
  readonly change: Change;
  readonly at: EpochMicros;
  /** What an approval before this term is compared with. */
  readonly approvableAt: EpochMicros;
  readonly readyAtMs: MonotonicMs;
  readonly source: DeploymentRecord;
  readonly terminatingNamespace: string | undefined;
  state: "pending" | "held" | "approved" | "passed";
  heldBy: string | undefined;
}

export class HeldChanges {
  readonly #options: HeldChangesOptions;
  readonly #rule: CountingRule;
  readonly #news = new News();
  readonly #window = new ChangeWindow();
  readonly #entries = new Map<ObjectKey, Entry>();
  /** Each source when it last agreed with its PodProtector, in this term. */
  readonly #settled = new Map<ObjectKey, DeploymentRecord>();
  readonly #endings: EndingNamespaces;
  readonly #floors: FloorCount;
  readonly #ownTurns = new Trickle(ownEveryMs);
  readonly #heldTurns = new Trickle(heldEveryMs);
  /** What was held once stays in the gauge, with 0. */
  readonly #causes = new Set<string>();
  #loading: Promise<void> | undefined;
  #hasToldOwn = false;
  #hasAlarmed = false;
  #wake: (key: ObjectKey) => void = () => {};

  constructor(options: HeldChangesOptions) {
    this.#options = options;
    const { massChanges, percentRounding, singleReplica } = options.config;
    this.#rule = { percentRounding, singleReplica, allowedManagers: massChanges.allow };
    this.#endings = new EndingNamespaces(options.surroundings);
    this.#floors = new FloorCount(options);
    const arrived = (): void => this.#news.arrived(options.clock.epochMicros());
    options.deployments.subscribe({ onEvent: arrived, onProgress: arrived });
  }

  /** For a gauge: how many changes are held, by what is latched. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map([...this.#causes].map((cause) => [cause, 0]));
    for (const { state, heldBy } of this.#entries.values())
      if (state === "held" && heldBy !== undefined) counts.set(heldBy, (counts.get(heldBy) ?? 0) + 1);
    return counts;
  }

  found(key: ObjectKey): FoundConditions {
    const entry = this.#entries.get(key);
    return this.#options.announcements.condition(entry?.state === "held" ? heldChangeOf(entry) : undefined);
  }

  /** Source and PodProtector agree, as far as the caches know: a change that was held is undone. */
  settled(key: ObjectKey, source: DeploymentRecord): void {
    this.#settled.set(key, source);
    this.#forget(key);
  }

  /** Nothing of the source is left to be changed. */
  gone(key: ObjectKey): void {
    this.#settled.delete(key);
    this.#forget(key);
  }

  /**
   * Whether this change was judged already: it is held, or waits so many milliseconds. Undefined = `judge` it. `to`:
   * the floor that is asked for; undefined = release.
   */
  resting(key: ObjectKey, to: number | undefined): "held" | { readonly waitMs: number } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.change.to !== to) return undefined;
    if (entry.state === "held") return this.#options.config.massChanges.policy === "hold" ? "held" : undefined;
    if (entry.state !== "pending") return undefined;
    const waitMs = Math.ceil(entry.readyAtMs - this.#options.clock.monotonicMs());
    return waitMs > 0 ? { waitMs } : undefined;
  }

  /**
   * Whether a PodProtector may be released or get a lower floor now, by the states of it and of its source that were
   * just read. Throws KubeError when something that must be known first is not.
   */
  async judge(key: ObjectKey, found: Omit<Subject, "settled">, signal: AbortSignal): Promise<Verdict> {
    const { clock, config } = this.#options;
    if (config.massChanges.policy === "allow") return pass();
    await this.#ready(signal);
    const subject = { ...found, settled: this.#settled.get(key) };
    const judged = judge(subject, this.#rule, clock.epochMicros());
    if (judged.kind === "own") return this.#ownChange(key, found.source);
    if (judged.kind !== "counts") {
      this.#forget(key);
      return pass("", judged.kind === "small" ? this.#floorBefore(found.protector, judged.from) : undefined);
    }
    const entry = this.#known(key, found, judged.change) ?? (await this.#begin(key, subject, judged.change, signal));
    return entry === undefined ? pass() : await this.#decide(key, entry, signal);
  }

  /** The rounds of a term, until the signal aborts. `wake`: look at this source again. */
  async lead(wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    this.#clear();
    this.#options.latches.begin();
    this.#wake = wake;
    while (!signal.aborted) {
      await sleep(this.#options.clock, roundEveryMs, signal);
      if (!signal.aborted) await this.#round(signal);
    }
    this.#clear();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { latches, announcements } = this.#options;
    const given = await latches.round(signal);
    if (given !== undefined) {
      const { cause } = given.approval;
      const approved = [...this.#entries].filter(([, { state, heldBy }]) => {
        return state === "held" && (cause === heldBy || cause === everyCause);
      });
      if (approved.length === 0) announcements.ignoredApproval(given.text, "nothing with this cause is held");
      else {
        latches.carriedOut(given);
        announcements.approved(given.approval, approved.length);
      }
      for (const [key, entry] of approved) {
        entry.state = "approved";
        // Later ones count anew.
        this.#window.remove(entry.windowID);
        this.#wake(key);
      }
    }
    for (const key of await this.#endings.among(this.#entries, signal)) {
      this.#forget(key);
      this.#wake(key);
    }
    const held = [...this.#entries.values()].filter(({ state }) => state === "held");
    latches.endWithout(new Set(held.flatMap(({ heldBy }) => heldBy ?? [])));
  }

  /** Reads what the former leader has left, before the first judgement of a term. */
  async #ready(signal: AbortSignal): Promise<void> {
    this.#loading ??= this.#load(signal);
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { latches, protectors, deployments, clock } = this.#options;
    const state = await latches.load(signal);
    for (const { digest, releasedAt: at, cause } of state?.releases ?? []) {
      const applied = { at, endsProtection: true, isApplied: true };
      // Others did not count. Those of one namespace are one change.
      if (cause.startsWith(`${namespacesCause.text}/`))
        this.#window.add({ id: cause, cause: namespacesCause.text, ...applied });
      else if (countedCause.test(cause)) this.#window.add({ id: digest, cause, ...applied });
    }
    for (const { protector, uid } of protectors.values()) {
      const before = floorBeforeOf(protector, clock.epochMicros());
      const { minAvailable } = protector.spec;
      const name = deploymentNameOf(protector);
      if (before === undefined || name === undefined || !isDeepFall(before.highest, minAvailable)) continue;
      const source = deployments.get(objectKey(protector.metadata.namespace, name));
      const cause = source === undefined ? undefined : causeOfLowered(source, this.#rule);
      if (cause === undefined) continue;
      const counted = { cause: cause.text, at: before.at, endsProtection: minAvailable === 0, isApplied: true };
      this.#window.add({ id: digestOfUID(uid), ...counted });
      if (minAvailable === 0) this.#floors.passed(uid);
    }
  }

  /** The entry of a change that was seen before; undefined when this one asks for more. */
  #known(key: ObjectKey, { protector, source }: Omit<Subject, "settled">, change: Change): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.protectorUID !== protector.metadata.uid) return undefined;
    if (entry.state === "passed" && (change.to ?? -1) < (entry.change.to ?? -1)) return undefined;
    if (entry.change.to === change.to) return entry;
    const updated = { ...entry, change: { ...change, cause: entry.change.cause }, source };
    this.#entries.set(key, updated);
    return updated;
  }

  /** Begins to count a change; undefined when it does not count after all. */
  async #begin(key: ObjectKey, subject: Subject, change: Change, signal: AbortSignal): Promise<Entry | undefined> {
    const { clock, surroundings } = this.#options;
    const { protector, source, settled, to } = subject;
    const namespace = await surroundings.namespace(source.facts.namespace, signal);
    if (namespace?.isExempt === true) return undefined;
    const isEnd = to === undefined && namespace?.isTerminating === true;
    const now = clock.epochMicros();
    const at = settled === undefined ? now : this.#news.timeOf(change.evidence, now);
    const entry: Entry = {
      protectorUID: protector.metadata.uid,
      windowID: isEnd ? `${namespacesCause.text}/${source.facts.namespace}` : digestOfUID(protector.metadata.uid),
      change: isEnd ? { ...change, cause: namespacesCause } : change,
      at,
      approvableAt: settled === undefined ? (change.evidence ?? now) : at,
      readyAtMs: later(clock.monotonicMs(), judgeAfterMs),
      source,
      terminatingNamespace: isEnd ? namespace.uid : undefined,
      state: "pending",
      heldBy: undefined,
    };
    this.#count(entry, false);
    if (isEnd && (await this.#isCoreACell(signal))) {
      this.#alarm(entry, namespace.uid);
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry;
  }

  async #decide(key: ObjectKey, entry: Entry, signal: AbortSignal): Promise<Verdict> {
    const { clock, latches, surroundings } = this.#options;
    const { change, source } = entry;
    if (entry.state === "passed" || entry.state === "approved") return this.#pass(entry);
    const waitMs = Math.ceil(entry.readyAtMs - clock.monotonicMs());
    if (waitMs > 0) return { kind: "later", waitMs };
    if (entry.state === "pending") {
      if (latches.hasApproved(change.cause.text, entry.approvableAt)) {
        this.#window.remove(entry.windowID);
        return this.#pass(entry);
      }
      const isRelease = change.to === undefined && source.owner !== undefined;
      if (isRelease && (await surroundings.isLost(source.owner, signal))) latches.latch(change.cause.text);
      else if (latches.heldBy(change.cause.text) === undefined) {
        const exceeded = this.#exceededBy(entry);
        if (exceeded !== undefined) latches.latch(exceeded);
      }
    }
    const heldBy = latches.heldBy(change.cause.text);
    return heldBy === undefined ? this.#pass(entry) : this.#hold(key, entry, heldBy);
  }

  #hold(key: ObjectKey, entry: Entry, heldBy: string): Verdict {
    const { config, announcements, clock } = this.#options;
    entry.heldBy = heldBy;
    this.#causes.add(heldBy);
    if (entry.state !== "held") {
      entry.state = "held";
      announcements.held(heldChangeOf(entry));
    }
    if (config.massChanges.policy === "hold") return { kind: "held" };
    const waitMs = this.#heldTurns.take(key, clock.monotonicMs());
    return waitMs > 0 ? { kind: "later", waitMs } : this.#pass(entry);
  }

  #pass(entry: Entry): Verdict {
    const { change, at } = entry;
    // An approved one is counted no longer.
    if (entry.state === "pending") this.#count(entry, true);
    if (entry.state === "pending" && endsFloor(change)) this.#floors.passed(entry.protectorUID);
    entry.state = "passed";
    const cause = entry.terminatingNamespace === undefined ? change.cause.text : entry.windowID;
    return pass(cause, change.to === undefined ? undefined : formatFloorBefore({ highest: change.from, at }));
  }

  /** Pods cannot be created there any more, and their Services are gone: holding would protect nothing. */
  #alarm(entry: Entry, namespaceUID: string): void {
    const { announcements } = this.#options;
    this.#count(entry, true);
    const isTooMany = this.#exceededBy(entry) === entry.change.cause.text;
    if (isTooMany && !this.#hasAlarmed) announcements.manyNamespaces(entry.source.facts.namespace, namespaceUID);
    this.#hasAlarmed = isTooMany;
  }

  async #isCoreACell(signal: AbortSignal): Promise<boolean> {
    const system = await this.#options.surroundings.namespace("kube-system", signal);
    return system !== undefined && this.#options.isCell(system.uid);
  }

  #ownChange(key: ObjectKey, source: DeploymentRecord): Verdict {
    this.#forget(key);
    const waitMs = this.#ownTurns.take(key, this.#options.clock.monotonicMs());
    if (waitMs > 0) return { kind: "later", waitMs };
    this.#options.announcements.ownChange(source, !this.#hasToldOwn);
    this.#hasToldOwn = true;
    return pass();
  }

  /** The highest floor stays in memory of the object while it is in the window. */
  #floorBefore(protector: PodProtector, highest: number): string {
    const now = this.#options.clock.epochMicros();
    const known = floorBeforeOf(protector, now);
    return formatFloorBefore(known !== undefined && known.highest >= highest ? known : { highest, at: now });
  }

  #count({ windowID, change, at }: Entry, isApplied: boolean): void {
    this.#window.add({ id: windowID, cause: change.cause.text, at, endsProtection: endsFloor(change), isApplied });
  }

  /** What is too many with this entry, which is counted. */
  #exceededBy({ change, at }: Entry): string | undefined {
    return this.#window.exceededBy(at, change.cause, this.#floors.aboveZero(), this.#options.clock.epochMicros());
  }

  #forget(key: ObjectKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#heldTurns.forget(key);
    // What has passed is counted on; a namespace is counted for all that it has.
    if (entry.state !== "passed" && entry.terminatingNamespace === undefined) this.#window.remove(entry.windowID);
  }

  #clear(): void {
    this.#window.clear();
    this.#floors.clear();
    this.#entries.clear();
    this.#settled.clear();
    this.#ownTurns.clear();
    this.#heldTurns.clear();
    this.#loading = undefined;
    this.#hasToldOwn = false;
    this.#hasAlarmed = false;
  }
}

function pass(cause = "", floorBefore?: string): Verdict {
  return { kind: "pass", cause, floorBefore };
}

function endsFloor({ to }: Change): boolean {
  return (to ?? 0) === 0;
}

function heldChangeOf({ source, change, heldBy = "", terminatingNamespace }: Entry): HeldChange {
  return { source, from: change.from, to: change.to, heldBy, terminatingNamespace };
}
