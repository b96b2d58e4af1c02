/**
 * The sources of one kind of custom resource (docs/generator.md#custom-resources), as an informer tells of others: the
 * objects are watched, and the scale of each is read when the object changes in what its scale may depend on. An object
 * is told of when its floor is known: by its scale, or by what was known before.
 *
 * The resource is waited for until it is served. When it ceases to be, what is known stays; when another version is
 * served instead, that one is watched.
 */
import { type Informer, type InformerHandler } from "../../kube/informer.ts";
import { type Resource } from "../../kube/kube-client.ts";
import { type Discovery, type KindMapping } from "../../scale/discovery.ts";
import { type Fingerprint, fingerprintOf } from "../../scale/scale-memory.ts";
import { readSourceHead } from "../../sources/read-source.ts";
import { type ScaledKind } from "../../sources/scaled-kind.ts";
import { type SourceHead, type SourceRecord } from "../../sources/source.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { linkedAbort } from "../../util/linked-abort.ts";
import { type Rng } from "../../util/rng.ts";
import { type Resolved, ResolvedSources, type TroubledSource } from "./resolved-sources.ts";
import { type SourceFeed } from "../sources/source-caches.ts";

/** Between two looks for a resource that is not served. Discovery reads no faster either. */
const lookEveryMs = 10_000;

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

export class ScaledSources implements SourceFeed {
  readonly #options: ScaledSourcesOptions;
  readonly #resolved: ResolvedSources<WatchedObject>;
  #error: string | undefined;
  #informer: Informer<WatchedObject> | undefined;

  constructor(options: ScaledSourcesOptions) {
    this.#options = options;
    const { kind, clock, rng } = options;
    this.#resolved = new ResolvedSources({
      resolve: (object, signal) => this.#resolve(object, signal),
      forget: (uid) => kind.forget(uid),
      clock,
      rng,
    });
  }

  hasSynced(): boolean {
    return this.#resolved.hasSynced();
  }

  lastError(): string | undefined {
    return this.#error ?? this.#informer?.lastError();
  }

  subscribe(handler: InformerHandler<SourceRecord>): void {
    this.#resolved.subscribe(handler);
  }

  /** Objects whose scale cannot be read now. */
  troubled(): IterableIterator<TroubledSource> {
    return this.#resolved.troubled();
  }

  /** Waits for the resource, lists and watches it until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const working = this.#resolved.run(signal);
    while (!signal.aborted) {
      const mapping = await this.#look();
      if (mapping === undefined) await sleep(this.#options.clock, lookEveryMs, signal);
      else await this.#watch(mapping, signal);
    }
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
    this.#resolved.notServed();
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
      onEvent: ({ type, object }) => {
        if (type === "deleted") this.#resolved.gone(object);
        else this.#resolved.changed(object);
      },
      onListed: () => {
        served.isSo = true;
        // Those of another version's list that are not in this one have vanished.
        this.#resolved.listed(({ key, uid }) => informer.get(key)?.uid === uid);
      },
      onNotServed: () => {
        served.isSo = false;
        this.#resolved.notServed();
        looking ??= lookForOther();
      },
      onForbidden: () => this.#resolved.forbidden(),
    });
    await informer.run(watching.signal);
    await looking;
  }

  async #resolve(watched: WatchedObject, signal: AbortSignal): Promise<Resolved> {
    const { spec, trouble } = await this.#options.kind.specOf(watched, watched.fingerprint, signal);
    return { source: spec && { ...withoutFingerprint(watched), spec }, trouble };
  }
}

function withoutFingerprint(watched: WatchedObject): SourceHead {
  const { fingerprint: _, ...head } = watched;
  return head;
}
