/** The pods of the whole cell as settlement sees them: by UID, by digest, with the version and the newest moment that they prove. */
import { type PodRecord } from "../api/pod.ts";
import { type ResourceVersion } from "../api/resource-version.ts";
import { type Snapshot } from "../core/snapshot.ts";
import { digestOfUID } from "../core/uid-digest.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { type Clock, type EpochMicros } from "../util/clock.ts";

export class CellPods {
  readonly #informer: Informer<PodRecord>;
  readonly #clock: Pick<Clock, "epochMicros">;
  readonly #byUID = new Map<string, PodRecord>();
  /** Built when the first packed bucket asks: most cells never have one, and hashing 100,000 UIDs takes a tenth of a second. */
  #uidByDigest: Map<string, string> | undefined;
  #lastEventTime: EpochMicros | undefined;

  constructor(informer: Informer<PodRecord>, clock: Pick<Clock, "epochMicros">) {
    this.#informer = informer;
    this.#clock = clock;
  }

  /** Applies an event of the informer. */
  apply(event: InformerEvent<PodRecord>): void {
    const { object: pod } = event;
    if (event.type === "deleted") {
      this.#byUID.delete(pod.uid);
      this.#uidByDigest?.delete(digestOfUID(pod.uid));
      return;
    }
    this.#byUID.set(pod.uid, pod);
    if (event.type === "added") this.#uidByDigest?.set(digestOfUID(pod.uid), pod.uid);
    if (pod.eventTime !== undefined) this.covers(pod.eventTime);
  }

  /** Everything up to `time`, but at most until now, is in the snapshot. Annotations of pods can claim any time. */
  covers(time: EpochMicros): void {
    const now = this.#clock.epochMicros();
    const before = this.#lastEventTime;
    const covered = Math.min(time, now) as EpochMicros;
    // What lies ahead was taken from a clock that has been set back since.
    if (before === undefined || covered > before || before > now) this.#lastEventTime = covered;
  }

  /** Undefined until the initial list is complete. */
  version(): ResourceVersion | undefined {
    return this.#informer.version();
  }

  get lastEventTime(): EpochMicros | undefined {
    return this.#lastEventTime;
  }

  get(key: string): PodRecord | undefined {
    return this.#informer.get(key);
  }

  byUID(uid: string): PodRecord | undefined {
    return this.#byUID.get(uid);
  }

  /** The snapshot as it is now; undefined until the initial list is complete. */
  snapshot(barrierSentAtMs: number): Snapshot | undefined {
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
