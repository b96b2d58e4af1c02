/**
 * Small objects for the tests of the accounting. Each function makes a valid whole, of which a test names only what it
 * is about.
 */
import { type PodRecord } from "../../../src/api/pod.ts";
import { formatMicroTime, type MicroTime } from "../../../src/api/micro-time.ts";
import { compareResourceVersions, type ResourceVersion } from "../../../src/api/resource-version.ts";
import {
  type Aggregation,
  type Bucket,
  type CellStatus,
  type PodProtector,
} from "../../../src/api/v1alpha1/pod-protector.ts";
import { type OwnAggregation, ProtectorMemory } from "../../../src/accounting/count/protector-memory.ts";
import { RecountMarks } from "../../../src/accounting/count/recount-mark.ts";
import { FirstSeen } from "../../../src/accounting/settle/first-seen.ts";
import { type Disruption } from "../../../src/accounting/reserve/disruption.ts";
import { FenceRegistry } from "../../../src/accounting/settle/fence-registry.ts";
import { type ReservationContext } from "../../../src/accounting/reserve/reservation.ts";
import { type Settlement, settle } from "../../../src/accounting/settle/settlement.ts";
import { type Snapshot, type SnapshotPod } from "../../../src/accounting/settle/settlement.ts";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { digestOfUID, packDigests } from "../../../src/accounting/history/uid-digest.ts";
import { objectKey } from "../../../src/api/object-key.ts";
import { type EpochMicros, longAgo } from "../../../src/util/clock.ts";
import { at as ms } from "../../support/moment.ts";

/** A moment, in seconds after the tests' beginning of time. */
export const at = (seconds: number): EpochMicros => (1_767_225_600_000_000 + Math.round(seconds * 1e6)) as EpochMicros;
export const timeText = (seconds: number): MicroTime => formatMicroTime(at(seconds));
export const version = (number: number | string): ResourceVersion => String(number) as ResourceVersion;

/** A pod that has been Ready for long. */
export function pod(uid: string, changes: Partial<PodRecord> = {}): PodRecord {
  return {
    key: objectKey("default", uid),
    namespace: "default",
    name: uid,
    uid,
    resourceVersion: version(10),
    labels: {},
    isTerminating: false,
    isTerminal: false,
    isScheduled: true,
    isInitialized: true,
    isRunning: true,
    isReady: true,
    isUnseen: false,
    readySince: at(-3600),
    eventTime: undefined,
    workloadKind: undefined,
    controllerKind: undefined,
    ...changes,
  };
}

/** As it is believed where no clock is ahead. */
export const byOwnTime = ({ readySince }: PodRecord): EpochMicros | undefined => readySince;

/** Reads marks by a clock that stands at 50 seconds. */
export const marks = new RecountMarks({ now: () => at(50), onRefused: () => {} });

export const notReady = { isReady: false, readySince: undefined } as const;

export function disruption(
  uid: string,
  changes: Partial<Disruption> & { readonly as?: Partial<PodRecord> } = {},
): Disruption {
  const { as: podChanges, ...rest } = changes;
  return {
    operation: "delete",
    cellID: "a",
    pod: pod(uid, podChanges),
    criterion: "Available",
    isProtected: true,
    isForced: false,
    ...rest,
  };
}

export const single = (podUID: string, podVersion?: number | string, seconds = 0): Bucket => ({
  startTime: timeText(seconds),
  podUID,
  ...(podVersion === undefined ? {} : { podResourceVersion: version(podVersion) }),
});

/** Of an eviction that names the version. */
export const evicted = (podUID: string, podVersion: number | string, seconds = 0): Bucket => ({
  startTime: timeText(seconds),
  podUID,
  evictionResourceVersion: version(podVersion),
});

export const packed = (uids: readonly string[], podVersion: number): Bucket => ({
  startTime: timeText(0),
  endTime: timeText(1),
  counter: uids.length,
  podResourceVersion: version(podVersion),
  podUIDDigests: packDigests(uids.map(digestOfUID)),
});

export const anonymous = (counter: number): Bucket => ({ startTime: timeText(0), endTime: timeText(1), counter });

export function counts(available: number, changes: Partial<Aggregation> = {}): OwnAggregation {
  return {
    totalReplicas: available,
    availableReplicas: available,
    readyReplicas: available,
    scheduledReplicas: available,
    runningReplicas: available,
    initializedReplicas: available,
    resourceVersion: version(100),
    countedAt: timeText(0),
    countedSpec: "spec",
    ...changes,
  };
}

