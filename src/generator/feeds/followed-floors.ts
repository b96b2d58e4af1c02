/**
 * Hand-made PodProtectors whose floor follows the replicas of workloads (docs/generator.md#hand-made-podprotectors).
 * Of such an object the generator writes spec.minAvailable, the note floor-before and conditions, and nothing else.
 * While the replicas are not known the last floor stays, and a floor that falls is judged as that of every other
 * PodProtector. The work is the leader's.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type FoundConditions, type Holding } from "../../api/v1alpha1/conditions.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type Config } from "../../config/config.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive } from "../../kube/pod-protectors.ts";
import { podProtectors, type StoredProtector } from "../../kube/resources.ts";
import { type Member } from "../../scale/expected-replicas.ts";
import { type ScaleTrouble } from "../../scale/read-scale.ts";
import { type FloorRule } from "../../sources/floor.ts";
import {
  followedProtectors,
  followedSource,
  type FloorWish,
  isFollowing,
  isHandMade,
  readWish,
} from "../../sources/followed-protector.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type Clock, type MonotonicMs } from "../../util/clock.ts";
import { KeysByNamespace } from "../../util/keys-by-namespace.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng } from "../../util/rng.ts";
import { type ExpectedAnswer, type ExpectedPods, noMembers } from "./expected-pods.ts";
import { idOf } from "../mass-changes/fallen-workloads.ts";
import { floorConditions } from "../conditions/source-conditions.ts";
import { type HeldChanges } from "../mass-changes/held-changes.ts";
import { pass, type Verdict } from "../mass-changes/judged-change.ts";
import { type GeneratorMetrics } from "../metrics/metrics.ts";
import { type Later, PacedQueue } from "../paced-queue.ts";
import { type TroubledSource, type TroubleEvent } from "./resolved-sources.ts";
import { toldAfterMs } from "./scale-alarms.ts";
import { type SourceCaches } from "../sources/source-caches.ts";

/** What is tried again by itself: a server in trouble soon, a right or an object that somebody has to make later. */
const againMs = { notNow: 5_000, lasting: 60_000 } as const;
/** Workloads that a condition names. */
const namedMax = 5;

/** As the disruption controller calls it. */
const event = {
  reason: "CalculateExpectedPodCountFailed",
  advice: "it is not known how many replicas the workloads have that it follows",
  outcome: "Its last floor holds",
} as const satisfies TroubleEvent;

/** Of one whose fields cannot be read. */
const unreadWish: FloorWish = { text: "", maxUnavailable: 0, words: "", targets: undefined, writer: undefined };

export interface FollowedFloorsOptions {
  readonly core: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  readonly sources: Pick<SourceCaches, "get" | "refOf">;
  readonly expected: Pick<ExpectedPods, "of" | "ofTargets" | "subscribe" | "vanished">;
  readonly changes: HeldChanges;
  readonly config: FloorRule & Pick<Config["generator"], "queue">;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly actions: GeneratorMetrics["actions"];
}

/** The floor that was last in force as the workloads want it. */
interface Settled {
  readonly source: SourceRecord;
  readonly wish: FloorWish;
  readonly members: readonly Member[];
  readonly generation: number | undefined;
}

interface Entry {
  readonly uid: string;
  /** Of the spec that was seen last. */
  generation: number | undefined;
  settled: Settled | undefined;
  trouble: { readonly what: ScaleTrouble; readonly sinceMs: MonotonicMs } | undefined;
}

interface Asked {
  readonly stored: StoredProtector;
  readonly wish: FloorWish;
}

/** What the workloads come to. */
interface Found extends Asked {
  readonly source: SourceRecord;
  readonly floor: number;
  readonly members: readonly Member[];
}

export class FollowedFloors {
  readonly kind = followedProtectors;
  readonly #options: FollowedFloorsOptions;
  /** Those that follow, by the key of the PodProtector. */
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #inNamespace = new KeysByNamespace<ObjectKey>();
  readonly #queue: PacedQueue;

