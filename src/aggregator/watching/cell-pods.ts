/**
 * The pods of the whole cell as settlement sees them, by UID and by digest, with the version of the snapshot and the
 * newest moment that it covers (docs/accounting.md#observed-time).
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { ReadyTimes, type Vouched } from "../../accounting/count/ready-times.ts";
import { type Snapshot } from "../../accounting/settle/settlement.ts";
import { type SyncTime } from "../../accounting/settle/sync-time.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type Clock, type EpochMicros, type MonotonicMs } from "../../util/clock.ts";

export interface ReadyTimeHandler {
  /** A Ready time is further ahead of our clock than can be true. Called once for each. */
  onReadyTimeDoubted(pod: PodRecord): void;
}

export interface CellPodsOptions {
  readonly pods: Informer<PodRecord>;
  readonly clock: Pick<Clock, "epochMicros" | "monotonicMs">;
  readonly syncTime: SyncTime;
  readonly handler: ReadyTimeHandler;
}

export class CellPods {
  readonly #informer: Informer<PodRecord>;
  readonly #clock: Pick<Clock, "epochMicros" | "monotonicMs">;
  readonly #syncTime: SyncTime;
  readonly #byUID = new Map<string, PodRecord>();
  /**
   * Built when the first packed bucket asks: most cells never have one, and hashing 100,000 UIDs takes a tenth of a
   * second.
   */
  #uidByDigest: Map<string, string> | undefined;
  #lastEventTime: EpochMicros | undefined;
  readonly #readyTimes: ReadyTimes;

  constructor({ pods, clock, syncTime, handler }: CellPodsOptions) {
    this.#informer = pods;
    this.#clock = clock;
    this.#syncTime = syncTime;
    this.#readyTimes = new ReadyTimes((pod) => handler.onReadyTimeDoubted(pod));
  }

  /** Applies an event of the informer. */
  apply(event: InformerEvent<PodRecord>): void {
    const { object: pod } = event;
    const now = this.#clock.epochMicros();
    this.#cover(this.#syncTime.ofEvent(event, now), now);
    if (event.type === "deleted") {
      this.#byUID.delete(pod.uid);
      this.#uidByDigest?.delete(digestOfUID(pod.uid));
      this.#readyTimes.forget(pod.uid);
      return;
    }
    this.#readyTimes.since(pod, now, this.#clock.monotonicMs());
    this.#byUID.set(pod.uid, pod);
    if (event.type === "added") this.#uidByDigest?.set(digestOfUID(pod.uid), pod.uid);
  }

  /** A list has been applied and its events delivered. */
  listed(): void {
    if (this.#informer.size > 0 || this.#lastEventTime !== undefined) return;
    this.#cover(this.#syncTime.ofEmptyList(this.#clock.epochMicros()));
  }

  /** A LIST barrier that was sent at this monotonic moment has been passed. */
  barrierPassed(sentAtMs: MonotonicMs): void {
    const agoMs = this.#clock.monotonicMs() - sentAtMs;
    this.#cover(this.#syncTime.ofBarrier(Math.round(this.#clock.epochMicros() - agoMs * 1000) as EpochMicros));
  }

  /** The snapshot includes everything up to `time`, but at most up to now: annotations of pods can claim any time. */
  #cover(time: EpochMicros | undefined, now = this.#clock.epochMicros()): void {
    if (time === undefined) return;
    const before = this.#lastEventTime;
    const covered = Math.min(time, now) as EpochMicros;
    // A covered time in the future comes from a clock that was set back since.
    if (before === undefined || covered > before || before > now) this.#lastEventTime = covered;
  }

  /** Undefined until the initial list is complete. */
  version(): ResourceVersion | undefined {
    return this.#informer.version();
  }

  get lastEventTime(): EpochMicros | undefined {
    return this.#lastEventTime;
  }

  /** Those of the keys that are there. */
  *pick(keys: Iterable<ObjectKey>): Iterable<PodRecord> {
    for (const key of keys) {
      const pod = this.#informer.get(key);
      if (pod !== undefined) yield pod;
    }
  }

  /** Since when the pod has been Ready, as far as that can be believed; undefined when it is not. */
  readySince(pod: PodRecord, vouched: Vouched | undefined): EpochMicros | undefined {
    return this.#readyTimes.since(pod, this.#clock.epochMicros(), this.#clock.monotonicMs(), vouched);
  }

  byUID(uid: string): PodRecord | undefined {
    return this.#byUID.get(uid);
  }

  /** The snapshot as it is now; undefined until the initial list is complete. */
  snapshot(barrierSentAtMs: MonotonicMs): Snapshot | undefined {
    const version = this.#informer.version();
    if (version === undefined) return undefined;
    return {
      version,
      barrierSentAtMs,
      find: (uid) => this.#byUID.get(uid),
      findByDigest: (digest) => this.#byUID.get(this.#digests().get(digest) ?? ""),
    };
  }

  #digests(): ReadonlyMap<string, string> {
    if (this.#uidByDigest === undefined) {
      this.#uidByDigest = new Map();
      for (const uid of this.#byUID.keys()) this.#uidByDigest.set(digestOfUID(uid), uid);
    }
    return this.#uidByDigest;
  }
}
