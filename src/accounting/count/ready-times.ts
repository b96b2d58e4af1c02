/**
 * Since when pods have been Ready, as far as it can be believed (docs/accounting.md#ready-times). The time of the
 * condition is the clock of the pod's node. One that is ahead of ours cannot be true, and one that is missing tells
 * nothing: such a pod has been Ready since it was first seen so with this very time, by our monotonic clock.
 *
 * What was seen is not written down. The recorded counts say enough for a successor: where they call every Ready pod
 * available, each pod that has not changed since then was.
 */
import { type PodRecord } from "../../api/pod.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { earlierOf, type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";

/** NTP keeps clocks within a fraction of a second, and times of conditions have whole ones. */
const aheadMicrosMax = 5_000_000;

/** Whether a Ready time tells by the clock `now` how long its pod has been Ready. */
export function tellsAge(readySince: EpochMicros | undefined, now: EpochMicros): readySince is EpochMicros {
  return readySince !== undefined && readySince <= now + aheadMicrosMax;
}

/** Pods that are vouched for were available by this minReadySeconds at this version of the snapshot. */
export interface Vouched {
  readonly version: ResourceVersion;
  readonly minReadySeconds: number;
}

/**
 * What recorded counts of the present spec vouch for: every Ready pod of their snapshot, if they call all of them
 * available. By no clock, so that of whoever counted does not matter. Undefined: nothing, as of counts of a Go
 * aggregator.
 */
export function vouchedBy(
  recorded: Aggregation | undefined,
  countedSpec: string | undefined,
  minReadySeconds: number,
): Vouched | undefined {
  const { resourceVersion: version, availableReplicas, readyReplicas } = recorded ?? {};
  if (version === undefined || recorded?.countedSpec !== countedSpec) return undefined;
  return availableReplicas === readyReplicas ? { version, minReadySeconds } : undefined;
}

/** What was seen of a pod whose time does not tell. */
interface Seen {
  readonly readySince: EpochMicros | undefined;
  sinceMs: MonotonicMs;
}

/** Remembers as many pods at most as are in the cell. */
export class ReadyTimes {
  readonly #seen = new Map<string, Seen>();
  readonly #onDoubted: (pod: PodRecord) => void;

  /** @param onDoubted called once for each Ready time that is ahead of our clock when it is first seen */
  constructor(onDoubted: (pod: PodRecord) => void) {
    this.#onDoubted = onDoubted;
  }

  /**
   * Since when the pod has been Ready; undefined when it is not. To be asked at each event of a pod, too, or what was
   * seen begins later.
   * @param vouched of counts of which the pod is one
   */
  since(pod: PodRecord, now: EpochMicros, nowMs: MonotonicMs, vouched?: Vouched): EpochMicros | undefined {
    const { readySince } = pod;
    const seen = this.#find(pod, now, nowMs);
    if (seen === undefined) return pod.isReady ? readySince : undefined;
    if (vouched !== undefined && compareResourceVersions(pod.resourceVersion, vouched.version) <= 0)
      seen.sinceMs = earlierOf(seen.sinceMs, later(nowMs, -1000 * vouched.minReadySeconds));
    return earlierOf(readySince, Math.floor(now - 1000 * (nowMs - seen.sinceMs)) as EpochMicros);
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }

  #find(pod: PodRecord, now: EpochMicros, nowMs: MonotonicMs): Seen | undefined {
    const { uid, readySince } = pod;
    const known = this.#seen.get(uid);
    // A time that has come meanwhile is no younger for that.
    if (pod.isReady && known !== undefined && known.readySince === readySince) return known;
    if (!pod.isReady || tellsAge(readySince, now)) {
      this.#seen.delete(uid);
      return undefined;
    }
    const seen = { readySince, sinceMs: nowMs };
    this.#seen.set(uid, seen);
    if (readySince !== undefined) this.#onDoubted(pod);
    return seen;
  }
}
