/**
 * A tiny world above the pure core: worker cells with versioned pods, reviews (also at stale versions), deletions in
 * flight that commit only at exactly the reviewed version, evictions that commit by name, and one or two aggregators
 * per cell that lag, restart, lose answers and overlap. After each admission it checks the floor of
 * docs/accounting.md#the-promise; its exceptions are not generated, except own unavailability, which is told apart
 * exactly.
 */
import assert from "node:assert/strict";
import { type PodRecord } from "../../../src/api/pod.ts";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import {
  type Aggregation,
  type Bucket,
  type CellStatus,
  type PodProtector,
} from "../../../src/api/v1alpha1/pod-protector.ts";
import { reserve } from "../../../src/accounting/reserve/reservation.ts";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { digestOfUID, unpackDigests } from "../../../src/accounting/history/uid-digest.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { at, context, counts, disruption, pod as samplePod, protector, timeText, version } from "./samples.ts";

/** Rules that a test switches off, to see that the world notices. */
export interface Faults {
  /** The aggregator takes every barrier for passed at once. */
  readonly barriersPassAtOnce?: boolean;
  readonly settleWindowMs?: number;
  /** A fence is taken for answered at a low version without any patch. */
  readonly fencesWithoutPatch?: boolean;
  /** Counts are written also from an older snapshot than the recorded one. */
  readonly oldSnapshotsWrite?: boolean;
  /** What needs no quota leaves no bucket. */
  readonly quotaOnlyIsRecorded?: boolean;
  /** A pod that has a bucket is admitted without looking at the estimate. */
  readonly repeatsAreFree?: boolean;
  /** An eviction is recorded with the pod's version. */
  readonly evictionsHaveVersions?: boolean;
  /** An eviction that names the version is recorded as a DELETE at that version. */
  readonly namedAreDeletes?: boolean;
  /** The aggregator looks at the newest bucket as if it had been there all the time. */
  readonly gapsAreContinuous?: boolean;
  /** The workload says nothing of how many pods a cell can have. */
  readonly unlimitedCells?: boolean;
}

export interface WorldOptions {
  readonly minAvailable: number;
  readonly minReadySeconds: number;
  readonly cells: readonly string[];
  readonly podsPerCell: number;
  readonly aggregatorsPerCell: number;
  /**
   * What takes versions away from buckets: a Go component that strips the extensions now and then, or evictions, also
   * of pods that have a DELETE in flight. Such buckets settle by the window, so that requests live 34 s at most.
   * "nothing": DELETEs hang as long as they like.
   */
  readonly takesVersions: "nothing" | "evictions" | "evictions and a Go component";
  /** A cell besides, whose token somebody else has, and the most pods that the workload says a cell can have. */
  readonly liar?: { readonly cellID: string; readonly limit: number };
  readonly faults: Faults;
}

interface WorldPod {
  readonly cellID: string;
  record: PodRecord;
  /** Every version, oldest first. */
  readonly versions: PodRecord[];
  isGone: boolean;
  /** Whether it was healthy when its deletion committed. */
  healthyAtEnd: boolean | undefined;
  /** Its last admission was forced and left no record, because nobody had counted its cell. */
  isLeftOut: boolean;
}

/** "named": an eviction that names the version that it was reviewed at. */
export type Asked = "delete" | "evict" | "named";

interface InFlight {
  readonly pod: WorldPod;
  readonly asked: Asked;
  /** Undefined: an eviction, which commits whatever the version. */
  version: ResourceVersion | undefined;
  /** An eviction that names its version has written its condition. */
  isMarked: boolean;
  readonly diesAtMs: number;
}

/** One event of a cell's watch. */
export interface PodEvent {
  readonly version: number;
  readonly record: PodRecord;
  readonly isDeleted: boolean;
}

const requestLifeMs = 34_000;

export class FloorWorld {
  readonly options: WorldOptions;
  readonly rng: Rng;
  nowMs = 0;
  readonly pods: WorldPod[] = [];
  readonly events = new Map<string, PodEvent[]>();
  /** Versions of the PodProtector, oldest first; the index is its resourceVersion. */
  readonly objects: PodProtector[];
  inFlight: InFlight[] = [];
  quotaAdmissions = 0;
  #versions = new Map<string, number>();
  #uids = 0;

