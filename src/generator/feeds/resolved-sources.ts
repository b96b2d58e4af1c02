/**
 * Sources whose wish is not all in the object: each is resolved, by requests or by other objects, before anybody is
 * told of it, as an informer tells. One that cannot be resolved now is tried again, and what was told of it stays.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type InformerEvent, type InformerHandler } from "../../kube/informer.ts";
import { type ScaleTrouble } from "../../scale/read-scale.ts";
import { type SourceHead, type SourceRecord } from "../../sources/source.ts";
import { type Clock, type MonotonicMs, type Timer } from "../../util/clock.ts";
import { type Rng } from "../../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../../work-queue/index.ts";

/**
 * After a list, objects that have not been resolved by then are told of later: one slow server must not keep the others
 * unprotected.
 */
const firstTriesMs = 60_000;
/** That are resolved at a time. A read takes some milliseconds, and the client has its own rate. */
const concurrency = 8;
/** A right that is given, or a server that is well again, is noticed within five minutes. A changed object at once. */
const retry = { backoffBaseMs: 1_000, backoffMaxMs: 300_000, backoffConflictMs: 100 };

export interface Resolved {
  /** What the object wants; undefined = nothing is known of that, and nothing is in force for it. */
  readonly source: SourceRecord | undefined;
  /** Why that may not be what it wants now; undefined = it is. */
  readonly trouble: ScaleTrouble | undefined;
}

export interface ResolvedSourcesOptions<Watched extends SourceHead> {
  /** Rejects only when `signal` aborts. */
  readonly resolve: (watched: Watched, signal: AbortSignal) => Promise<Resolved>;
  /** The object with that UID is gone. */
  readonly forget: (uid: string) => void;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** What people are told of a source that cannot be resolved. */
export interface TroubleEvent {
  readonly reason: string;
  /** What is to be done. */
  readonly advice: string;
  /** What holds meanwhile; absent = the last floor of its PodProtector, if there is one. */
  readonly outcome?: string;
}

/** An object that cannot be resolved. */
export interface TroubledSource {
  readonly source: SourceHead;
  readonly trouble: ScaleTrouble;
  readonly sinceMs: MonotonicMs;
  /** A floor is in force for it, or will be. */
  readonly isHeld: boolean;
  /** Undefined: its scale is what cannot be read. */
  readonly event?: TroubleEvent;
}

interface Entry<Watched> {
  object: Watched;
  /** What the handlers know. */
  told: SourceRecord | undefined;
  /** It has been tried once. */
  isTried: boolean;
  trouble: { readonly what: ScaleTrouble; readonly sinceMs: MonotonicMs } | undefined;
}

export class ResolvedSources<Watched extends SourceHead> {
  readonly #options: ResolvedSourcesOptions<Watched>;
  readonly #handlers: InformerHandler<SourceRecord>[] = [];
  /** By the key of the object. */
  readonly #entries = new Map<ObjectKey, Entry<Watched>>();
  readonly #queue: WorkQueue<ObjectKey>;
  /** Objects of the last list that have not been tried yet; undefined = that is over. */
  #awaited: { readonly keys: Set<ObjectKey>; readonly timer: Timer } | undefined;
  #hasSynced = false;

  constructor(options: ResolvedSourcesOptions<Watched>) {
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

  subscribe(handler: InformerHandler<SourceRecord>): void {
    this.#handlers.push(handler);
  }

  /** Objects that cannot be resolved now. */
  *troubled(): IterableIterator<TroubledSource> {
    for (const { object: source, told, trouble } of this.#entries.values())
      if (trouble !== undefined)
        yield { source, trouble: trouble.what, sinceMs: trouble.sinceMs, isHeld: told !== undefined };
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(signal);
    this.#awaited?.timer.cancel();
  }

  /** The object has come or changed; another one of its name is gone. */
  changed(object: Watched): void {
    const entry = this.#entries.get(object.key);
    if (entry !== undefined && entry.object.uid !== object.uid) this.gone(entry.object);
    const known = this.#entries.get(object.key);
    if (known === undefined)
      this.#entries.set(object.key, { object, told: undefined, isTried: false, trouble: undefined });
    else known.object = object;
    this.#queue.add(object.key);
  }

  /** That very object is gone. */
  gone({ key, uid }: Pick<SourceHead, "key" | "uid">): void {
    const entry = this.#entries.get(key);
    if (entry?.object.uid !== uid) return;
    this.#entries.delete(key);
    this.#options.forget(uid);
    if (entry.told !== undefined) this.#tell({ type: "deleted", object: entry.told });
    this.#tried(key);
  }

  /** What it wants may have changed with something else. */
  again(key: ObjectKey): void {
    if (this.#entries.has(key)) this.#queue.add(key);
  }

  /** A list has been delivered: those that are not there have vanished. */
  listed(isThere: (object: Watched) => boolean): void {
    for (const { object } of this.#entries.values()) if (!isThere(object)) this.gone(object);
    this.#awaited?.timer.cancel();
    const keys = new Set([...this.#entries].filter(([, { isTried }]) => !isTried).map(([key]) => key));
    const timer = this.#options.clock.setTimer(firstTriesMs, () => this.#complete());
    this.#awaited = { keys, timer };
    if (keys.size === 0) this.#complete();
  }

  notServed(): void {
    for (const handler of this.#handlers) handler.onNotServed?.();
  }

  forbidden(): void {
    for (const handler of this.#handlers) handler.onForbidden?.();
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
    const { source, trouble } = await this.#options.resolve(entry.object, signal);
    // It has been replaced meanwhile. What took its place is in the queue.
    if (this.#entries.get(key) !== entry) return { kind: "done" };
    entry.isTried = true;
    entry.trouble = trouble && { what: trouble, sinceMs: entry.trouble?.sinceMs ?? this.#options.clock.monotonicMs() };
    if (source !== undefined) this.#tellOf(entry, source);
    this.#tried(key);
    return trouble === undefined ? { kind: "done" } : { kind: "failed", error: trouble };
  }

  #tellOf(entry: Entry<Watched>, object: SourceRecord): void {
    const previous = entry.told;
    const isSame = previous?.resourceVersion === object.resourceVersion && previous.spec === object.spec;
    if (isSame && previous.isTerminating === object.isTerminating) return;
    entry.told = object;
    this.#tell(previous === undefined ? { type: "added", object } : { type: "modified", object, previous });
  }

  #tell(event: InformerEvent<SourceRecord>): void {
    for (const handler of this.#handlers) handler.onEvent(event);
  }
}
