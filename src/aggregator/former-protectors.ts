/**
 * The PodProtectors that are gone although the generator has not released them. One that is made again under such a
 * name begins with counts in which what was admitted on the former one may be missing
 * (docs/accounting.md#re-made-objects). Lost on a restart; webhooks remember it as well.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import { type StoredProtector } from "../kube/resources.ts";

/** A core that has lost all PodProtectors of a large fleet. Beyond it the oldest are forgotten. */
const formersMax = 100_000;

export class FormerProtectors {
  /** UIDs by name, the oldest first. */
  readonly #uids = new Map<ObjectKey, string>();

  /** It is gone; `last` is its last watched state. */
  left({ key, uid, protector }: StoredProtector): void {
    this.#uids.delete(key);
    if (Object.hasOwn(protector.metadata.annotations ?? {}, annotations.released)) return;
    this.#uids.set(key, uid);
    const oldest = this.#uids.keys().next();
    if (this.#uids.size > formersMax && oldest.done !== true) this.#uids.delete(oldest.value);
  }

  /** A PodProtector has appeared: whether another one of its name was not released. */
  isRemade({ key, uid }: StoredProtector): boolean {
    const former = this.#uids.get(key);
    this.#uids.delete(key);
    return former !== undefined && former !== uid;
  }
}
