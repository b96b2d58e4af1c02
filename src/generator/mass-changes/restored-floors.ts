/**
 * A core that is restored from a backup brings the former sources and the former PodProtectors at once. They agree,
 * so nothing asks for a lower floor, and the floors of last week would be in force without anybody's having judged
 * them. What this process saw before the restore tells that they fell.
 */
import { type ObjectKey, objectKey } from "../../api/object-key.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, type MonotonicMs } from "../../util/clock.ts";
import { windowMicros } from "./floor-before.ts";

/** All PodProtectors of a large core. */
const entriesMax = 50_000;

interface Before {
  readonly uid: string;
  readonly minAvailable: number;
  readonly seenAtMs: MonotonicMs;
}

export class RestoredFloors {
  readonly #clock: Clock;
  readonly #before = new Map<ObjectKey, Before>();

  constructor(protectors: Informer<StoredProtector>, clock: Clock) {
    this.#clock = clock;
    protectors.subscribe({ onEvent: (event) => this.#observe(event) });
  }

  /** With the floor that it had before a restore; the very same object where no restore has lowered it. */
  asBefore(stored: StoredProtector): StoredProtector {
    const { protector, key, uid } = stored;
    const before = this.#before.get(key);
    if (before?.uid !== uid || protector.spec.minAvailable >= before.minAvailable) return stored;
    return { ...stored, protector: { ...protector, spec: { ...protector.spec, minAvailable: before.minAvailable } } };
  }

  /** Whether a restore has lowered its floor, and that was not judged yet. */
  has({ metadata }: PodProtector): boolean {
    return this.#before.get(objectKey(metadata.namespace, metadata.name))?.uid === metadata.uid;
  }

  /** The floor of the backup is in force now. */
  forget({ metadata }: PodProtector): void {
    this.#before.delete(objectKey(metadata.namespace, metadata.name));
  }

  /** A new term begins. Another leader has judged by now what is older than the window. */
  forgetOld(): void {
    const oldestMs = this.#clock.monotonicMs() - windowMicros / 1_000;
    for (const [key, { seenAtMs }] of this.#before) if (seenAtMs < oldestMs) this.#before.delete(key);
  }

  #observe(event: InformerEvent<StoredProtector>): void {
    const { key, uid, protector } = event.object;
    if (event.type !== "modified") return void this.#before.delete(key);
    const { metadata, spec } = protector;
    const before = this.#before.get(key);
    // Edits only ever raise it. So does the API server of a restored core for what is edited after that.
    const isBackThen = (metadata.generation ?? 0) < (event.previous.protector.metadata.generation ?? 0);
    const former = event.previous.protector.spec.minAvailable;
    if (isBackThen && spec.minAvailable < former && (before?.minAvailable ?? 0) < former) {
      this.#before.set(key, { uid, minAvailable: former, seenAtMs: this.#clock.monotonicMs() });
      const oldest = this.#before.keys().next();
      if (this.#before.size > entriesMax && oldest.done !== true) this.#before.delete(oldest.value);
    } else if (before !== undefined && spec.minAvailable >= before.minAvailable) this.#before.delete(key);
  }
}