  constructor(options: WorldOptions, rng: Rng) {
    this.options = options;
    this.rng = rng;
    const { liar, faults } = options;
    const plain = protector(options.minAvailable, [], options.minReadySeconds);
    const limited = liar !== undefined && faults.unlimitedCells !== true && { maxPodsPerCell: liar.limit };
    this.objects = [{ ...plain, spec: { ...plain.spec, ...limited } }];
    for (const cellID of liar === undefined ? options.cells : [...options.cells, liar.cellID]) {
      this.events.set(cellID, []);
      for (let count = 0; count < options.podsPerCell; count += 1) this.createPod(cellID, -3600);
    }
  }

  get now(): EpochMicros {
    return at(this.nowMs / 1000);
  }

  get object(): PodProtector {
    const newest = this.objects.at(-1);
    assert.ok(newest);
    return newest;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.rng.next() * list.length)];
  }

  chance(probability: number): boolean {
    return this.rng.next() < probability;
  }

  versionOf(cellID: string): number {
    return this.#versions.get(cellID) ?? 10;
  }

  createPod(cellID: string, readySinceSeconds: number): void {
    this.#uids += 1;
    const uid = `${cellID}-${this.#uids}`;
    const pod: WorldPod = {
      cellID,
      record: samplePod(uid, { readySince: at(readySinceSeconds) }),
      versions: [],
      isGone: false,
      healthyAtEnd: undefined,
      isLeftOut: false,
    };
    this.pods.push(pod);
    this.change(pod, {});
  }

  /** A new version of the pod, seen by every watch. */
  change(pod: WorldPod, changes: Partial<PodRecord>, isDeleted = false): number {
    const next = this.versionOf(pod.cellID) + 1;
    this.#versions.set(pod.cellID, next);
    pod.record = { ...pod.record, ...changes, resourceVersion: version(next) };
    pod.versions.push(pod.record);
    pod.isGone = isDeleted;
    this.events.get(pod.cellID)?.push({ version: next, record: pod.record, isDeleted });
    return next;
  }

  isHealthy(record: PodRecord, now: EpochMicros = this.now): boolean {
    if (record.isTerminating || !record.isReady || record.readySince === undefined) return false;
    return record.readySince + this.options.minReadySeconds * 1e6 <= now;
  }

  livePods(): WorldPod[] {
    return this.pods.filter((pod) => !pod.isGone && !pod.record.isTerminating);
  }

  /** A deletion or eviction that was admitted and can still commit. */
  isAdmitted(pod: WorldPod): boolean {
    return this.inFlight.some(
      (one) => one.pod === pod && (one.version === undefined || one.version === pod.record.resourceVersion),
    );
  }

  /** Pods that are available and not admitted for deletion, but for those of a cell that lies. */
  untouched(): number {
    return this.pods.filter((pod) => this.#isUntouched(pod)).length;
  }

  #isUntouched(pod: WorldPod): boolean {
    const isLive = !pod.isGone && !pod.record.isTerminating;
    return pod.cellID !== this.options.liar?.cellID && isLive && this.isHealthy(pod.record) && !this.isAdmitted(pod);
  }

  /**
   * Pods of the recorded snapshots that nothing stands for: those that have failed by themselves since, and are still
   * not healthy or were not when they went, and those of forced deletions that could not be recorded
   * (docs/accounting.md#what-is-left-open).
   */
  ownUnavailability(): number {
    return this.pods.filter((pod) => {
      const counted = this.object.status?.cells.find(({ cellID }) => cellID === pod.cellID)?.aggregation;
      const counting = this.countingOf.get(pod.cellID);
      if (counted === undefined || counting === undefined) return false;
      const before = pod.versions.findLast((record) => Number(record.resourceVersion) <= counting.version);
      if (before === undefined || !this.isHealthy(before, counting.now)) return false;
      if (pod.isLeftOut) return !this.#isUntouched(pod);
      const hasFailed = pod.versions.some(
        (record) => Number(record.resourceVersion) > counting.version && record.readySince !== before.readySince,
      );
      return hasFailed && !(pod.healthyAtEnd ?? this.isHealthy(pod.record));
    }).length;
  }

  /** From which snapshot the recorded counts of a cell really are (the fields may have been stripped). */
  readonly countingOf = new Map<string, { version: number; now: EpochMicros }>();

  /** A batch of reviews: judged and written in one compare-and-swap on the newest object. */
  review(batch: readonly { pod: WorldPod; operation: Asked; isForced: boolean; record: PodRecord }[]): void {
    const untouchedBefore = this.untouched();
    const { faults } = this.options;
    const before = this.object;
    const result = reserve(
      before,
      batch.map(({ pod: { cellID }, operation, isForced, record: pod }) => {
        const isDelete = operation === "delete" || (operation === "named" && faults.namedAreDeletes === true);
        const asked = { operation: isDelete ? "delete" : "evict", namesVersion: operation === "named" } as const;
        return disruption("", { ...asked, cellID, pod, isForced });
      }),
      context({ now: this.now, config: { maxConcurrentLag: 0, compactThreshold: 3, aggregationRateMs: 1000 } }),
    );
    let status = result.status;
    let added = 0;
    let takesQuota = false;
    for (const [index, one] of batch.entries()) {
      const verdict = result.verdicts[index];
      assert.ok(verdict);
      const isFree = faults.repeatsAreFree === true && this.#hasBucket(before, one.pod);
      if (verdict.kind !== "admitted" && !isFree) continue;
      if (verdict.kind === "admitted") {
        if (verdict.isRecorded && !verdict.isRepeated) added += 1;
        if (verdict.isRecorded || verdict.leftOut !== undefined) one.pod.isLeftOut = !verdict.isRecorded;
        if (faults.quotaOnlyIsRecorded === true && verdict.need === "record") status = undefined;
      }
      if (!one.isForced && (isFree || (verdict.kind === "admitted" && verdict.need === "quota"))) takesQuota = true;
      this.inFlight.push({
        pod: one.pod,
        asked: one.operation,
        isMarked: false,
        version: one.operation === "evict" ? undefined : one.record.resourceVersion,
        diesAtMs: this.options.takesVersions !== "nothing" ? this.nowMs + requestLifeMs : Infinity,
      });
    }
    if (status !== undefined) {
      assert.deepEqual(status.summary, summarize(status.cells, before.spec));
      assert.equal(
        weightOf(status.cells),
        weightOf(before.status?.cells ?? []) + added,
        "compaction conserves the weight",
      );
      this.#assertOneBucketPerPod(status.cells);
      if (faults.evictionsHaveVersions === true) status = { ...status, cells: withVersions(status.cells, this) };
      this.write({ ...before, status });
    }
    if (!takesQuota || this.untouched() >= untouchedBefore) return;
    this.quotaAdmissions += 1;
    // What the other cells lose by a lie is no more than a cell can have.
    const standing = this.untouched() + this.ownUnavailability() + (this.options.liar?.limit ?? 0);
    assert.ok(
      standing >= this.options.minAvailable,
      `floor broken: ${standing} of ${this.options.minAvailable} at ${this.nowMs} ms`,
    );
  }

  write(object: PodProtector): void {
    this.objects.push(object);
  }

  /**
   * The deletion reaches etcd, or the condition of an eviction that names its version, which stays in flight then.
   * False when it has to be reviewed again.
   */
  commit(one: InFlight): boolean {
    const { pod } = one;
    const isOther = one.version !== undefined && one.version !== pod.record.resourceVersion;
    if (one.asked === "named" && !one.isMarked && !isOther && !pod.isGone && !pod.record.isTerminating) {
      one.isMarked = true;
      this.change(pod, {});
      one.version = pod.record.resourceVersion;
      return true;
    }
    this.inFlight = this.inFlight.filter((other) => other !== one);
    if (pod.isGone || pod.record.isTerminating) return true;
    // An eviction ends with a conflict.
    if (isOther) return one.asked === "named";
    pod.healthyAtEnd = this.isHealthy(pod.record);
    const isAtOnce = this.chance(0.3);
    this.change(pod, { isTerminating: true }, isAtOnce);
    return true;
  }

  /** A Go component writes the object as it is, without the extensions. */
  strip(): void {
    const { status } = this.object;
    if (status === undefined) return;
    const cells = status.cells.map((cell): CellStatus => {
      const buckets = cell.admissionHistory?.buckets?.map((bucket): Bucket => {
        const {
          podResourceVersion: _version,
          evictionResourceVersion: _evicted,
          podUIDDigests: _digests,
          ...rest
        } = bucket;
        return rest;
      });
      if (cell.aggregation === undefined)
        return { ...cell, admissionHistory: buckets === undefined ? {} : { buckets } };
      const {
        resourceVersion: _a,
        countedAt: _b,
        countedSpec: _c,
        countedMinReadySeconds: _e,
        initializedReplicas: _d,
        ...rest
      } = cell.aggregation;
      return {
        ...cell,
        aggregation: rest satisfies Aggregation,
        admissionHistory: buckets === undefined ? {} : { buckets },
      };
    });
    this.write({ ...this.object, status: { ...status, cells } });
  }

  /** The cell that lies says whatever comes to its mind: of its pods, and of what is promised there. */
  lie(): void {
    const { liar } = this.options;
    const { status } = this.object;
    if (liar === undefined || status === undefined) return;
    const pods = Math.floor(10 ** (this.rng.next() * 6));
    const counter = Math.floor(this.rng.next() * 5) - 1;
    const said: CellStatus = {
      cellID: liar.cellID,
      aggregation: counts(
        pods,
        this.chance(0.5) ? { resourceVersion: version(Math.floor(this.rng.next() * 1e9)) } : {},
      ),
      admissionHistory: this.chance(0.5) ? {} : { buckets: [{ startTime: timeText(this.nowMs / 1000), counter }] },
    };
    const cells = [...status.cells.filter(({ cellID }) => cellID !== liar.cellID), said];
    this.write({ ...this.object, status: { cells, summary: summarize(cells, this.object.spec) } });
  }

  /** A mark of time for lastEventTime: as coarse as Kubernetes' own. */
  eventTime(): EpochMicros {
    return at(Math.floor(this.nowMs / 1000));
  }

  #hasBucket(object: PodProtector, pod: WorldPod): boolean {
    return (object.status?.cells ?? []).some((cell) => uidsOf(cell).includes(digestOfUID(pod.record.uid)));
  }

  #assertOneBucketPerPod(cells: readonly CellStatus[]): void {
    for (const cell of cells) {
      const digests = uidsOf(cell);
      assert.equal(new Set(digests).size, digests.length, "a UID holds at most one bucket");
    }
  }
}

/** Digests of all pods that the cell's buckets name. */
function uidsOf(cell: CellStatus): string[] {
  return (cell.admissionHistory?.buckets ?? []).flatMap((bucket) => {
    if (bucket.podUID !== undefined) return [digestOfUID(bucket.podUID)];
    return unpackDigests(bucket.podUIDDigests ?? "")?.list() ?? [];
  });
}

function weightOf(cells: readonly CellStatus[]): number {
  return cells
    .flatMap((cell) => cell.admissionHistory?.buckets ?? [])
    .reduce((sum, { counter }) => sum + (counter ?? 1), 0);
}

function withVersions(cells: readonly CellStatus[], world: FloorWorld): CellStatus[] {
  return cells.map((cell) => ({
    ...cell,
    admissionHistory: {
      buckets: (cell.admissionHistory?.buckets ?? []).map((bucket) => {
        const pod = world.pods.find(({ record }) => record.uid === bucket.podUID);
        if (bucket.podResourceVersion !== undefined || pod === undefined) return bucket;
        const startTime = bucket.startTime || timeText(0);
        return { ...bucket, podResourceVersion: pod.record.resourceVersion, startTime };
      }),
    },
  }));
}