  constructor(options: FollowedFloorsOptions) {
    this.#options = options;
    const { protectors, expected, changes, config, clock, rng, logger } = options;
    this.#queue = new PacedQueue({
      config: config.queue,
      clock,
      rng,
      due: (key) => (this.#entries.has(key) ? (signal) => this.#follow(key, signal) : undefined),
      onReconcile: () => {},
      onFailed: (key, err) =>
        logger.error("Cannot set the floor of a PodProtector, retrying", { podProtector: key, err }),
    });
    protectors.subscribe({
      onEvent: ({ type, object }) => (type === "deleted" ? this.#leave(object) : this.#changed(object)),
    });
    const onChange = (namespace: string): void => this.#addAll(this.#inNamespace.of(namespace));
    expected.subscribe({
      onChange,
      onRelabelled: onChange,
      onListed: () => this.#addAll(this.#entries.keys()),
    });
    changes.wakeFor(followedProtectors, (key) => this.#queue.add(key));
  }

  /** Those whose last floor holds, since the replicas are not known. */
  *troubled(): IterableIterator<TroubledSource> {
    for (const [key, { trouble }] of this.#entries) {
      const stored = trouble && this.#options.protectors.get(key);
      if (trouble === undefined || stored === undefined) continue;
      const source = followedSource(stored.protector, unreadWish, { replicas: 0, members: [] });
      yield { source, trouble: trouble.what, sinceMs: trouble.sinceMs, isHeld: true, event };
    }
  }

  /** What is to be said of a hand-made PodProtector; nothing of a generated one. */
  found({ key, protector }: StoredProtector): FoundConditions {
    const { sources, changes, clock, config } = this.#options;
    if (!isHandMade(protector) || sources.refOf(protector) !== undefined) return {};
    const entry = this.#entries.get(key);
    const nothing = { FloorResolved: false, FloorStale: false, ChangeHeld: false } as const;
    if (entry === undefined) return { ...nothing, Undrainable: false, Unprotected: false };
    const { settled, trouble } = entry;
    const isStale = trouble !== undefined && clock.monotonicMs() - trouble.sinceMs >= toldAfterMs;
    const message = `${event.outcome}: ${event.advice}. ${trouble?.what.text ?? ""}`;
    const stale = { FloorStale: isStale && ({ reason: event.reason, message } as const) };
    const held = changes.found(key);
    if (settled === undefined) return { ...stale, ...held };
    const floor = settled.source.spec.floorBy(config);
    const FloorResolved = resolvedAs(settled, floor.minAvailable);
    return { ...floorConditions(settled.source, floor), FloorResolved, ...stale, ...held };
  }

  /** As Generator.lead, and after it. */
  async lead(signal: AbortSignal): Promise<void> {
    // Another leader may have followed them since the last term.
    for (const entry of this.#entries.values()) entry.settled = entry.trouble = undefined;
    await this.#queue.run(this.#entries.keys(), signal);
  }

  #changed(stored: StoredProtector): void {
    const { key, uid, protector } = stored;
    const { sources } = this.#options;
    // One that has the name of a source's PodProtector is the business of whoever keeps that name free.
    if (!isFollowing(protector) || sources.refOf(protector) !== undefined || sources.get(key) !== undefined)
      return this.#leave(stored);
    const { namespace, generation } = protector.metadata;
    const entry = this.#entries.get(key);
    if (entry?.uid !== uid) {
      this.#leave(stored);
      this.#entries.set(key, { uid, generation, settled: undefined, trouble: undefined });
      this.#inNamespace.add(namespace, key);
    }
    // Its status is written for each batch of admitted deletions, and means nothing here.
    else if (generation !== undefined && entry.generation === generation) return;
    else entry.generation = generation;
    this.#queue.add(key);
  }

  #leave({ key, protector }: StoredProtector): void {
    if (!this.#entries.delete(key)) return;
    this.#inNamespace.delete(protector.metadata.namespace, key);
    this.#options.changes.gone(key);
  }

  #addAll(keys: Iterable<ObjectKey>): void {
    for (const key of keys) this.#queue.add(key);
  }

