/**
 * Sources as they are now, not as a cache has them. One that nothing has been made for yet is not read: the first write
 * to it, our finalizer, holds only for the version that the cache has. A core with 20,000 workloads has its first
 * PodProtectors a quarter sooner by that, since the rate of the client is what bounds it.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { finalizer } from "../../api/v1alpha1/names.ts";
import { type SourceRecord, type SourceRef } from "../../sources/source.ts";
import { type ProtectorLifecycle } from "./protector-lifecycle.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { needsNoFinalizer } from "../sources/source-choice.ts";
import { protectorKeyOf } from "../sources/source-plan.ts";
import { type VanishedProtectors } from "./vanished-protectors.ts";

export interface PresentSourcesOptions {
  readonly sources: Pick<SourceCaches, "get" | "isKnown">;
  readonly vanished: Pick<VanishedProtectors, "absent">;
  readonly lifecycle: Pick<ProtectorLifecycle, "guardCached" | "readSource">;
  /** Whether a source that has no PodProtector asks for one. */
  readonly isWanted: (source: SourceRecord) => boolean;
}

export class PresentSources {
  readonly #options: PresentSourcesOptions;

  constructor(options: PresentSourcesOptions) {
    this.#options = options;
  }

  /**
   * The source as it is now; undefined when there is none, or its kind is not served. `isNameFree`: a live read has
   * just found no PodProtector of its name. Rejects with a KubeError.
   */
  async read(ref: SourceRef, isNameFree: boolean, signal: AbortSignal): Promise<SourceRecord | undefined> {
    const { sources, lifecycle } = this.#options;
    // What is not served is not read: "not found" would say nothing of the object.
    if (!sources.isKnown(ref.kind)) return undefined;
    const cached = isNameFree ? this.#newSource(protectorKeyOf(ref)) : undefined;
    const guarded = cached && (await lifecycle.guardCached(cached, signal));
    return guarded ?? (await lifecycle.readSource(ref, signal));
  }

  #newSource(key: ObjectKey): SourceRecord | undefined {
    const { sources, vanished, isWanted } = this.#options;
    const source = sources.get(key);
    if (source === undefined || source.finalizers.includes(finalizer) || needsNoFinalizer(source)) return undefined;
    return vanished.absent(key) === undefined && isWanted(source) ? source : undefined;
  }
}
