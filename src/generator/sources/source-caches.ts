/**
 * The sources of all kinds that this generator works for, as their informers know them, by the keys of their
 * PodProtectors. Kinds do not wait for each other: one whose resource is not served (its CRD is missing), or that the
 * account may not list, is passed over, and nothing is concluded from the absence of its objects
 * (docs/generator.md#kinds-that-are-not-there).
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type Informer, type InformerHandler } from "../../kube/informer.ts";
import { sourceKinds } from "../../sources/index.ts";
import { type SourceKind, type SourceRecord, type SourceRef } from "../../sources/source.ts";
import { assert } from "../../util/assert.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { linkedAbort } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { isOfScaledKind, kindOf, protectorKeyOf, sourceOf } from "./source-plan.ts";

/**
 * A kind that fails otherwise, such as by a broken conversion webhook, is waited for so long, once another is there.
 * A large core is listed within some seconds.
 */
const waitedForMs = 60_000;

/** What tells of the sources of one kind, as an informer does. */
export type SourceFeed = Pick<Informer<SourceRecord>, "hasSynced" | "lastError" | "subscribe" | "run">;

export interface SourceCachesOptions {
  /** Not running yet. */
  readonly informers: ReadonlyMap<SourceKind, SourceFeed>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SourceCaches {
  readonly #options: SourceCachesOptions;
  /** Those that this generator works for, and all that are built in. */
  readonly #kinds: readonly SourceKind[];
  readonly #records = new Map<ObjectKey, SourceRecord>();
  /** Why a kind cannot be watched, as its API server says. */
  readonly #refused = new Map<SourceKind, "not served" | "forbidden">();
  readonly #waiting = new Set<() => void>();
  readonly #onKnown: (() => void)[] = [];
  #isOverdue = false;

  constructor(options: SourceCachesOptions) {
    this.#options = options;
    this.#kinds = [...new Set([...options.informers.keys(), ...sourceKinds])];
    // Before every other handler, so that these find what they are told of.
    for (const kind of options.informers.keys()) {
      this.#informer(kind).subscribe({
        onEvent: ({ type, object }) => {
          if (type === "deleted") this.#records.delete(protectorKeyOf(object));
          else this.#records.set(protectorKeyOf(object), object);
        },
        onListed: (isFirst) => this.#listed(kind, isFirst),
        onNotServed: () => this.#refuse(kind, "not served"),
        // What was listed before stays true for all that is known, and each object is read before it is worked on.
        onForbidden: () => this.#isListed(kind) || this.#refuse(kind, "forbidden"),
      });
    }
  }

  /** The source whose PodProtector has that key. */
  get(protector: ObjectKey): SourceRecord | undefined {
    return this.#records.get(protector);
  }

  /** The keys of the PodProtectors of all sources, whether these want one or not. */
  keys(): Iterable<ObjectKey> {
    return this.#records.keys();
  }

  /** The source that a PodProtector was generated for; undefined also where this generator does not do its kind. */
  refOf(protector: PodProtector): SourceRef | undefined {
    const source = sourceOf(protector, this.#kinds);
    return source !== undefined && this.#options.informers.has(source.kind) ? source : undefined;
  }

  /** How many of these were generated for kinds that this generator does not work for. */
  countIgnored(protectors: Iterable<{ readonly protector: PodProtector }>): number {
    const isIgnored = (protector: PodProtector): boolean =>
      (sourceOf(protector, this.#kinds) !== undefined || isOfScaledKind(protector)) &&
      this.refOf(protector) === undefined;
    return [...protectors].filter(({ protector }) => isIgnored(protector)).length;
  }

  /** The kind of the sources whose PodProtectors have such a name. */
  kindOf(protector: ObjectKey): SourceKind | undefined {
    return kindOf(protector, this.#kinds);
  }

  /** Whether the absence of an object of that kind says that it is gone. */
  isKnown(kind: SourceKind): boolean {
    return this.#isListed(kind) && !this.#refused.has(kind);
  }

  /** For gauges. */
  kinds(): readonly { readonly kind: SourceKind; readonly isKnown: boolean }[] {
    return [...this.#options.informers.keys()].map((kind) => ({ kind, isKnown: this.isKnown(kind) }));
  }

  /** Only before the informers run. */
  subscribe(handlerOf: (kind: SourceKind) => InformerHandler<SourceRecord>): void {
    for (const [kind, informer] of this.#options.informers) informer.subscribe(handlerOf(kind));
  }

  /** Lists and watches all kinds until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#options.informers.values()].map((informer) => informer.run(signal)));
  }

  /** Calls back whenever a kind becomes known. */
  onKnown(callback: () => void): void {
    this.#onKnown.push(callback);
  }

  /**
   * Resolves when every kind is listed or passed over, and those that are listed have delivered all their objects; or
   * when the signal aborts.
   */
  async ready(signal: AbortSignal): Promise<void> {
    using waiting = linkedAbort(signal);
    const overdue = async (): Promise<void> => {
      await sleep(this.#options.clock, waitedForMs, waiting.signal);
      if (waiting.signal.aborted) return;
      this.#isOverdue = true;
      this.#look();
    };
    const ended = overdue();
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!signal.aborted && !this.#isReady()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      waiting.signal.addEventListener("abort", look, { once: true });
      look();
    });
    waiting.abort();
    await ended;
    if (!signal.aborted && !this.#hasAnyKnown()) this.#tellNone();
  }

  /** What is missing before the generator may work, for people; undefined = nothing. */
  problemOf(kind: SourceKind): string | undefined {
    if (this.#isListed(kind) || this.#isPassedOver(kind)) return undefined;
    const error = this.#informer(kind).lastError();
    return `${kind.kind}s have not been listed yet${error === undefined ? "" : `: ${error}`}`;
  }

  #isReady(): boolean {
    return [...this.#options.informers.keys()].every((kind) => this.#isListed(kind) || this.#isPassedOver(kind));
  }

  #isPassedOver(kind: SourceKind): boolean {
    const refused = this.#refused.get(kind);
    // A CRD may well be missing. A server that does not serve what is built in is not well, and is waited for.
    if (refused === "not served" && kind.resource.group.includes(".")) return true;
    return this.#hasAnyKnown() && (this.#isOverdue || refused !== undefined);
  }

  #hasAnyKnown(): boolean {
    return [...this.#options.informers.keys()].some((kind) => this.isKnown(kind));
  }

  #tellNone(): void {
    const ids = [...this.#options.informers.keys()].map(({ id }) => id);
    const text =
      `None of --generator-sources is served, so no workload gets a PodProtector: ${ids.join(", ")}. ` +
      "Each is worked for as soon as it is there";
    this.#options.logger.error(text);
  }

  #isListed(kind: SourceKind): boolean {
    return this.#informer(kind).hasSynced();
  }

  #informer(kind: SourceKind): SourceFeed {
    const informer = this.#options.informers.get(kind);
    assert(informer !== undefined, "only kinds that have an informer are asked for");
    return informer;
  }

  #listed(kind: SourceKind, isFirst: boolean): void {
    const wasRefused = this.#refused.delete(kind);
    if (wasRefused) this.#options.logger.info("Watching a kind of sources again", { source: kind.id });
    this.#look();
    if (wasRefused || isFirst) for (const onKnown of this.#onKnown) onKnown();
  }

  #refuse(kind: SourceKind, why: "not served" | "forbidden"): void {
    if (this.#refused.get(kind) !== why) {
      this.#refused.set(kind, why);
      const text = "Cannot watch a kind of sources. Its PodProtectors stay as they are, and other kinds go on";
      this.#options.logger.error(text, { source: kind.id, why, err: this.#informer(kind).lastError() });
    }
    this.#look();
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}
