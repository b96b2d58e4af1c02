/**
 * PodProtectors that wait for news before they are aggregated again, by the news that they wait for:
 * - an event: the pod watch has moved (upstream's next-event pool);
 * - a barrier: the snapshot has passed a LIST barrier;
 * - a fence: the patch of one pod has been answered.
 *
 * One PodProtector may wait for several. Each kind of news hands out all that wait for it and ends their wait: the next
 * aggregation asks again for what it still needs. Waits for time alone are in the work queue.
 */
import { type ObjectKey } from "../../api/object-key.ts";

export interface WaitingSizes {
  /** PodProtectors that wait for the next event. */
  readonly event: number;
  /** PodProtectors that wait for a barrier. */
  readonly barrier: number;
  /** Pods whose fence a PodProtector waits for. */
  readonly fence: number;
}

export class Waiting {
  readonly #event = new Set<ObjectKey>();
  readonly #barrier = new Set<ObjectKey>();
  /** By pod UID. */
  readonly #fences = new Map<string, Set<ObjectKey>>();

  forEvent(key: ObjectKey): void {
    this.#event.add(key);
  }

  /** Any barrier that is passed ends this wait; whether it was sent late enough is decided by the next aggregation. */
  forBarrier(key: ObjectKey): void {
    this.#barrier.add(key);
  }

  /** For the answer to the fence of this pod. */
  forFence(podUID: string, key: ObjectKey): void {
    const keys = this.#fences.get(podUID);
    if (keys === undefined) this.#fences.set(podUID, new Set([key]));
    else keys.add(key);
  }

  /** Takes out what waited for an event, in the order of the waits, as do the next two. */
  eventCame(): readonly ObjectKey[] {
    return takeAll(this.#event);
  }

  barrierPassed(): readonly ObjectKey[] {
    return takeAll(this.#barrier);
  }

  fenceAnswered(podUID: string): readonly ObjectKey[] {
    const keys = this.#fences.get(podUID);
    this.#fences.delete(podUID);
    return keys === undefined ? [] : [...keys];
  }

  /** The PodProtector is gone. Its waits for fences stay: each ends soon, with the answer. */
  forget(key: ObjectKey): void {
    this.#event.delete(key);
    this.#barrier.delete(key);
  }

  clear(): void {
    this.#event.clear();
    this.#barrier.clear();
    this.#fences.clear();
  }

  sizes(): WaitingSizes {
    return { event: this.#event.size, barrier: this.#barrier.size, fence: this.#fences.size };
  }
}

function takeAll(keys: Set<ObjectKey>): readonly ObjectKey[] {
  const taken = [...keys];
  keys.clear();
  return taken;
}
