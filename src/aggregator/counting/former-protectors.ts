/**
 * The PodProtectors that are gone although the generator has not released them. One that is made again under such a
 * name begins with counts in which what was admitted on the former one may be missing
 * (docs/accounting.md#re-made-objects). Lost on a restart; webhooks remember it as well.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type MonotonicMs } from "../../util/clock.ts";

/** A core that has lost all PodProtectors of a large fleet. Beyond it the oldest are forgotten. */
const formersMax = 100_000;

interface Former {
  readonly uid: string;
  /** Nothing was admitted on it after this moment; undefined = nobody has seen its deletion. */
  readonly deletedAtMs: MonotonicMs | undefined;
}

export class FormerProtectors {
  /** By name, the oldest first. */
  readonly #formers = new Map<ObjectKey, Former>();

  /** It is gone; `last` is its last watched state. `deletedAtMs` = now, or undefined where it is only absent. */
  left({ key, uid, protector }: StoredProtector, deletedAtMs: MonotonicMs | undefined): void {
    this.#formers.delete(key);
    if (Object.hasOwn(protector.metadata.annotations ?? {}, annotations.released)) return;
    this.#formers.set(key, { uid, deletedAtMs });
    const oldest = this.#formers.keys().next();
    if (this.#formers.size > formersMax && oldest.done !== true) this.#formers.delete(oldest.value);
  }

  /**
   * A PodProtector has appeared: since when what was admitted on another one of its name, which was not released, is to
   * be waited for; undefined = there was none. A generator of the Go original deletes without a mark, and days later
   * nothing of that is left.
   */
  appeared({ key, uid }: StoredProtector, nowMs: MonotonicMs): MonotonicMs | undefined {
    const former = this.#formers.get(key);
    this.#formers.delete(key);
    return former === undefined || former.uid === uid ? undefined : (former.deletedAtMs ?? nowMs);
  }
}
