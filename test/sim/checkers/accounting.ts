/**
 * Checks every version of a PodProtector as it is committed in the core: the floor of design 2.6, that nothing leaves the history but by the
 * settlement table (2.3), and that counts are those of the snapshot which they name (2.4).
 */
import assert from "node:assert/strict";
import { parseTime } from "../../../src/api/micro-time.ts";
import { type PodRecord } from "../../../src/api/pod.ts";
import { type Aggregation, type CellStatus, type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../../../src/core/bucket.ts";
import { countedSpec } from "../../../src/core/counted-spec.ts";
import { availableFrom } from "../../../src/core/health-criterion.ts";
import { summarize } from "../../../src/core/summary.ts";
import { digestOfUID } from "../../../src/core/uid-digest.ts";
import { compileSelector, formatSelector, matches, type CompiledSelector } from "../../../src/label-index/index.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { entriesOf, type HistoryEntry } from "./history.ts";
import { type Admission, type Ledger, type TruePod } from "./ledger.ts";

export interface AccountingOptions {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  /** Only the default algorithm promises anything: of the others, breaches are counted. */
  readonly isExact: boolean;
  readonly settleWindowMs: number;
  readonly onBreach: (breach: Breach) => void;
}

/** An admission that took a workload under its floor. */
export interface Breach {
  readonly protector: string;
  readonly standing: number;
  readonly minAvailable: number;
}

/** What was true when an admission was recorded. */
interface Recorded {
  readonly atMs: number;
  readonly standing: number;
  readonly minAvailable: number;
}

/** Clocks drift by less than a hundredth, and a bucket is first seen a moment after it was written. */
const windowTolerance = 0.98;

/** Follows one PodProtector through its life. */
export class AccountingChecker {
  readonly #options: AccountingOptions;
  readonly #name: string;
  #object: PodProtector | undefined;
  #selector: CompiledSelector | undefined;
  #counting: CompiledSelector | undefined;
  /** What counts must say they have counted; others are not used. */
  #spec = "";
  /** When the selectors changed last. */
  #editedAtMs = Number.NEGATIVE_INFINITY;
  /** Version of the object since its selectors are what they are. */
  editedRevision = Number.POSITIVE_INFINITY;
  /** By digest: the newest commit that recorded or refreshed the admission, also after it has settled. */
  readonly #recorded = new Map<string, Recorded>();
  /** Quota held by admissions, over time: weight x milliseconds. */
  heldPodMs = 0;
  #heldSinceMs = 0;

  constructor(name: string, options: AccountingOptions) {
    this.#name = name;
    this.#options = options;
  }

  get object(): PodProtector | undefined {
    return this.#object;
  }

  /** A version has been committed; undefined = the object is gone. */
  committed(object: PodProtector | undefined): void {
    const { kernel } = this.#options;
    const before = this.#object;
    this.heldPodMs += weightOf(before) * (kernel.nowMs - this.#heldSinceMs);
    this.#heldSinceMs = kernel.nowMs;
    this.#object = object;
    if (object === undefined || before?.metadata.uid !== object.metadata.uid) this.#recorded.clear();
    if (object === undefined) return;
    this.#compile(object, before);
    if (object.status === undefined) return;
    this.#checkShape(object.status);
    for (const cell of object.status.cells) {
      const old = before?.metadata.uid === object.metadata.uid ? cellOf(before, cell.cellID) : undefined;
      this.#checkCell(object, old, cell);
    }
  }

  /** The core went back to a backup: what follows is no step from what was. */
  restored(object: PodProtector | undefined): void {
    this.#object = object;
    this.#recorded.clear();
  }

  /** The PodProtector protects such a pod. */
  concerns(record: PodRecord): boolean {
    return this.#selector !== undefined && matches(this.#selector, record.labels);
  }

  /** An admission that took quota has been answered: it must have been recorded, and the floor held when it was. */
  answered(uid: string, arrivedMs: number): void {
    const { kernel, onBreach, isExact } = this.#options;
    const recorded = this.#recorded.get(digestOfUID(uid));
    if (recorded === undefined || recorded.atMs < arrivedMs) {
      if (this.#editedAtMs < arrivedMs && isExact) kernel.fail(`${this.#name}: ${uid} was admitted without a record`);
      return;
    }
    const { minAvailable } = recorded;
    if (recorded.standing >= minAvailable || this.#object === undefined) return;
    // Somebody's record may have been in the way who is not admitted in the end.
    const standing = this.#standing(this.#object, new Set());
    if (standing >= minAvailable) return;
    onBreach({ protector: this.#name, standing, minAvailable });
    kernel.note(`FLOOR ${this.#name} ${standing} of ${minAvailable}`);
    if (isExact)
      kernel.fail(
        `floor broken: ${standing} of ${minAvailable} pods of ${this.#name} are left by the admission of ${uid}`,
      );
  }

  /** Unsettled admissions. */
  get weight(): number {
    return weightOf(this.#object);
  }

  /** What the aggregated counts should be, were everything seen. */
  trueAvailable(): number {
    const { ledger } = this.#options;
    return [...ledger.pods.values()].filter((pod) => this.#isAvailable(pod)).length;
  }

  #compile(object: PodProtector, before: PodProtector | undefined): void {
    const { selector, aggregationSelector = selector } = object.spec;
    if (before?.metadata.uid === object.metadata.uid && judgedBy(before) === judgedBy(object)) return;
    this.#editedAtMs = this.#options.kernel.nowMs;
    this.editedRevision = Number(object.metadata.resourceVersion);
    const [own, counting] = [compileSelector(selector), compileSelector(aggregationSelector)];
    assert.ok(own.ok && counting.ok);
    const { uid } = object.metadata;
    this.#spec = countedSpec(uid, formatSelector(counting.selector), object.spec.minReadySeconds);
    this.#selector = own.selector;
    this.#counting = counting.selector;
  }

  #checkShape(status: NonNullable<PodProtector["status"]>): void {
    const { kernel } = this.#options;
    const { maxLatencyMillis: _latency, ...summary } = status.summary;
    const { maxLatencyMillis: _other, ...wanted } = summarize(status.cells);
    if (JSON.stringify(summary, Object.keys(summary).sort()) !== JSON.stringify(wanted, Object.keys(wanted).sort())) {
      kernel.fail(`${this.#name}: the summary ${JSON.stringify(summary)} is not ${JSON.stringify(wanted)}`);
    }
    for (const cell of status.cells) {
      const digests = entriesOf(cell).map(({ digest }) => digest);
      if (new Set(digests).size < digests.length) kernel.fail(`${this.#name}: a pod has two buckets in ${cell.cellID}`);
    }
  }

  #checkCell(object: PodProtector, old: CellStatus | undefined, cell: CellStatus): void {
    const { kernel, isExact } = this.#options;
    const before = new Map((old === undefined ? [] : entriesOf(old)).map((entry) => [entry.digest, entry]));
    const after = new Map(entriesOf(cell).map((entry) => [entry.digest, entry]));
    for (const entry of before.values()) {
      if (!after.has(entry.digest)) {
        if (isExact) this.#checkSettled(entry, cell);
      }
    }
    let standing: number | undefined;
    for (const entry of after.values()) {
      const known = before.get(entry.digest);
      if (known?.mark === entry.mark) continue;
      standing ??= this.#standing(object, openOf(object));
      // A pod that was packed may be the same admission as before, which was judged then.
      const earlier = known !== undefined && entry.isPacked ? this.#recorded.get(entry.digest) : undefined;
      this.#recorded.set(entry.digest, {
        atMs: kernel.nowMs,
        standing: Math.max(standing, earlier?.standing ?? 0),
        minAvailable: Math.min(object.spec.minAvailable, earlier?.minAvailable ?? Infinity),
      });
    }
    if (isExact && cell.aggregation !== undefined && cell.aggregation !== old?.aggregation) {
      this.#checkCounts(old?.aggregation, cell.aggregation, cell.cellID);
    }
  }

  /** An entry is gone: its row of the settlement table must hold for the snapshot of the same write. */
  #checkSettled(entry: HistoryEntry, cell: CellStatus): void {
    const { kernel, ledger, settleWindowMs } = this.#options;
    const pod = [...ledger.pods.values()].find(({ uid }) => digestOfUID(uid) === entry.digest);
    const recorded = this.#recorded.get(entry.digest);
    const revision = Number(cell.aggregation?.resourceVersion ?? Number.NaN);
    if (pod === undefined || Number.isNaN(revision)) return;
    const record = ledger.at(pod, revision);
    if (record === undefined && pod.goneAt !== undefined && pod.goneAt <= revision) return;
    if (record?.terminating === true) return;
    if (record !== undefined && entry.version !== undefined && Number(record.resourceVersion) > Number(entry.version))
      return;
    const ageMs = kernel.nowMs - (recorded?.atMs ?? Number.NEGATIVE_INFINITY);
    if (entry.version === undefined && ageMs >= settleWindowMs * windowTolerance) return;
    const state = record === undefined ? "not there yet" : `alive at ${record.resourceVersion}`;
    kernel.fail(
      `${this.#name}: the admission of ${pod.name} (version ${entry.version}, ${Math.round(ageMs)} ms old) is settled by snapshot ${revision}, where it is ${state}`,
    );
  }

  #checkCounts(old: Aggregation | undefined, counts: Aggregation, cellID: string): void {
    const { kernel, ledger } = this.#options;
    if (JSON.stringify(old) === JSON.stringify(counts) || counts.resourceVersion === undefined) return;
    const [from, to] = [Number(old?.resourceVersion ?? 0), Number(counts.resourceVersion)];
    if (to < from && counts.recountedAt === old?.recountedAt && counts.countedSpec === old?.countedSpec) {
      kernel.fail(`${this.#name}: the counts of ${cellID} go back from snapshot ${from} to ${to}`);
    }
    if (this.#editedAtMs === kernel.nowMs) return;
    const truth = [...ledger.pods.values()].filter((pod) => pod.cell === cellID && this.#isCounted(pod, counts)).length;
    if (truth !== counts.availableReplicas && counts.countedAt !== undefined && counts.countedSpec === this.#spec) {
      kernel.fail(`${this.#name}: ${cellID} counts ${counts.availableReplicas} pods, snapshot ${to} holds ${truth}`);
    }
  }

  /**
   * Pods that stand whatever the open admissions do: available, or counted and unavailable for reasons of their own (own unavailability,
   * forced deletions: design 2.6). `open`: pods that are taken for deleted because of their records.
   */
  #standing(object: PodProtector, open: ReadonlySet<string>): number {
    const { ledger } = this.#options;
    const counts = new Map((object.status?.cells ?? []).map((cell) => [cell.cellID, cell.aggregation]));
    let standing = 0;
    for (const pod of ledger.pods.values()) {
      const aggregation = counts.get(pod.cell);
      const isCounted = aggregation !== undefined && this.#isCounted(pod, aggregation);
      const isLive = pod.goneAt === undefined && pod.versions.at(-1)?.record.terminating === false;
      const isAvailable = isLive && this.#isAvailable(pod);
      if (!isCounted && !isAvailable) continue;
      if (open.has(digestOfUID(pod.uid)) && !ledger.isForced(pod)) continue;
      if (isLive) {
        if (!isAvailable || !this.#counts(ledger.doomOf(pod))) standing += 1;
      } else if (this.#isExcused(pod)) standing += 1;
    }
    return standing;
  }

  /** The pod is still counted and is gone, but not by an admission of this PodProtector. */
  #isExcused({ lastLive, end, endedAtMs }: TruePod): boolean {
    // Gone before anybody counted for the present selectors: it must not be counted at all.
    if (endedAtMs !== undefined && endedAtMs < this.#editedAtMs) return false;
    return lastLive === undefined || !this.#meets(lastLive, this.#options.ledger.nowMicros) || !this.#counts(end);
  }

  /** True for an admission that this PodProtector has judged: not forced, and not from before its replica knew of it. */
  #counts(admission: Admission | undefined): boolean {
    if (admission === undefined || admission.isForced || admission.unknown.has(this.#name)) return false;
    return admission.atMs > this.#editedAtMs;
  }

  #isAvailable(pod: TruePod): boolean {
    const present = pod.goneAt === undefined ? pod.versions.at(-1)?.record : undefined;
    return present !== undefined && this.#meets(present, this.#options.ledger.nowMicros);
  }

  #isCounted(pod: TruePod, { resourceVersion, countedAt }: Aggregation): boolean {
    const record = this.#options.ledger.at(pod, Number(resourceVersion ?? Number.POSITIVE_INFINITY));
    const at = parseTime(countedAt) ?? this.#options.ledger.nowMicros;
    return record !== undefined && this.#meets(record, at);
  }

  #meets(record: PodRecord, nowMicros: number): boolean {
    if (this.#counting === undefined || !matches(this.#counting, record.labels)) return false;
    const from = availableFrom(record, this.#object?.spec.minReadySeconds ?? 0);
    return from !== undefined && from <= nowMicros;
  }
}

function cellOf(object: PodProtector | undefined, cellID: string): CellStatus | undefined {
  return object?.status?.cells.find((cell) => cell.cellID === cellID);
}

/** What decides which pods are protected and counted. */
function judgedBy({ spec }: PodProtector): string {
  return JSON.stringify([spec.selector, spec.aggregationSelector, spec.minReadySeconds]);
}

function openOf(object: PodProtector): ReadonlySet<string> {
  return new Set((object.status?.cells ?? []).flatMap(entriesOf).map(({ digest }) => digest));
}

function weightOf(object: PodProtector | undefined): number {
  return (object?.status?.cells ?? []).reduce((sum, cell) => sum + totalWeight(cell.admissionHistory?.buckets), 0);
}
