/**
 * What former leaders have left: latches and approvals (latches.ts), the list of releases, and the floors that they
 * lowered, by the annotations floor-before. It is read before the first judgement of a term; nothing that lowers a
 * floor passes before. The floors are listed live: a watch that has fallen silent without breaking would hide all that
 * a former leader did meanwhile, and its half of a mass change would not count.
 */
import { type GeneratorState, type Release } from "../../kube/generator-state.ts";
import { isKubeError, type KubeClient } from "../../kube/kube-client.ts";
import { type Clock, type EpochMicros, later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { type Cause, causeOfLowered, causeOfSwitch, type CountingRule } from "./change.ts";
import { type CountedChange, namespacesCause } from "./change-window.ts";
import { type LatchBook } from "./latches.ts";
import { isInShadow } from "../../api/v1alpha1/names.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../kube/resources.ts";
import { isFollowing } from "../../sources/followed-protector.ts";
import { isGeneratedFor } from "../sources/source-plan.ts";
import { type NamespaceModes } from "../sources/namespace-modes.ts";
import { floorBeforeOf, isDeepFall } from "./floor-before.ts";
import { type Informer } from "../../kube/informer.ts";
import { listAll } from "../../kube/watch/index.ts";
import { compareResourceVersions } from "../../api/resource-version.ts";

/** After an answer of 403, whatever number of changes waits. */
const askAgainMs = 1_000;

export interface FormerTermOptions extends Pick<Known, "modes"> {
  readonly latches: Pick<LatchBook, "load" | "isUnread">;
  readonly lowered: Pick<LoweredFloors, "list">;
  readonly sources: Pick<SourceCaches, "get">;
  readonly rule: CountingRule;
  readonly clock: Clock;
  /** A change that a former leader let pass. `loweredUID`: of the PodProtector, where nothing is left of its floor. */
  readonly onChange: (change: CountedChange, loweredUID?: string) => void;
}

export class FormerTerm {
  readonly #options: FormerTermOptions;
  #reading: Promise<void> | undefined;
  #askAgainAtMs: MonotonicMs = longAgo;

  constructor(options: FormerTermOptions) {
    this.#options = options;
  }

  /** A term begins or ends. */
  clear(): void {
    this.#reading = undefined;
    this.#askAgainAtMs = longAgo;
  }

  /**
   * Resolves to 0 when it is read, which is done once in a term. While that is forbidden, which may last for a moment
   * only, resolves to the milliseconds after which to ask again. Throws KubeError.
   */
  async read(signal: AbortSignal): Promise<number> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#askAgainAtMs) return Math.ceil(this.#askAgainAtMs - nowMs);
    this.#reading ??= this.#read(signal);
    try {
      await this.#reading;
      return 0;
    } catch (error) {
      this.#reading = undefined;
      if (!isKubeError(error, "forbidden", "unauthorized")) throw error;
      this.#askAgainAtMs = later(this.#options.clock.monotonicMs(), askAgainMs);
      return askAgainMs;
    }
  }

  /** As `read`, and what was forbidden is tried again. False when it is not read. Never throws for operating errors. */
  async isRead(signal: AbortSignal): Promise<boolean> {
    const { latches } = this.#options;
    try {
      if ((await this.read(signal)) > 0) return false;
      if (latches.isUnread) this.#count(await latches.load(signal));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return false;
    }
    return true;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { latches, lowered, clock, onChange } = this.#options;
    this.#count(await latches.load(signal));
    for (const stored of await lowered.list(signal)) {
      const change = loweredBefore(stored, this.#options, clock.epochMicros());
      if (change !== undefined) onChange(change, change.endsProtection ? stored.uid : undefined);
    }
  }

  #count(state: GeneratorState | undefined): void {
    for (const change of releasedBefore(state?.releases ?? [])) this.#options.onChange(change);
  }
}