export function cell(aggregation: Aggregation | undefined, buckets: readonly Bucket[] = [], cellID = "a"): CellStatus {
  return {
    cellID,
    ...(aggregation === undefined ? {} : { aggregation }),
    admissionHistory: buckets.length === 0 ? {} : { buckets },
  };
}

export function protector(minAvailable: number, cells: readonly CellStatus[], minReadySeconds = 0): PodProtector {
  const spec = { minAvailable, minReadySeconds, selector: { matchLabels: { app: "web" } } };
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "web", namespace: "default", uid: "protector", resourceVersion: "1" },
    spec,
    status: { cells, summary: summarize(cells, spec) },
  };
}

export function context(changes: Partial<ReservationContext> = {}): ReservationContext {
  return {
    now: at(10),
    config: { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 },
    fill: { bytes: 0, buckets: 0 },
    held: new Map(),
    countedSpec: { isAnsweredBy: ({ countedSpec: answered }) => answered === undefined || answered === "spec" },
    requiresPodName: () => false,
    silentForMs: () => undefined,
    ...changes,
  };
}

/** Doubts whatever a cell has counted at or below this version. */
export function lostUpTo(lost: ResourceVersion, of = "a"): Pick<ReservationContext, "doubtOf"> {
  const isLater = (counted: ResourceVersion | undefined): boolean =>
    counted !== undefined && compareResourceVersions(counted, lost) > 0;
  return {
    doubtOf: ({ cellID, aggregation }) =>
      cellID === of && !isLater(aggregation?.resourceVersion) ? "lost" : undefined,
  };
}

export const livePod = (uid: string, podVersion: number, isTerminating = false): SnapshotPod => ({
  uid,
  resourceVersion: version(podVersion),
  isTerminating,
});

export function snapshot(pods: readonly SnapshotPod[], snapshotVersion: number, barrierSentAtMs = -Infinity): Snapshot {
  return {
    version: version(snapshotVersion),
    barrierSentAtMs: ms(barrierSentAtMs),
    find: (uid) => pods.find((one) => one.uid === uid),
    findByDigest: (digest) => pods.find((one) => digestOfUID(one.uid) === digest),
  };
}

export const settlementConfig = { settlementFenceDelayMs: 10_000, settleWindowMs: 75_000 } as const;

/** What is remembered of `protector`, whose cell "a" is `shown`, whatever was written. Its counts answer to "spec". */
export class SampleMemory extends ProtectorMemory {
  shown: CellStatus | undefined;
  /** Not yet while the first event is taken in, so that the first plan begins to wait. */
  spec: string | undefined = "spec";

  constructor(shown?: CellStatus, minReadySeconds = 30) {
    const sample = protector(2, [], minReadySeconds);
    const stored = {
      key: objectKey("default", "web"),
      uid: "protector",
      resourceVersion: version(1),
      protector: sample,
    };
    super(stored, "selector", { cellID: "a", marks, blindUntilMs: longAgo }, ms(0));
    this.shown = shown;
  }

  override cell(): CellStatus | undefined {
    return this.shown;
  }

  override countedSpec(): string | undefined {
    return this.spec;
  }

  /** What is recorded is this now, without an event. Returns how it is read. */
  show(aggregation: Aggregation | undefined): Aggregation | undefined {
    this.shown = aggregation === undefined ? undefined : cell(aggregation);
    return this.recorded();
  }

  /** As after a write of these counts. */
  counted(aggregation: OwnAggregation): this {
    this.wrote(this.newest, aggregation, ms(0));
    return this;
  }

  /** The core goes back. */
  restored(nowMs: number): this {
    this.watched(this.newest, "selector", true, ms(nowMs));
    return this;
  }
}

/** An aggregator's view of one cell: what it has seen of the buckets and what it knows of fences. */
export class Bench {
  readonly firstSeen = new FirstSeen();
  readonly fences = new FenceRegistry(settlementConfig.settlementFenceDelayMs, settlementConfig.settleWindowMs);
  buckets: readonly Bucket[] = [];

  see(buckets: readonly Bucket[], nowMs: number, continuous = true): this {
    this.buckets = buckets;
    this.firstSeen.observe(buckets, ms(nowMs), continuous);
    return this;
  }

  settle(nowMs: number, seen: Snapshot): Settlement {
    const { buckets, firstSeen, fences } = this;
    return settle({ buckets, firstSeen, snapshot: seen, fences, config: settlementConfig, nowMs: ms(nowMs) });
  }

  /** A fence that is answered at once. */
  fence(uid: string, nowMs: number, podVersion: number): void {
    this.fences.sending(uid, ms(nowMs));
    this.fences.answered(uid, ms(nowMs), version(podVersion));
  }
}
