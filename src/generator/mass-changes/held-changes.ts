/**
 * Holds changes of sources that are too many at once for one cause (docs/mass-changes.md). The controller asks before
 * it releases a PodProtector or lowers its floor; whatever is not let pass stays as it is. Kept by the leader alone.
 *
 * A change that counts is judged two seconds after it was seen, so that a burst is held whole. Restarts forget nothing:
 * what has passed is counted by the list of releases and by the annotations floor-before, latches and approvals are in
 * the ConfigMap, and what is held is seen again.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { deepFallDelayMs, isInShadow } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type Config } from "../../config/config.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, later, sleep } from "../../util/clock.ts";
import { type SourceKind, type SourceRecord } from "../../sources/source.ts";
import { type NamespaceModes } from "../sources/namespace-modes.ts";
import { isKeptCause, isSameKept, keptCause, shortCause, takenAwayMs } from "../sources/kept.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { type Announcements } from "./announcements.ts";
import { type Change, type ChangeRequest, type CountingRule, judge, rankOf } from "./change.ts";
import { CountedChanges, namespacesCause } from "./change-window.ts";
import { formatFloorBefore, keptFloorBefore } from "./floor-before.ts";
import { FloorCount } from "./floor-count.ts";
import { FormerTerm, type LoweredFloors } from "./former-term.ts";
import { type AskedChange, type HeldSubject, type JudgedChange, pass, type Verdict } from "./judged-change.ts";
import { everyCause, type LatchBook } from "./latches.ts";
import { FallenWorkloads } from "./fallen-workloads.ts";
import { causeOfLostKind, EndingNamespaces, isOfLostKind, type NamespacesAndKinds } from "./namespaces-and-kinds.ts";
import { ChangeTimes } from "./change-times.ts";
import { RestoredFloors } from "./restored-floors.ts";
import { SettledSources } from "./settled-sources.ts";
import { Trickle } from "../pacer.ts";

export interface HeldChangesOptions {
  readonly config: Pick<Config["generator"], "massChanges" | "percentRounding" | "singleReplica">;
  readonly sources: SourceCaches;
  readonly protectors: Informer<StoredProtector>;
  readonly modes: Pick<NamespaceModes, "switched">;
  readonly questions: NamespacesAndKinds;
  readonly latches: LatchBook;
  readonly lowered: LoweredFloors;
  readonly announcements: Announcements;
  /** Whether a cluster with this UID of kube-system is a cell: then a namespace of the core has pods of its own. */
  readonly isCell: (clusterUID: string) => boolean;
  readonly clock: Clock;
}

/** Between two looks for approvals: what a person waits for. */
const roundEveryMs = 5_000;
/** The policy "trickle": an alarm that is seen after a minute has cost sixty workloads, not all. */
const heldEveryMs = 1_000;
/** Floors that a new rule lowers: 200 take 40 s, 10,000 half an hour; time enough to stop a rollout of ours. */
const ownEveryMs = 200;

export class HeldChanges {
  readonly #options: HeldChangesOptions;
  readonly #rule: CountingRule;
  readonly #times: ChangeTimes;
  readonly #entries = new Map<ObjectKey, JudgedChange>();
  readonly #settled: SettledSources;
  readonly #fallen: FallenWorkloads;
  readonly #endings: EndingNamespaces;
  readonly #restored: RestoredFloors;
  readonly #counted: CountedChanges;
  readonly #former: FormerTerm;
  readonly #ownTurns = new Trickle(ownEveryMs);
  readonly #heldTurns = new Trickle(heldEveryMs);
  /** What was held once stays in the gauge, with 0. */
  readonly #causes = new Set<string>();
  #told = { own: false, alarm: false };
  #wake: (key: ObjectKey) => void = () => {};
  readonly #otherWakes = new Map<SourceKind, (key: ObjectKey) => void>();