/** Of a hand-made PodProtector: the workloads that its floor follows are not known yet. */
const unknownCause = { text: "manager/unknown" };

/** Of a release that counts, in the list of releases. */
const countedCause = /^(?:owner|manager|namespace)\//;

export function releasedBefore(releases: readonly Release[]): readonly CountedChange[] {
  return releases.flatMap(({ digest, releasedAt: at, cause }) => {
    const applied = { at, endsProtection: true, isApplied: true };
    // Others did not count. Those of one namespace are one change.
    if (cause.startsWith(`${namespacesCause.text}/`)) return [{ id: cause, cause: namespacesCause.text, ...applied }];
    return countedCause.test(cause) ? [{ id: digest, cause, ...applied }] : [];
  });
}

export interface Known {
  readonly sources: { get(key: ObjectKey): SourceRecord | undefined };
  readonly modes: Pick<NamespaceModes, "switched">;
  readonly rule: CountingRule;
}

/** Undefined when its floor was not lowered far, and it was not put in shadow, or by what never counts. */
export function loweredBefore(stored: StoredProtector, known: Known, now: EpochMicros): CountedChange | undefined {
  const { protector, uid } = stored;
  const before = floorBeforeOf(protector, now);
  if (before === undefined) return undefined;
  const { minAvailable } = protector.spec;
  const isShadow = isInShadow(protector.metadata);
  const cause = isDeepFall(before.highest, minAvailable)
    ? loweredBy(stored, known)
    : isShadow
      ? shadowedBy(stored, known)
      : undefined;
  if (cause === undefined) return undefined;
  const endsProtection = minAvailable === 0 || isShadow;
  return { id: digestOfUID(uid), cause: cause.text, at: before.at, endsProtection, isApplied: true };
}

function loweredBy({ key, protector }: StoredProtector, { sources, rule }: Known): Pick<Cause, "text"> | undefined {
  const source = sources.get(key);
  if (source !== undefined && isGeneratedFor(protector, source)) return causeOfLowered(source, rule);
  return isFollowing(protector) ? unknownCause : undefined;
}

/** A hand-made one is in shadow by its own annotation. */
function shadowedBy({ key, protector }: StoredProtector, { sources, modes, rule }: Known): Cause | undefined {
  const source = sources.get(key);
  if (source === undefined || !isGeneratedFor(protector, source)) return undefined;
  const switched = modes.switched(source.namespace, "shadow");
  return switched && causeOfSwitch(switched, rule);
}

export interface LoweredFloorsOptions {
  readonly core: KubeClient;
  /** In which PodProtectors are watched; undefined = all. */
  readonly namespace: string | undefined;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
  readonly clock: Clock;
}

export class LoweredFloors {
  readonly #options: LoweredFloorsOptions;

  constructor(options: LoweredFloorsOptions) {
    this.#options = options;
  }

  /**
   * PodProtectors whose annotation floor-before is of the last ten minutes, each as it was listed now, or as the cache
   * has it where that is newer. Objects that cannot be read are left out, as in the cache. Throws KubeError.
   */
  async list(signal: AbortSignal): Promise<readonly StoredProtector[]> {
    const { core, namespace, protectors, clock } = this.#options;
    const now = clock.epochMicros();
    // Only these are kept: a large core has many pages of others.
    const found: StoredProtector[] = [];
    const onItem = (raw: unknown): void => {
      const read = readProtector(raw);
      if (!read.ok) return;
      const newest = newer(read.stored, protectors.get(read.stored.key));
      if (floorBeforeOf(newest.protector, now) !== undefined) found.push(newest);
    };
    await listAll(core, { resource: podProtectors, namespace }, onItem, { signal });
    return found;
  }
}

function newer(listed: StoredProtector, cached: StoredProtector | undefined): StoredProtector {
  if (cached?.uid !== listed.uid) return listed;
  return compareResourceVersions(cached.resourceVersion, listed.resourceVersion) > 0 ? cached : listed;
}