  async #follow(key: ObjectKey, signal: AbortSignal): Promise<Later | void> {
    const entry = this.#entries.get(key);
    const stored = this.#options.protectors.get(key);
    if (entry === undefined || stored?.uid !== entry.uid) return;
    const read = readWish(stored.protector);
    if (read.kind === "none") return;
    if (read.kind === "wrong") return this.#unknown(entry, { kind: "lasting", problem: "wrong", text: read.text });
    const { wish } = read;
    const found = { stored, wish };
    const answer = await this.#ask(stored, wish, signal);
    if (this.#entries.get(key) !== entry) return;
    if (answer.kind !== "known")
      return await this.#keep(entry, found, answer.kind === "unmanaged" ? noMembers : answer.trouble, signal);
    const source = followedSource(stored.protector, wish, answer);
    const floor = source.spec.floorBy(this.#options.config).minAvailable;
    const unknown = answer.lacking ?? (await this.#lost(entry, wish, answer.members));
    if (unknown !== undefined && floor < this.#lastFloor(entry, found))
      return await this.#keep(entry, found, unknown, signal);
    entry.trouble = unknown && { what: unknown, sinceMs: entry.trouble?.sinceMs ?? this.#options.clock.monotonicMs() };
    const all = { ...found, source, floor, members: answer.members };
    const next = await this.#bring(key, entry, all, signal);
    return next ?? (unknown && { waitMs: againMs[unknown.kind] });
  }

  async #ask({ protector }: StoredProtector, { targets }: FloorWish, signal: AbortSignal): Promise<ExpectedAnswer> {
    const { expected } = this.#options;
    const { namespace } = protector.metadata;
    if (targets !== undefined) return await expected.ofTargets(namespace, targets, signal);
    return await expected.of(namespace, protector.spec.selector, signal);
  }

  #unknown(entry: Entry, what: ScaleTrouble): Later {
    entry.trouble = { what, sinceMs: entry.trouble?.sinceMs ?? this.#options.clock.monotonicMs() };
    return { waitMs: againMs[what.kind] };
  }

  /** The floor that holds while the replicas are not known. */
  #lastFloor({ settled }: Entry, { stored, wish }: Asked): number {
    const { minAvailable } = stored.protector.spec;
    if (settled?.wish.text !== wish.text) return minAvailable;
    return Math.max(minAvailable, settled.source.spec.floorBy(this.#options.config).minAvailable);
  }

  /** Edits of the floor are undone then, too. Throws KubeError. */
  async #keep(entry: Entry, asked: Asked, what: ScaleTrouble, signal: AbortSignal): Promise<Later> {
    const { stored } = asked;
    const last = this.#lastFloor(entry, asked);
    if (last > stored.protector.spec.minAvailable) await this.#write(stored, last, undefined, signal);
    return this.#unknown(entry, what);
  }

  /** A workload that was selected is gone, and nobody has deleted it: that is the disaster, and no lower floor. */
  async #lost({ settled }: Entry, wish: FloorWish, members: readonly Member[]): Promise<ScaleTrouble | undefined> {
    if (wish.targets === undefined || settled?.wish.text !== wish.text) return undefined;
    const present = new Set(members.map(idOf));
    const absent = settled.members.filter((member) => !present.has(idOf(member)));
    const vanished = await this.#options.expected.vanished(absent);
    if (vanished === undefined) return undefined;
    const { mapping, object } = vanished.owner;
    const text = `${mapping.kind} ${object.name} was selected, and has vanished. To do without it, edit spec.targets`;
    return { kind: "lasting", problem: "wrong", text };
  }

  /** Writes the floor, as far as it may be; undefined when nothing is to be waited for. Throws KubeError. */
  async #bring(key: ObjectKey, entry: Entry, found: Found, signal: AbortSignal): Promise<Later | undefined> {
    const { core, changes } = this.#options;
    const { stored, wish, floor } = found;
    const present = stored.protector.spec.minAvailable;
    if (changes.beforeRestore(stored) === stored) {
      if (present === floor) return this.#settle(key, entry, stored, found);
      const resting = floor < present ? changes.resting(key, { to: floor }) : undefined;
      if (resting !== undefined) return resting.kind === "later" ? resting : undefined;
    }
    const live = presentOrThrow(await readProtectorLive(core, stored.protector.metadata, { signal }));
    // What has changed meanwhile has an event of its own.
    if (live?.uid !== entry.uid || !isFollowing(live.protector) || !isSameWish(live, wish)) return undefined;
    const kept = changes.beforeRestore(live).protector;
    const verdict = await this.#judge(key, kept, found, signal);
    if (verdict.kind === "later") return verdict;
    const to = verdict.kind === "held" ? kept.spec.minAvailable : floor;
    if (to !== live.protector.spec.minAvailable)
      await this.#write(live, to, verdict.kind === "held" ? undefined : verdict.floorBefore, signal);
    return to === floor ? this.#settle(key, entry, live, found) : undefined;
  }

  async #judge(key: ObjectKey, kept: PodProtector, found: Found, signal: AbortSignal): Promise<Verdict> {
    const { changes } = this.#options;
    const { source, floor } = found;
    if (floor >= kept.spec.minAvailable) return pass();
    const request = { protector: kept, source, to: floor };
    return changes.resting(key, request) ?? (await changes.judge(key, request, signal));
  }