  constructor(options: HeldChangesOptions) {
    this.#options = options;
    const { massChanges, percentRounding, singleReplica } = options.config;
    this.#rule = { percentRounding, singleReplica, allowedManagers: massChanges.allow };
    this.#settled = new SettledSources(options.modes);
    this.#fallen = new FallenWorkloads(options);
    this.#endings = new EndingNamespaces(options.questions);
    this.#restored = new RestoredFloors(options.protectors, options.clock);
    // A floor that a restore has lowered was there a moment ago, as every other one that is judged.
    const values = (): StoredProtector[] => Array.from(options.protectors.values(), this.beforeRestore);
    const floors = new FloorCount({ protectors: { values }, clock: options.clock });
    this.#counted = new CountedChanges(floors, options.clock);
    this.#times = new ChangeTimes(options.sources, options.clock);
    this.#former = new FormerTerm({
      ...options,
      rule: this.#rule,
      onChange: (change, loweredUID) => {
        this.#counted.add(change, loweredUID);
      },
    });
  }

  readonly isLost: NamespacesAndKinds["isLost"] = (owner, signal) => this.#options.questions.isLost(owner, signal);

  /** Sources of this kind are looked at by somebody else than who calls `lead`. */
  wakeFor(kind: SourceKind, wake: (key: ObjectKey) => void): void {
    this.#otherWakes.set(kind, wake);
  }

  /** For a gauge: how many changes are held, by what is latched; "keep" for all that the words of owners hold. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map([...this.#causes].map((cause) => [cause, 0]));
    for (const { heldBy } of this.#held()) counts.set(shortCause(heldBy), (counts.get(shortCause(heldBy)) ?? 0) + 1);
    return counts;
  }

  found(key: ObjectKey): FoundConditions {
    const entry = this.#entries.get(key);
    return this.#options.announcements.condition(entry?.state === "held" ? entry : undefined);
  }

  /** Source and PodProtector agree, as far as the caches know: a change that was held is undone. */
  settled(key: ObjectKey, source: SourceRecord, protector?: PodProtector): void {
    this.#settled.set(key, source, isInShadow(protector?.metadata));
    this.#forget(key);
  }

  /** Nothing of the source is left to be changed. */
  gone(key: ObjectKey): void {
    this.#settled.delete(key);
    this.#forget(key);
  }

  /** The verdict on a change that was judged already, and is held or waits. Undefined = `judge` it. */
  resting(key: ObjectKey, { to, kept }: Pick<ChangeRequest, "to" | "kept">): Verdict | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.change.to !== to || !isSameKept(entry.kept, kept)) return undefined;
    if (entry.state === "held") return this.#isFirmlyHeld(entry) ? { kind: "held" } : undefined;
    if (entry.state !== "pending") return undefined;
    const waitMs = Math.ceil(entry.readyAtMs - this.#options.clock.monotonicMs());
    return waitMs > 0 ? { kind: "later", waitMs } : undefined;
  }

  /** With the floor that it had before a restore of the core; the very same object where no restore has lowered it. */
  readonly beforeRestore = (stored: StoredProtector): StoredProtector => this.#restored.asBefore(stored);

  /** Whether a release or a lower floor may pass, by what was just read. Throws KubeError when too little is known. */
  async judge(key: ObjectKey, asked: ChangeRequest, signal: AbortSignal): Promise<Verdict> {
    const verdict = await this.#judge(key, asked, signal);
    if (verdict.kind === "pass") this.#restored.forget(asked.protector);
    return verdict;
  }

  async #judge(key: ObjectKey, asked: ChangeRequest, signal: AbortSignal): Promise<Verdict> {
    const { clock, config } = this.#options;
    const { protector, to, kept } = asked;
    const isHolding = config.massChanges.policy !== "allow";
    if (!isHolding && kept === undefined) return pass();
    const unreadMs = await this.#former.read(signal);
    if (unreadMs > 0) return { kind: "later", waitMs: unreadMs };
    const settled = this.#settled.get(key);
    const { source, fallen } = to === undefined ? { ...asked, fallen: [] } : this.#fallen.of(asked.source, settled);
    const isRestored = this.#restored.has(protector);
    const switched = this.#settled.switchedBy(key, asked);
    const subject = { protector, source, to, switched, settled, fallen, isRestored, kept };
    const now = clock.epochMicros();
    const judged = judge(subject, this.#rule, now);
    const isCounted = isHolding && judged.kind === "counts";
    if (!isCounted && kept === undefined) {
      if (judged.kind === "own") return this.#ownChange(key, source);
      this.#forget(key);
      return pass("", judged.kind === "small" ? keptFloorBefore(protector, judged.from, now) : undefined);
    }
    const cause = { text: keptCause(key), isHalfTooMany: false };
    const alone: Change = { from: protector.spec.minAvailable, to, cause, evidence: undefined };
    const change = { ...(judged.kind === "counts" ? judged.change : alone), isCounted };
    const entry = this.#known(key, subject, change) ?? (await this.#begin(key, subject, change, signal));
    return entry === undefined ? pass() : await this.#decide(key, entry, signal);
  }

  /** The rounds of a term, until the signal aborts. `wake`: look at this source again. */
  async lead(wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    this.#clear();
    this.#restored.forgetOld();
    this.#options.latches.begin();
    this.#wake = wake;
    while (!signal.aborted) {
      await sleep(this.#options.clock, roundEveryMs, signal);
      if (!signal.aborted) await this.#round(signal);
    }
    this.#clear();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { config, latches, announcements } = this.#options;
    // Also where nothing is asked for: what was undone before this term is latched no longer.
    if (config.massChanges.policy !== "allow" && !(await this.#former.isRead(signal))) return;
    const given = await latches.round(signal);
    if (given !== undefined) {
      const isMeant = ({ heldBy }: JudgedChange): boolean => [heldBy, everyCause].includes(given.approval.cause);
      const approved = [...this.#entries].filter(([, entry]) => entry.state === "held" && isMeant(entry));
      if (approved.length === 0) announcements.ignoredApproval(given.text, "nothing with this cause is held");
      else {
        latches.carriedOut(given);
        announcements.approved(given.approval, approved.length);
      }
      for (const [key, entry] of approved) {
        // Later ones count anew.
        this.#approve(entry);
        (this.#otherWakes.get(entry.source.kind) ?? this.#wake)(key);
      }
    }
    for (const [key, entry] of this.#entries)
      if (entry.state === "held" && isKeptCause(entry.heldBy) && !this.#isFirmlyHeld(entry))
        (this.#otherWakes.get(entry.source.kind) ?? this.#wake)(key);
    for (const key of await this.#endings.among(this.#entries, signal)) {
      this.#forget(key);
      this.#wake(key);
    }
    latches.endWithout(new Set(this.#held().map(({ heldBy }) => heldBy)));
  }

  #approve(entry: JudgedChange): void {
    entry.state = "approved";
    this.#counted.approved(entry);
  }

  /** Nothing but a person, or its end, lets it pass. */
  #isFirmlyHeld({ heldBy, kept, readyAtMs }: JudgedChange): boolean {
    if (!isKeptCause(heldBy)) return this.#options.config.massChanges.policy === "hold";
    return kept?.isFall === true || this.#options.clock.monotonicMs() < later(readyAtMs, takenAwayMs);
  }

  #held(): readonly JudgedChange[] {
    return [...this.#entries.values()].filter(({ state }) => state === "held");
  }

  /** The entry of a change that was seen before; undefined when this one asks for more, or counts otherwise. */
  #known(key: ObjectKey, subject: HeldSubject, { isCounted, ...change }: AskedChange): JudgedChange | undefined {
    const { protector, source, fallen = [], kept } = subject;
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.protectorUID !== protector.metadata.uid) return undefined;
    const isSame = isSameKept(entry.kept, kept);
    const isMore = rankOf(change.to) < rankOf(entry.change.to) || (kept !== undefined && !isSame);
    if ((entry.state === "passed" || entry.state === "approved") && isMore) return undefined;
    if ((entry.state === "pending" || entry.state === "held") && entry.isCounted !== isCounted) {
      this.#forget(key);
      return undefined;
    }
    if (entry.change.to === change.to && isSame) return entry;
    const updated = { ...entry, change: { ...change, cause: entry.change.cause }, source, fallen, kept };
    this.#entries.set(key, updated);
    if (fallen.length > 0) this.#counted.count(updated, false);
    return updated;
  }

  /** Begins to count a change; undefined when it does not count after all. */
  async #begin(
    key: ObjectKey,
    subject: HeldSubject,
    { isCounted, ...change }: AskedChange,
    signal: AbortSignal,
  ): Promise<JudgedChange | undefined> {
    const { clock, questions, isCell } = this.#options;
    const { protector, source, settled, to, kept } = subject;
    const namespace = await questions.namespace(source.namespace, signal);
    const isExempt = namespace?.isExempt === true;
    if (isExempt && kept === undefined) return undefined;
    const isEnd = to === undefined && namespace?.isTerminating === true;
    const lost = to === undefined && !isEnd ? await causeOfLostKind(source, questions, signal) : undefined;
    const now = clock.epochMicros();
    const at = settled === undefined ? now : this.#times.timeOf(source.kind, change.evidence, now);
    const entry: JudgedChange = {
      protectorUID: protector.metadata.uid,
      windowID: isEnd ? `${namespacesCause.text}/${source.namespace}` : digestOfUID(protector.metadata.uid),
      fallen: subject.fallen ?? [],
      change: { ...change, cause: isEnd ? namespacesCause : (lost ?? change.cause) },
      isCounted,
      isExempt,
      kept,
      at,
      approvableAt: settled === undefined ? (change.evidence ?? now) : at,
      readyAtMs: later(clock.monotonicMs(), deepFallDelayMs),
      source,
      terminatingNamespace: isEnd ? namespace.uid : undefined,
      state: "pending",
      heldBy: "",
    };
    this.#counted.count(entry, false);
    const core = isEnd ? await questions.namespace("kube-system", signal) : undefined;
    if (isEnd && core !== undefined && isCell(core.uid)) {
      this.#alarm(entry, namespace.uid);
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry;
  }

  async #decide(key: ObjectKey, entry: JudgedChange, signal: AbortSignal): Promise<Verdict> {
    const { clock, latches, questions } = this.#options;
    const { change, source } = entry;
    if (entry.state === "passed" || entry.state === "approved") return this.#pass(entry);
    const waitMs = Math.ceil(entry.readyAtMs - clock.monotonicMs());
    if (waitMs > 0) return { kind: "later", waitMs };
    if (entry.state === "pending") {
      const approvable = entry.kept === undefined ? change.cause.text : keptCause(key);
      if (latches.hasApproved(approvable, entry.approvableAt)) {
        this.#approve(entry);
        return this.#pass(entry);
      }
    }
    if (entry.kept?.isFall === true) return this.#hold(key, entry, keptCause(key));
    if (entry.isCounted && !entry.isExempt) {
      if (entry.state === "pending") {
        // In a terminating namespace it is deleted in any case, and its latch would hold all other namespaces.
        const isRelease = change.to === undefined && entry.terminatingNamespace === undefined;
        const cause = isRelease ? await causeOfLostKind(source, questions, signal) : undefined;
        if (cause !== undefined && cause.text !== change.cause.text) {
          // The CRD began to go after the change was seen, and is the cause all the same.
          const updated = { ...entry, change: { ...change, cause } };
          this.#entries.set(key, updated);
          this.#counted.count(updated, false);
          return await this.#decide(key, updated, signal);
        }
        if (isRelease && (await isOfLostKind(source, questions, signal))) latches.latch(change.cause.text);
        else if (latches.heldBy(change.cause.text) === undefined) {
          const exceeded = this.#counted.exceededBy(entry);
          if (exceeded !== undefined) latches.latch(exceeded);
        }
      }
      const heldBy = this.#counted
        .causesOf(entry)
        .map((one) => latches.heldBy(one))
        .find((one) => one !== undefined);
      if (heldBy !== undefined) return this.#hold(key, entry, heldBy);
    }
    const isInTime = clock.monotonicMs() < later(entry.readyAtMs, takenAwayMs);
    return entry.kept !== undefined && isInTime ? this.#hold(key, entry, keptCause(key)) : this.#pass(entry);
  }

  #hold(key: ObjectKey, entry: JudgedChange, heldBy: string): Verdict {
    const { config, announcements, clock, latches } = this.#options;
    entry.heldBy = heldBy;
    this.#causes.add(shortCause(heldBy));
    if (isKeptCause(heldBy)) latches.latch(heldBy);
    if (entry.state !== "held") {
      entry.state = "held";
      announcements.held(entry);
    }
    if (config.massChanges.policy === "hold" || isKeptCause(heldBy)) return { kind: "held" };
    const waitMs = this.#heldTurns.take(key, clock.monotonicMs());
    return waitMs > 0 ? { kind: "later", waitMs } : this.#pass(entry);
  }

  #pass(entry: JudgedChange): Verdict {
    const { change, at, windowID, terminatingNamespace } = entry;
    // An approved one is counted no longer, also after a restart.
    const isApproved = entry.state === "approved";
    if (entry.state === "pending" || (entry.kept !== undefined && !isApproved)) this.#counted.count(entry, true);
    entry.state = "passed";
    const cause = terminatingNamespace === undefined ? change.cause.text : windowID;
    if (isApproved) return pass(`approved ${cause}`);
    if (!entry.isCounted) return pass();
    return pass(cause, change.to === undefined ? undefined : formatFloorBefore({ highest: change.from, at }));
  }

  /** Pods cannot be created there any more, and their Services are gone: holding would protect nothing. */
  #alarm(entry: JudgedChange, namespaceUID: string): void {
    this.#counted.count(entry, true);
    const isTooMany = this.#counted.exceededBy(entry) === entry.change.cause.text;
    const { namespace } = entry.source;
    if (isTooMany && !this.#told.alarm) this.#options.announcements.manyNamespaces(namespace, namespaceUID);
    this.#told.alarm = isTooMany;
  }

  #ownChange(key: ObjectKey, source: SourceRecord): Verdict {
    this.#forget(key);
    const waitMs = this.#ownTurns.take(key, this.#options.clock.monotonicMs());
    if (waitMs > 0) return { kind: "later", waitMs };
    this.#options.announcements.ownChange(source, !this.#told.own);
    this.#told.own = true;
    return pass();
  }

  #forget(key: ObjectKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#heldTurns.forget(key);
    // What has passed is counted on; a namespace is counted for all that it has.
    if (entry.state !== "passed" && entry.terminatingNamespace === undefined)
      this.#counted.window.remove(entry.windowID);
  }

  #clear(): void {
    this.#counted.clear();
    this.#entries.clear();
    this.#settled.clear();
    this.#ownTurns.clear();
    this.#heldTurns.clear();
    this.#former.clear();
    this.#told = { own: false, alarm: false };
  }
}
