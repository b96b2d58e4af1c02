/**
 * The sources of one kind of custom resource (docs/generator.md#custom-resources), as an informer tells of others: the
 * objects are watched, and the scale of each is read when the object changes in what its scale may depend on. An object
 * is told of when its floor is known: by its scale, or by what was known before.
 *
 * The resource is waited for until it is served. When it ceases to be, what is known stays; when another version is
 * served instead, that one is watched.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type Informer, type InformerEvent, type InformerHandler } from "../kube/informer.ts";
import { type Resource } from "../kube/kube-client.ts";
import { type Discovery } from "../scale/discovery.ts";
import { type Fingerprint, fingerprintOf } from "../scale/fingerprint.ts";
import { type KindMapping } from "../scale/kind-mapping.ts";
import { type ScaleTrouble } from "../scale/read-scale.ts";
import { readSourceHead } from "../sources/read-source.ts";
import { type ScaledKind } from "../sources/scaled-kind.ts";
import { type SourceHead, type SourceRecord, type SourceSpec } from "../sources/source.ts";
import { type Clock, type MonotonicMs, sleep, type Timer } from "../util/clock.ts";
import { linkedAbort } from "../util/linked-abort.ts";
import { type Rng } from "../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";
import { type SourceFeed } from "./source-caches.ts";

/** Between two looks for a resource that is not served. Discovery reads no faster either. */
const lookEveryMs = 10_000;
/**
 * After a list, objects whose scales have not been read by then are told of later: one slow server must not keep the
 * others unprotected.
 */
const firstScalesMs = 60_000;
/** Scales that are read at a time. A read takes some milliseconds, and the client has its own rate. */
const concurrency = 8;
/** A right that is given, or a server that is well again, is noticed within five minutes. A changed object at once. */
const retry = { backoffBaseMs: 1_000, backoffMaxMs: 300_000, backoffConflictMs: 100 };

/** What is watched of an object. */
export interface WatchedObject extends SourceHead {
  readonly fingerprint: Fingerprint;
}

export interface ScaledSourcesOptions {
  readonly kind: ScaledKind;
  readonly plural: string;
  readonly group: string;
  readonly discovery: Discovery;
  /** Not running yet. */
  readonly createInformer: (
    resource: Resource,
    decode: (raw: unknown) => WatchedObject | undefined,
  ) => Informer<WatchedObject>;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** An object whose scale cannot be read. */
export interface TroubledSource {
  readonly source: SourceHead;
  readonly trouble: ScaleTrouble;
  readonly sinceMs: MonotonicMs;
  /** A floor is in force for it, or will be. */
  readonly isHeld: boolean;
}

interface Entry {
  object: WatchedObject;
  /** What the handlers know. */
  told: SourceRecord | undefined;
  /** Its scale has been asked for once. */
  isTried: boolean;
  trouble: { readonly what: ScaleTrouble; readonly sinceMs: MonotonicMs } | undefined;
}

export class ScaledSources implements SourceFeed {
  readonly #options: ScaledSourcesOptions;
  readonly #handlers: InformerHandler<SourceRecord>[] = [];
  /** By the key of the object. */
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #queue: WorkQueue<ObjectKey>;
  /** Objects of the last list whose scales have not been asked for yet; undefined = that is over. */
  #awaited: { readonly keys: Set<ObjectKey>; readonly timer: Timer } | undefined;
  #hasSynced = false;
  #error: string | undefined;
  #informer: Informer<WatchedObject> | undefined;

  constructor(options: ScaledSourcesOptions) {
    this.#options = options;
    const { clock, rng } = options;
    this.#queue = createWorkQueue<ObjectKey>({
      ...retry,
      clock,
      rng,
      concurrency,
      process: (key, signal) => this.#process(key, signal),
      observer: { onReconcile() {} },
    });
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  lastError(): string | undefined {
    return this.#error ?? this.#informer?.lastError();
  }

  subscribe(handler: InformerHandler<SourceRecord>): void {
    this.#handlers.push(handler);
  }