  async #write(
    { key, protector: { metadata, spec } }: StoredProtector,
    minAvailable: number,
    floorBefore: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { core, actions, logger } = this.#options;
    const { namespace, name, uid, resourceVersion } = metadata;
    const noted = floorBefore === undefined ? {} : { annotations: { [annotations.floorBefore]: floorBefore } };
    await core.request({
      method: "PATCH",
      path: resourcePath(podProtectors, { namespace, name }),
      contentType: "application/merge-patch+json",
      // The fields that ask for it may go at any moment: then this is no business of ours.
      body: { metadata: { uid, resourceVersion, ...noted }, spec: { minAvailable } },
      signal,
    });
    actions.inc({ ...followedProtectors.resource, namespace, action: "Sync" });
    const floors = { mustStay: minAvailable, before: spec.minAvailable };
    logger.info("Changed the floor of a PodProtector", { podProtector: key, ...floors });
  }

  #settle(key: ObjectKey, entry: Entry, { protector }: StoredProtector, found: Found): undefined {
    const { source, wish, members } = found;
    this.#options.changes.settled(key, source);
    const { generation } = protector.metadata;
    entry.settled = { source, wish, members, generation };
  }
}

/** "10 replicas, of which 8 must stay (maxUnavailable 20%): Deployment web 6, StatefulSet db 4". */
function resolvedAs({ source, wish, members, generation }: Settled, minAvailable: number): Holding<"FloorResolved"> {
  // In an order of their own, or the condition would be written again for each way to find them.
  const named = members.map(textOf).sort().slice(0, namedMax);
  const more = members.length > namedMax ? [`${members.length - namedMax} more`] : [];
  const what = `${source.spec.replicas} replicas, of which ${minAvailable} must stay (${wish.words})`;
  return {
    reason: "ReplicasKnown",
    message: [what, [...named, ...more].join(", ")].join(": "),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

/** "Deployment web 8". */
function textOf({ owner, replicas }: Member): string {
  return `${owner.mapping.kind} ${owner.object.name} ${replicas}`;
}

function isSameWish({ protector }: StoredProtector, { text }: FloorWish): boolean {
  const read = readWish(protector);
  return read.kind === "wish" && read.wish.text === text;
}
