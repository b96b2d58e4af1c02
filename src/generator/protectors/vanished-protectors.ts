/**
 * The PodProtectors of this generator that vanished from the core without having been released, as far as this process
 * has watched (docs/generator.md#when-a-podprotector-is-gone): erased by mistake, or lost with the core's storage. The
 * leader makes them again, from their last state. Standbys remember as well, since only who saw an object can.
 */
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { annotations, finalizer } from "../../api/v1alpha1/names.ts";
import { isReleased, neverHadFloor, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { isKubeError } from "../../kube/kube-client.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type SourceRef } from "../../sources/source.ts";
import { type ReleaseList } from "./releases.ts";
import { type Clock, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { Turns } from "../../util/turns.ts";

/** Ten times the largest core that we know of. Each takes as much memory as it took in the cache before. */
const vanishedMax = 100_000;
/** Between two looks at what still cannot be made again. */
const lookEveryMs = 15_000;

/** Namespaces in a look. Three requests each: a core that has lost a thousand is asked 20 times a second. */
const namespacesMax = 100;

export interface Vanished {
  readonly source: SourceRef;
  /** Its last state that was watched. */
  readonly stored: StoredProtector;
  readonly sinceMs: MonotonicMs;
}

export interface VanishedProtectorsOptions {
  readonly protectors: Informer<StoredProtector>;
  /** The source that a PodProtector was generated for, if this generator works for its kind. */
  readonly sourceOf: (protector: PodProtector) => SourceRef | undefined;
  readonly releases: Pick<ReleaseList, "fateOf" | "keepUp">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class VanishedProtectors {
  readonly #options: VanishedProtectorsOptions;
  /** By key, the one that vanished first before the others. */
  readonly #vanished = new Map<ObjectKey, Vanished>();
  readonly #turns = new Turns(namespacesMax);

  constructor(options: VanishedProtectorsOptions) {
    this.#options = options;
    options.protectors.subscribe({ onEvent: (event) => this.#watched(event) });
  }

  get size(): number {
    return this.#vanished.size;
  }

  get(key: ObjectKey): Vanished | undefined {
    return this.#vanished.get(key);
  }

  /**
   * Of one that a live read has not found: also what the watch still shows, which was erased while it was away. Its
   * deletion by hand may be unseen as well.
   */
  absent(key: ObjectKey): Vanished | undefined {
    return this.#vanished.get(key) ?? this.#erasedUnseen(key);
  }

  values(): Iterable<Vanished> {
    return this.#vanished.values();
  }

  /** It has been made again, or was let go. */
  forget(key: ObjectKey): void {
    this.#vanished.delete(key);
  }

  /**
   * Looks now and then at what is still absent, until the signal aborts: forgets what was let go, or may have been
   * unseen, and then calls `onLook` with one of each namespace, to be tried again; if these are many, they take turns.
   */
  async observe(onLook: (vanished: readonly Vanished[]) => void, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lookEveryMs, signal);
      if (signal.aborted) return;
      try {
        await this.#options.releases.keepUp(signal);
        await this.#forgetLetGo(signal);
      } catch (err) {
        if (!isKubeError(err)) throw err;
        logger.verbose(2, "Cannot read the list of releases, trying again", { err });
      }
      if (this.#vanished.size > 0) onLook(this.#oneOfSomeNamespaces());
    }
  }

  async #forgetLetGo(signal: AbortSignal): Promise<void> {
    for (const one of this.#vanished.values())
      if ((await this.fateOf(one, signal)) !== "lost") this.forget(one.stored.key);
  }

  /** As ReleaseList.fateOf. What may have been released is not made again, which a line of the log says. */
  async fateOf({ stored, sinceMs }: Vanished, signal: AbortSignal): ReturnType<ReleaseList["fateOf"]> {
    const { releases, logger } = this.#options;
    const fate = await releases.fateOf(stored.uid, sinceMs, signal);
    if (fate === "unknown")
      logger.warn("PodProtector is gone and may have been released while the core was out of reach, not made again", {
        podProtector: stored.key,
      });
    return fate;
  }

  #oneOfSomeNamespaces(): readonly Vanished[] {
    const byNamespace = new Map([...this.#vanished].map(([key, one]) => [partsOf(key).namespace, one]));
    return this.#turns.next(byNamespace.keys()).flatMap((namespace) => byNamespace.get(namespace) ?? []);
  }

  #erasedUnseen(key: ObjectKey): Vanished | undefined {
    const { protectors, sourceOf, clock } = this.#options;
    const stored = protectors.get(key);
    if (stored === undefined || !isOurs(stored.protector) || isReleased(stored.protector)) return undefined;
    const source = sourceOf(stored.protector);
    if (source === undefined) return undefined;
    return { source, stored, sinceMs: clock.monotonicMs() };
  }

  #watched(event: InformerEvent<StoredProtector>): void {
    const { object } = event;
    const source = this.#options.sourceOf(object.protector);
    if (source === undefined) return;
    this.#vanished.delete(object.key);
    if (event.type !== "deleted" || !isOurs(object.protector) || isReleased(object.protector)) return;
    const { clock, logger } = this.#options;
    this.#vanished.set(object.key, { source, stored: object, sinceMs: clock.monotonicMs() });
    if (this.#vanished.size <= vanishedMax) return;
    const oldest = this.#vanished.keys().next();
    if (oldest.done === true) return;
    this.#vanished.delete(oldest.value);
    logger.error("More PodProtectors vanished than are remembered, forgetting the first", {
      podProtector: oldest.value,
    });
  }
}

/** Whether this generator keeps it, so that its absence alone means nothing. Without a floor it is not missed. */
function isOurs(protector: PodProtector): boolean {
  return protector.metadata.annotations?.[annotations.generated] !== undefined && !neverHadFloor(protector);
}

/** Whether nothing is left to be done for its end: only finalizers of others keep it. */
export function isFinished({ protector }: StoredProtector): boolean {
  const { deletionTimestamp, finalizers = [] } = protector.metadata;
  return isReleased(protector) && deletionTimestamp !== undefined && !finalizers.includes(finalizer);
}
