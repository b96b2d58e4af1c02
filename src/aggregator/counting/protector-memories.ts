/**
 * What is remembered of each PodProtector (accounting/count/protector-memory.ts), and of those that are gone although
 * the generator has not released them. One that is made again under such a name begins with counts in which what was
 * admitted on the former one may be missing (docs/accounting.md#re-made-objects). Lost on a restart; webhooks remember
 * it as well.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { compareResourceVersions } from "../../api/resource-version.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type Birth, type Bucket, isOlder } from "../../api/v1alpha1/pod-protector.ts";
import { type MemoryScope, ProtectorMemory } from "../../accounting/count/protector-memory.ts";
import { type InformerEvent } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { longAgo, type MonotonicMs } from "../../util/clock.ts";

/** A core that has lost all PodProtectors of a large fleet. Beyond it the oldest are forgotten. */
const formersMax = 100_000;

interface Former {
  readonly uid: string;
  readonly birth: Birth;
  /** Nothing was admitted on it after this moment; undefined = nobody has seen its deletion. */
  readonly deletedAtMs: MonotonicMs | undefined;
}

export class ProtectorMemories {
  readonly #scope: { -readonly [Key in keyof MemoryScope]: MemoryScope[Key] };
  readonly #memories = new Map<ObjectKey, ProtectorMemory>();
  /** By name, the oldest first. */
  readonly #formers = new Map<ObjectKey, Former>();

  constructor(scope: Pick<MemoryScope, "cellID" | "marks">) {
    this.#scope = { ...scope, blindUntilMs: longAgo };
  }

  get size(): number {
    return this.#memories.size;
  }

  get(key: ObjectKey): ProtectorMemory | undefined {
    return this.#memories.get(key);
  }

  keys(): Iterable<ObjectKey> {
    return this.#memories.keys();
  }

  values(): Iterable<ProtectorMemory> {
    return this.#memories.values();
  }

  /** The unsettled admissions of this cell, by PodProtector. */
  *histories(): Iterable<readonly Bucket[]> {
    for (const memory of this.#memories.values()) yield memory.buckets();
  }

  /**
   * Those that want pods to stay, and match none: not in this cell, by `countsNone`, nor in another one, by their
   * status. A workload that is scaled to 0 has no floor.
   */
  *matchingNothing(countsNone: (key: ObjectKey) => boolean): Iterable<ObjectKey> {
    for (const [key, { newest }] of this.#memories) {
      const { spec, status } = newest.protector;
      if (spec.minAvailable > 0 && (status?.summary.totalReplicas ?? 0) === 0 && countsNone(key)) yield key;
    }
  }

  /**
   * An event of the watch, of an object that is there.
   * @param selectorText canonical text of its last valid counting selector, if any
   * @returns whether it went back to an older version: the core was restored
   */
  watched(
    event: Exclude<InformerEvent<StoredProtector>, { type: "deleted" }>,
    selectorText: string | undefined,
    nowMs: MonotonicMs,
  ): boolean {
    const { object } = event;
    const memory = this.#memories.get(object.key);
    if (memory?.uid === object.uid) {
      const wentBack =
        event.type === "modified" &&
        compareResourceVersions(object.resourceVersion, event.previous.resourceVersion) < 0;
      memory.watched(object, selectorText, wentBack, nowMs);
      return wentBack;
    }
    const created = new ProtectorMemory(object, selectorText, this.#scope, nowMs);
    const former = this.#formerOf(object);
    if (former !== undefined) created.remade(former.deletedAtMs ?? nowMs);
    // It comes from a backup of the core, and what was admitted since is not in it.
    if (former !== undefined && isOlder(object.protector.metadata, former.birth)) created.broughtBack(nowMs);
    this.#memories.set(object.key, created);
    return false;
  }

  /** They were listed, and some may have come and gone unseen before. */
  listed(nowMs: MonotonicMs): void {
    this.#scope.blindUntilMs = nowMs;
  }

  /** It is gone; `last` is its last watched state. `deletedAtMs` = now, or undefined where it is only absent. */
  left({ key, uid, protector }: StoredProtector, deletedAtMs: MonotonicMs | undefined): void {
    this.#memories.delete(key);
    this.#formers.delete(key);
    if (Object.hasOwn(protector.metadata.annotations ?? {}, annotations.released)) return;
    const { creationTimestamp } = protector.metadata;
    this.#formers.set(key, { uid, birth: { creationTimestamp }, deletedAtMs });
    const oldest = this.#formers.keys().next();
    if (this.#formers.size > formersMax && oldest.done !== true) this.#formers.delete(oldest.value);
  }

  /**
   * Another object of this name, which was not released; undefined = there was none. A generator of the Go original
   * deletes without a mark, and days later nothing of that is left.
   */
  #formerOf({ key, uid }: StoredProtector): Former | undefined {
    const former = this.#formers.get(key);
    this.#formers.delete(key);
    return former?.uid === uid ? undefined : former;
  }
}
