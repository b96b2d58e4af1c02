/**
 * The watch of the cell's pods: how far the snapshot has come, which barriers it has passed, and whether its versions
 * still belong to the worker's present history (docs/kubernetes.md#resource-versions).
 *
 * A history is reset when the worker's etcd is restored from a backup. From the moment that a barrier shows this until
 * pods have been listed again there is no usable snapshot.
 */
import { type PodRecord } from "../../api/pod.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type Snapshot } from "../../accounting/settle/settlement.ts";
import { type SyncTime } from "../../accounting/settle/sync-time.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type Clock, type EpochMicros, type MonotonicMs } from "../../util/clock.ts";
import { wallClockOffsetMs } from "../../util/suspensions.ts";
import { type BarrierOptions, BarrierTracker } from "./barrier.ts";
import { CellPods, type ReadyTimeHandler } from "./cell-pods.ts";

/** What the owner does about news of the cell. */
export interface CellHandler extends ReadyTimeHandler {
  /** A pod has changed; the snapshot shows it. */
  onPodEvent(event: InformerEvent<PodRecord>): void;
  /** The snapshot has moved. */
  onProgress(): void;
  /** The snapshot has passed a newer barrier. */
  onBarrierPassed(): void;
  /** A list was older than what the watch had delivered: from a server that lags, or after a reset. */
  onWentBack(version: ResourceVersion): void;
  /** The worker's history was reset; pods are listed again after this call. */
  onHistoryReset(details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }): void;
  /** The pods of the new history have been listed. */
  onListedAfterReset(): void;
  /** The wall clock was set by `stepMs` (negative = back): which pods are available must be computed again. */
  onWallClockSet(stepMs: number): void;
}

export interface CellWatchOptions {
  readonly pods: Informer<PodRecord>;
  readonly syncTime: SyncTime;
  readonly barriers: Pick<BarrierOptions, "list" | "onWaiting" | "onError" | "onErrorsOver">;
  readonly clock: Clock;
  readonly handler: CellHandler;
}

/**
 * Smallest step of the wall clock that is reported. Slewing by NTP (at most half a millisecond a second) adds up to
 * this in half an hour; minReadySeconds has no finer unit.
 */
const wallClockStepMsMin = 1000;

export class CellWatch {
  readonly #options: CellWatchOptions;
  readonly #pods: CellPods;
  /** LIST barriers of the pods. Sent while leading. */
  readonly barriers: BarrierTracker;
  #podsStartedAtMs: MonotonicMs | undefined;
  /** When a reset of the history was found, until the new list has arrived. */
  #resetAtMs: MonotonicMs | undefined;
  #wallClockOffsetMs: number;

  constructor(options: CellWatchOptions) {
    const { pods, barriers, clock, handler } = options;
    this.#options = options;
    this.#wallClockOffsetMs = wallClockOffsetMs(clock);
    this.#pods = new CellPods(options);
    this.barriers = new BarrierTracker({
      ...barriers,
      clock,
      relist: () => pods.relist({ isPaced: true }),
      onPassed: () => {
        this.#pods.barrierPassed(this.barriers.passedSentAtMs);
        handler.onBarrierPassed();
      },
      onWentBack: (version) => handler.onWentBack(version),
      onHistoryReset: (details) => this.#historyReset(details),
    });
    pods.subscribe({
      onEvent: (event) => {
        this.#pods.apply(event);
        handler.onPodEvent(event);
      },
      onProgress: (version) => this.#progressed(version),
      onListed: (first) => this.#listed(first),
    });
  }

  /**
   * Call right before the pod informer runs, with the PodProtectors synced: its first list is consistent, and so a
   * barrier.
   */
  podsStarting(): void {
    this.#podsStartedAtMs = this.#options.clock.monotonicMs();
  }

  /** The version of the snapshot; undefined while there is none that is usable. */
  version(): ResourceVersion | undefined {
    return this.#resetAtMs === undefined ? this.#pods.version() : undefined;
  }

  /** The snapshot to count and settle by, as it is now; undefined while there is none that is usable. */
  snapshot(): Snapshot | undefined {
    return this.#resetAtMs === undefined ? this.#pods.snapshot(this.barriers.passedSentAtMs) : undefined;
  }

  /** The newest moment that the snapshot certainly covers (docs/accounting.md#observed-time). */
  get lastEventTime(): EpochMicros | undefined {
    return this.#pods.lastEventTime;
  }

  get pods(): Pick<CellPods, "pick" | "byUID" | "readySince"> {
    return this.#pods;
  }

  #progressed(version: ResourceVersion): void {
    this.#checkWallClock();
    if (this.#resetAtMs !== undefined) return;
    this.barriers.progressed(version);
    this.#options.handler.onProgress();
  }

  #listed(first: boolean): void {
    this.#pods.listed();
    if (first && this.#podsStartedAtMs !== undefined) this.barriers.listed(this.#podsStartedAtMs);
    const resetAtMs = this.#resetAtMs;
    if (first || resetAtMs === undefined) return;
    this.#resetAtMs = undefined;
    const version = this.#pods.version();
    if (version !== undefined) this.#progressed(version);
    // The list was asked for after the reset was found, and is consistent, so it is a barrier. Without that, counts of
    // the former history would stay until something else happens in the cell.
    this.barriers.listed(resetAtMs);
    this.#options.handler.onListedAfterReset();
  }

  #historyReset(details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }): void {
    this.#resetAtMs = this.#options.clock.monotonicMs();
    this.barriers.reset();
    this.#options.handler.onHistoryReset(details);
    this.#options.pods.relist();
  }

  /**
   * Which pods are available is a comparison with the wall clock of their nodes, but waits run on the monotonic clock:
   * after a step the counts may be wrong, and wake-ups that were computed before may be hours off.
   */
  #checkWallClock(): void {
    const stepMs = wallClockOffsetMs(this.#options.clock) - this.#wallClockOffsetMs;
    if (Math.abs(stepMs) < wallClockStepMsMin) return;
    this.#wallClockOffsetMs += stepMs;
    this.#options.handler.onWallClockSet(stepMs);
  }
}
