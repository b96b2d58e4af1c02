/**
 * What is known of a source and its PodProtector (decide.ts): by the caches, which are always there and may lag, or by
 * live reads. A source that nothing has been made for yet is not read: the first write to it, our finalizer, holds only
 * for the version that the cache has. A core with 20,000 workloads has its first PodProtectors a quarter sooner by
 * that, since the rate of the client is what bounds it.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { isInShadow } from "../api/v1alpha1/names.ts";
import { type Informer } from "../kube/informer.ts";
import { KubeError } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type SourceRecord, type SourceRef } from "../sources/source.ts";
import { type Known } from "./decide.ts";
import { type HeldChanges } from "./mass-changes/held-changes.ts";
import { type DanglingProtectors } from "./protectors/dangling-protectors.ts";
import { type NameHolder, type ProtectorLifecycle } from "./protectors/protector-lifecycle.ts";
import { type ReleaseList } from "./protectors/releases.ts";
import { type Vanished, type VanishedProtectors } from "./protectors/vanished-protectors.ts";
import { type NamespaceModes } from "./sources/namespace-modes.ts";
import { type SourceCaches } from "./sources/source-caches.ts";
import { isGuarded, needsNoFinalizer, type WantedProtectors } from "./sources/source-choice.ts";
import { isGeneratedFor } from "./sources/source-plan.ts";

export interface FactsOptions {
  readonly sources: Pick<SourceCaches, "get" | "isKnown" | "refOf">;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
  readonly modes: Pick<NamespaceModes, "isCurrent" | "of">;
  readonly wanted: WantedProtectors;
  readonly vanished: VanishedProtectors;
  readonly dangling: DanglingProtectors;
  readonly releases: Pick<ReleaseList, "isListed">;
  readonly changes: Pick<HeldChanges, "beforeRestore">;
  readonly lifecycle: Pick<ProtectorLifecycle, "guardCached" | "nameHolder" | "readSource">;
}

export class Facts {
  readonly #options: FactsOptions;

  constructor(options: FactsOptions) {
    this.#options = options;
  }

  /** The source of this PodProtector, by what is known of either; undefined for other kinds and hand-made ones. */
  refOf(key: ObjectKey): SourceRef | undefined {
    const { sources, protectors, vanished } = this.#options;
    const stored = protectors.get(key);
    const generatedFor = stored && sources.refOf(stored.protector);
    return sources.get(key) ?? generatedFor ?? vanished.get(key)?.source;
  }

  /** As the caches have it. `key`: of the PodProtector. */
  cached(key: ObjectKey, ref: SourceRef): Known {
    const { sources, protectors, vanished } = this.#options;
    const stored = protectors.get(key);
    const lost = stored === undefined ? vanished.get(key) : undefined;
    const source = sources.isKnown(ref.kind) ? sources.get(key) : undefined;
    return this.#known(key, holderOf(stored, ref), source ?? this.#absence(key, ref), lost);
  }

  /**
   * As it is now. The PodProtector is read first: if anybody changes it after the source was read, the writes that are
   * decided by this fail, since they hold for its version. Rejects with a KubeError.
   */
  async read(key: ObjectKey, ref: SourceRef, signal: AbortSignal): Promise<Known> {
    const { lifecycle, vanished } = this.#options;
    const holder = await lifecycle.nameHolder(ref, signal);
    const source = await this.#readSource(key, ref, holder.kind === "none", signal);
    // What the watch still shows was erased while it was away.
    const isAbsent = holder.kind === "none" && source !== undefined;
    const lost = holder.kind === "ours" ? undefined : isAbsent ? vanished.absent(key) : vanished.get(key);
    const known = this.#known(key, holder, source ?? this.#absence(key, ref), lost);
    if (!(await this.#isOfItsMode(known, ref, signal)))
      throw new KubeError("conflict", `the label of namespace ${ref.namespace} is not the one that was watched`);
    return known;
  }

  /** Of a mode that takes anything away: whether the namespace has it, by a live read. */
  async #isOfItsMode({ protector, source }: Known, { namespace }: SourceRef, signal: AbortSignal): Promise<boolean> {
    if (protector === undefined || typeof source === "string") return true;
    const mode = this.#options.modes.of(namespace, protector.protector);
    const isKept = mode !== "off" && (mode !== "shadow" || isInShadow(protector.protector.metadata));
    return isKept || (await this.#options.modes.isCurrent(namespace, signal));
  }

  #known(key: ObjectKey, holder: NameHolder, source: Known["source"], lost: Vanished | undefined): Known {
    const { wanted, changes, releases, dangling } = this.#options;
    const protector = holder.kind === "ours" ? holder.stored : lost?.stored;
    return {
      holder,
      source,
      lost,
      wanted: typeof source === "string" ? undefined : wanted.of(source, protector),
      protector: protector && changes.beforeRestore(protector),
      keeps: typeof source === "string" ? undefined : wanted.keeps(source, protector),
      isListed: protector !== undefined && releases.isListed(protector.uid),
      isTold: dangling.has(key),
      verdict: undefined,
    };
  }

  /** While the cache has it, it is not gone: its resource may have ceased to be served just now. */
  #absence(key: ObjectKey, { kind }: SourceRef): "gone" | "unknown" {
    const { sources } = this.#options;
    return sources.isKnown(kind) && sources.get(key) === undefined ? "gone" : "unknown";
  }

  /** Undefined when there is none, or its kind is not served. `isNameFree`: no PodProtector has just been found. */
  async #readSource(
    key: ObjectKey,
    ref: SourceRef,
    isNameFree: boolean,
    signal: AbortSignal,
  ): Promise<SourceRecord | undefined> {
    const { sources, lifecycle } = this.#options;
    // What is not served is not read: "not found" would say nothing of the object.
    if (!sources.isKnown(ref.kind)) return undefined;
    const cached = isNameFree ? this.#newSource(key) : undefined;
    const guarded = cached && (await lifecycle.guardCached(cached, signal));
    return guarded ?? (await lifecycle.readSource(ref, signal));
  }

  #newSource(key: ObjectKey): SourceRecord | undefined {
    const { sources, vanished, wanted } = this.#options;
    const source = sources.get(key);
    if (source === undefined || isGuarded(source) || needsNoFinalizer(source)) return undefined;
    return vanished.absent(key) === undefined && wanted.of(source, undefined) !== undefined ? source : undefined;
  }
}

function holderOf(stored: StoredProtector | undefined, ref: SourceRef): NameHolder {
  if (stored === undefined) return { kind: "none" };
  return isGeneratedFor(stored.protector, ref)
    ? { kind: "ours", stored, managedFields: undefined }
    : { kind: "foreign" };
}