  /** Objects whose scale cannot be read now. */
  *troubled(): IterableIterator<TroubledSource> {
    for (const { object: source, told, trouble } of this.#entries.values())
      if (trouble !== undefined)
        yield { source, trouble: trouble.what, sinceMs: trouble.sinceMs, isHeld: told !== undefined };
  }

  /** Waits for the resource, lists and watches it until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const working = this.#queue.run(signal);
    while (!signal.aborted) {
      const mapping = await this.#look();
      if (mapping === undefined) await sleep(this.#options.clock, lookEveryMs, signal);
      else await this.#watch(mapping, signal);
    }
    this.#awaited?.timer.cancel();
    await working;
  }

  /** What serves the kind; undefined = nothing that can be used. */
  async #look(): Promise<KindMapping | undefined> {
    const { kind, plural, group, discovery } = this.#options;
    const answer = await discovery.ofResource(group, plural);
    if (answer.kind === "notNow") {
      this.#error = `cannot look for ${kind.id}: ${answer.error.message}`;
      return undefined;
    }
    const mapping = answer.kind === "found" ? answer.mapping : undefined;
    if (mapping?.hasScale === true && mapping.isNamespaced) {
      this.#error = undefined;
      return mapping;
    }
    const lacking = mapping?.hasScale === true ? "are cluster-scoped" : "have no subresource scale";
    this.#error = mapping === undefined ? `${kind.id} is not served` : `${kind.id} ${lacking}`;
    discovery.doubt(group);
    for (const handler of this.#handlers) handler.onNotServed?.();
    return undefined;
  }

  /** Until the signal aborts, or the resource is served in another version. */
  async #watch(mapping: KindMapping, signal: AbortSignal): Promise<void> {
    const { kind, createInformer } = this.#options;
    kind.discovered(mapping);
    using watching = linkedAbort(signal);
    const informer = createInformer(mapping.resource, (raw) => {
      const head = readSourceHead(kind, raw);
      return head && { ...head, fingerprint: fingerprintOf(raw) };
    });
    this.#informer = informer;
    const served = { isSo: true };
    let looking: Promise<void> | undefined;
    const lookForOther = async (): Promise<void> => {
      while (!served.isSo && !watching.signal.aborted) {
        this.#options.discovery.doubt(mapping.resource.group);
        const other = await this.#look();
        if (other !== undefined && other.resource.version !== mapping.resource.version) watching.abort();
        await sleep(this.#options.clock, lookEveryMs, watching.signal);
      }
      looking = undefined;
    };
    informer.subscribe({
      onEvent: (event) => this.#event(event),
      onListed: () => {
        served.isSo = true;
        this.#listed(informer);
      },
      onNotServed: () => {
        served.isSo = false;
        for (const handler of this.#handlers) handler.onNotServed?.();
        looking ??= lookForOther();
      },
      onForbidden: () => {
        for (const handler of this.#handlers) handler.onForbidden?.();
      },
    });
    await informer.run(watching.signal);
    await looking;
  }

  #event({ type, object }: InformerEvent<WatchedObject>): void {
    const entry = this.#entries.get(object.key);
    if (type === "deleted") {
      if (entry?.object.uid === object.uid) this.#gone(object);
      return;
    }
    if (entry !== undefined && entry.object.uid !== object.uid) this.#gone(entry.object);
    const known = this.#entries.get(object.key);
    if (known === undefined)
      this.#entries.set(object.key, { object, told: undefined, isTried: false, trouble: undefined });
    else known.object = object;
    this.#queue.add(object.key);
  }

  #gone(last: WatchedObject): void {
    const told = this.#entries.get(last.key)?.told;
    this.#entries.delete(last.key);
    this.#options.kind.forget(last.uid);
    if (told !== undefined) this.#tell({ type: "deleted", object: { ...withoutFingerprint(last), spec: told.spec } });
    this.#tried(last.key);
  }

  /** Those of another version's list that are not in this one have vanished. */
  #listed(informer: Informer<WatchedObject>): void {
    for (const { object } of this.#entries.values())
      if (informer.get(object.key)?.uid !== object.uid) this.#gone(object);
    this.#awaited?.timer.cancel();
    const keys = new Set([...this.#entries].filter(([, { isTried }]) => !isTried).map(([key]) => key));
    const timer = this.#options.clock.setTimer(firstScalesMs, () => this.#complete());
    this.#awaited = { keys, timer };
    if (keys.size === 0) this.#complete();
  }

  #tried(key: ObjectKey): void {
    if (this.#awaited?.keys.delete(key) === true && this.#awaited.keys.size === 0) this.#complete();
  }

  /** All that the list brought has been told, as far as it can be. */
  #complete(): void {
    this.#awaited?.timer.cancel();
    this.#awaited = undefined;
    const isFirst = !this.#hasSynced;
    this.#hasSynced = true;
    for (const handler of this.#handlers) handler.onListed?.(isFirst, undefined);
  }

  async #process(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return { kind: "done" };
    const { object } = entry;
    const { spec, trouble } = await this.#options.kind.specOf(object, object.fingerprint, signal);
    // It has been replaced meanwhile. What took its place is in the queue.
    if (this.#entries.get(key) !== entry) return { kind: "done" };
    entry.isTried = true;
    entry.trouble = trouble && { what: trouble, sinceMs: entry.trouble?.sinceMs ?? this.#options.clock.monotonicMs() };
    if (spec !== undefined) this.#tellOf(entry, object, spec);
    this.#tried(key);
    return trouble === undefined ? { kind: "done" } : { kind: "failed", error: trouble };
  }

  #tellOf(entry: Entry, watched: WatchedObject, spec: SourceSpec): void {
    const previous = entry.told;
    if (previous?.resourceVersion === watched.resourceVersion && previous.spec === spec) return;
    const object: SourceRecord = { ...withoutFingerprint(watched), spec };
    entry.told = object;
    this.#tell(previous === undefined ? { type: "added", object } : { type: "modified", object, previous });
  }

  #tell(event: InformerEvent<SourceRecord>): void {
    for (const handler of this.#handlers) handler.onEvent(event);
  }
}

function withoutFingerprint(watched: WatchedObject): SourceHead {
  const { fingerprint: _, ...head } = watched;
  return head;
}
