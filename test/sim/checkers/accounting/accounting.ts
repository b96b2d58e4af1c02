/**
 * Checks every version of a PodProtector as it is committed in the core: its summary and history, the floor when an
 * admission is recorded (standing.ts), settled admissions (settlement.ts), and counts (counts.ts).
 */
import { parseTime } from "../../../../src/api/micro-time.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import {
  type CellStatus,
  type PodProtector,
  type PodProtectorSpec,
} from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type HealthCriterion } from "../../../../src/accounting/count/health-criterion.ts";
import { type HistoryLimits } from "../../../../src/accounting/history/record.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { type EpochMicros, laterOf } from "../../../../src/util/clock.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { type Edit } from "../../clusters/deliveries.ts";
import { CountsChecker } from "./counts.ts";
import { cellOf, entriesOf } from "./history.ts";
import { checkHistorySize, checkStatusSize } from "./history-size.ts";
import { LeavingChecker } from "./leaving.ts";
import { type Ledger } from "./ledger.ts";
import { type LentChecker } from "../reviews/lent.ts";
import { Room, weightOf } from "./room.ts";
import { SettlementChecker } from "./settlement.ts";
import { checkShape } from "./shape.ts";
import { type InCells, Standing } from "./standing.ts";
import { type Told } from "../reviews/told.ts";

export interface AccountingOptions {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  /** Only the default algorithm promises anything: of the others, breaches are counted. */
  readonly isExact: boolean;
  /** Webhooks may admit on the last known quota: judged by what they promise then (lent.ts). */
  readonly lent: LentChecker | undefined;
  readonly settleWindowMs: number;
  /** By which all deletions are judged that are not a bystander's. */
  readonly criterion: HealthCriterion;
  readonly hasUpdateTrigger: boolean;
  /** Of the webhooks; 0 = no limit. */
  readonly maxConcurrentLag: number;
  /** Cells that will never come back: they add nothing to what there is room for. */
  readonly lostCells: ReadonlySet<string>;
  /** Of the webhooks. */
  readonly historyLimits: HistoryLimits;
  /** Of the aggregators: settlement.ts. */
  readonly hasFewFences: boolean;
  /** Whether an admission may have been recorded by the release before this one, whose rules were fewer. */
  readonly isByPreviousRelease: () => boolean;
  /** No process is of another release. */
  readonly isOfOneRelease: boolean;
  readonly told: Pick<Told, "mustKnow" | "isToldToAll">;
  /** Its spec, if it is lost and the replica that was asked then had it in memory. */
  readonly lostSpec: (replica: string, arrivedMs: number) => PodProtectorSpec | undefined;
  /** The greatest one that a webhook may have been started with. */
  readonly compactThreshold: number;
  readonly onBreach: (breach: Breach) => void;
  /** A breach by what the restore of a worker took away, before a snapshot of the new history had shown it. */
  readonly onRestoreBreach: (breach: Breach) => void;
}

/** An admission that took a workload under its floor. */
export interface Breach {
  readonly protector: string;
  readonly standing: number;
  readonly minAvailable: number;
}

interface JudgedAge {
  readonly atMs: number;
  /** The newest moment that the counts tell that the admission was judged by. */
  readonly countedAt: EpochMicros | undefined;
}

/** What was true when an admission was recorded. */
interface Recorded {
  /** The highest version that the pod was admitted at; undefined = an eviction. */
  readonly version: string | undefined;
  /** What told the pod's age, each time that an admission of it was recorded; oldest first. */
  readonly ages: readonly JudgedAge[];
  /** The cell's counts were there, and of the present spec. */
  readonly isCounted: boolean;
  readonly atMs: number;
  readonly standing: number;
  /** With the pods that the restore of a worker took away and no snapshot has missed yet. */
  readonly standingAsCounted: number;
  readonly minAvailable: number;
}

/** Follows one PodProtector from its creation to its deletion. */
export class AccountingChecker {
  readonly #options: AccountingOptions;
  readonly name: string;
  readonly room: Room;
  readonly standing: Standing;
  readonly #settlement: SettlementChecker;
  readonly #counts: CountsChecker;
  readonly leaving: LeavingChecker;
  /** By digest: since when the pod has been in a packed bucket all the time. */
  readonly #packedSinceMs = new Map<string, number>();
  /** By digest: the newest commit that recorded or refreshed the admission, also after it has settled. */
  readonly #recorded = new Map<string, Recorded>();
  /** Quota held by admissions, over time: weight x milliseconds. */
  heldPodMs = 0;
  #heldSinceMs = 0;
  #coreRestoredAtMs = Number.NEGATIVE_INFINITY;
  /** There was another one of this name, and nobody has released it, or not all were told of that. */
  #hasVanished = false;
  /** One was made again under the name of such a one: for a settle window nothing is counted. */
  #remade: Edit | undefined;
  /** It is there, but marked as released: nobody judges by it, and the mark may be taken back. */
  #released: PodProtector | undefined;
  #releasedFrom: Edit | undefined;
  /** It was marked as released, and is so still, or is gone. */
  #isLetGo = false;

  constructor(name: string, options: AccountingOptions) {
    this.name = name;
    this.#options = options;
    this.standing = new Standing(name, options.ledger, options.criterion);
    this.room = new Room(this.standing, { ...options, isLetGo: () => this.#isLetGo });
    this.#settlement = new SettlementChecker(name, this.standing, options);
    this.leaving = new LeavingChecker(options.kernel, name, options.settleWindowMs);
    this.#counts = new CountsChecker(name, this.standing, options.ledger);
  }

  get object(): PodProtector | undefined {
    return this.standing.object;
  }

  /** Since when its selectors are what they are. */
  get edit(): Edit {
    return { revision: this.standing.editedRevision, sinceMs: this.standing.editedAtMs };
  }

  /** What the replica goes by that was asked then: what is there, or what is lost and it remembers. */
  specFor(replica: string, arrivedMs: number): PodProtectorSpec | undefined {
    return this.object?.spec ?? this.#options.lostSpec(replica, arrivedMs);
  }

  /** The replica must have known by then of the selectors that it has now. */
  mustBeKnownTo(replica: string, atMs: number): boolean {
    return this.#options.told.mustKnow(replica, this.edit, atMs);
  }

  /**
   * If it was made again, or an edit was undone, all had been told of that by then: the wait for first counts, and the
   * doubt about counts that are usable again, begin with that.
   */
  wasToldOfBy(atMs: number): boolean {
    const awaited = [this.#remade, this.standing.isEditedBack ? this.edit : undefined];
    return awaited.every((edit) => edit === undefined || this.#options.told.isToldToAll(edit, atMs));
  }

  /** A version has been committed, or, undefined, the object is gone. */
  committed(present: PodProtector | undefined, isReleased = false): void {
    const { kernel, told } = this.#options;
    const before = this.object;
    const last = before ?? this.#released;
    const isMissed =
      present === undefined && this.#releasedFrom !== undefined && !told.isToldToAll(this.#releasedFrom, kernel.nowMs);
    this.#released = isReleased ? present : undefined;
    this.#isLetGo = isReleased;
    if (this.#released === undefined) this.#releasedFrom = undefined;
    else this.#releasedFrom ??= { revision: Number(this.#released.metadata.resourceVersion), sinceMs: kernel.nowMs };
    const object = isReleased ? undefined : present;
    if (object !== undefined && before === undefined && this.#hasVanished)
      this.#remade = { revision: Number(object.metadata.resourceVersion), sinceMs: kernel.nowMs };
    const isLost = isMissed || (!isReleased && (this.#hasVanished || before !== undefined));
    this.#hasVanished = object === undefined && isLost;
    this.heldPodMs += weightOf(before) * (kernel.nowMs - this.#heldSinceMs);
    this.#heldSinceMs = kernel.nowMs;
    this.standing.object = object;
    this.#options.lent?.committed(object);
    const former = last?.metadata.uid === present?.metadata.uid ? last : undefined;
    if (present !== undefined) this.leaving.committed(present.status?.cells ?? [], former === undefined);
    if (former === undefined) {
      this.#recorded.clear();
      this.#packedSinceMs.clear();
    }
    if (object === undefined) {
      if (present !== undefined)
        for (const cell of present.status?.cells ?? []) this.#record(present, cellOf(former, cell.cellID), cell);
      return;
    }
    this.standing.edited(object, before);
    if (object.status === undefined) {
      this.#counts.noteUncounted(object);
      return;
    }
    // Of a release that was taken back, `before` is undefined: what was written before it was released is still shown.
    checkShape(kernel, this.name, object.status, object.spec, former?.status);
    for (const cell of object.status.cells) this.#checkCell(object, cellOf(former, cell.cellID), cell);
    this.#counts.noteUncounted(object);
  }

  /** The core went back to a backup: what follows is no step from what was. */
  restored(object: PodProtector | undefined): void {
    const before = this.object;
    this.#released = undefined;
    this.standing.object = object;
    if (object !== undefined) this.standing.edited(object, before);
    this.#recorded.clear();
    this.#packedSinceMs.clear();
    this.#coreRestoredAtMs = this.#options.kernel.nowMs;
    this.leaving.committed(object?.status?.cells ?? [], true);
    for (const { cellID, aggregation } of object?.status?.cells ?? [])
      if (aggregation !== undefined) this.#counts.noteSource(aggregation, cellID, true);
  }

  /** Whether its selectors can be understood as they are now. */
  get isValid(): boolean {
    return this.standing.isValid;
  }

  /** The PodProtector protects such a pod. */
  concerns(record: PodRecord): boolean {
    return this.standing.concerns(record);
  }

  /** An admission that took quota has been answered: it must have been recorded, and the floor held when it was. */
  answered(uid: string, arrivedMs: number): void {
    const { kernel, isExact, ledger, lent } = this.#options;
    const recorded = this.#recorded.get(digestOfUID(uid));
    if (recorded === undefined || recorded.atMs < arrivedMs) {
      const pod = ledger.byDigest.get(digestOfUID(uid));
      if (pod?.versions.at(-1)?.record.isTerminating !== true) lent?.admitted(uid, pod?.cell ?? "");
      // A restore of the core may have taken the record away before it was answered.
      if (Math.max(this.standing.editedAtMs, this.#coreRestoredAtMs) < arrivedMs && isExact && lent === undefined)
        kernel.fail(`${this.name}: ${uid} was admitted without a record`);
      return;
    }
    const packedSinceMs = this.#packedSinceMs.get(digestOfUID(uid)) ?? kernel.nowMs;
    if (packedSinceMs < arrivedMs && isExact) kernel.fail(`${this.name}: ${uid} was admitted again and stays packed`);
    if (!recorded.isCounted && isExact) kernel.fail(`${this.name}: ${uid} was admitted by counts of another spec`);
    this.#checkFloor(uid, recorded);
  }

  #checkFloor(uid: string, { standing: recorded, standingAsCounted, minAvailable }: Recorded): void {
    const { kernel, ledger, onBreach, onRestoreBreach, isExact, lent } = this.#options;
    if (recorded >= minAvailable || this.object === undefined) return;
    // Somebody's record may have been in the way who is not admitted in the end.
    const nobody = new Set<string>();
    const standing = this.standing.count(this.object, nobody);
    if (standing >= minAvailable) return;
    const asCounted = this.standing.count(this.object, nobody, this.#counts.countedBefore(this.object));
    if (ledger.hasRestored() && Math.max(standingAsCounted, asCounted) >= minAvailable) {
      onRestoreBreach({ protector: this.name, standing, minAvailable });
      kernel.note(`FLOOR after a restore ${this.name} ${standing} of ${minAvailable}`);
      return;
    }
    onBreach({ protector: this.name, standing, minAvailable });
    kernel.note(`FLOOR ${this.name} ${standing} of ${minAvailable}`);
    if (isExact && lent === undefined)
      kernel.fail(
        `floor broken: ${standing} of ${minAvailable} pods of ${this.name} are left by the admission of ${uid}`,
      );
  }

  /**
   * Whether the pod, available from that moment, was so by the data that its admission was judged by: then no clock
   * makes it young. A review that waits for another PodProtector was judged when it was recorded here, and newer counts
   * may have come since, with the record of another review (docs/accounting.md#what-is-recorded). Which record is whose
   * cannot be seen, so the pod must have been old by each one since the review came.
   */
  wasOldByData(uid: string, from: EpochMicros, arrivedMs: number): boolean {
    const ages = this.#recorded.get(digestOfUID(uid))?.ages ?? [];
    const since = ages.filter(({ atMs }) => atMs >= arrivedMs);
    const judged = since.length > 0 ? since : ages.slice(-1);
    return judged.length > 0 && judged.every(({ countedAt }) => countedAt !== undefined && from <= countedAt);
  }

  /** Whether an admission of the pod was recorded since. */
  hasRecorded(uid: string, sinceMs: number): boolean {
    return (this.#recorded.get(digestOfUID(uid))?.atMs ?? Number.NEGATIVE_INFINITY) >= sinceMs;
  }

  /** The counts answer the present spec, and every available pod was so when its cell was counted last. */
  isCountedAtCurrent(cells?: InCells): boolean {
    return this.#counts.isCurrent(cells);
  }

  /** What the aggregated counts should be, were everything seen. */
  trueAvailable(cells?: InCells): number {
    return this.standing.trueCount("Available", cells);
  }

  /** The same of the criterion that deletions are judged by. */
  trueHealthy(cells?: InCells): number {
    return this.standing.trueCount(this.criterion, cells);
  }

  /** There are pods to count. */
  hasMembers(cells: InCells): boolean {
    return this.standing.hasMembers(cells);
  }

  /** The deletion of such a pod takes quota, if it is old enough. */
  get criterion(): HealthCriterion {
    return this.standing.criterion;
  }

  /** Unsettled admissions. */
  weight(cells?: InCells): number {
    return weightOf(this.object, cells);
  }

  #checkCell(object: PodProtector, old: CellStatus | undefined, cell: CellStatus): void {
    const { kernel, ledger, isExact } = this.#options;
    const before = new Map((old === undefined ? [] : entriesOf(old)).map((entry) => [entry.digest, entry]));
    const after = new Map(entriesOf(cell).map((entry) => [entry.digest, entry]));
    for (const entry of before.values())
      if (isExact && !after.has(entry.digest)) this.#settlement.settled(entry, this.#recorded.get(entry.digest), cell);
    if (cell.aggregation !== undefined && cell.aggregation !== old?.aggregation)
      this.#counts.noteSource(cell.aggregation, cell.cellID);
    const isAdmission = [...after.values()].some(({ digest, mark, isPacked }) => {
      const known = before.get(digest);
      return known === undefined || (!isPacked && known.mark !== mark);
    });
    if (isAdmission && isExact) {
      const { compactThreshold: threshold = this.#options.compactThreshold } = object.spec.admissionHistoryConfig ?? {};
      // What is forged, for pods that do not exist, is no webhook's doing.
      const isNew = [...after.keys()].some((digest) => !before.has(digest) && ledger.byDigest.has(digest));
      if (isNew && object.status !== undefined)
        checkStatusSize(kernel, this.name, object.status, this.#options.historyLimits);
      checkHistorySize(kernel, { name: this.name, before: old, cell, threshold, limits: this.#options.historyLimits });
    }
    // Nobody would settle it. What is forged in a cell that does not exist is no webhook's doing.
    const isUncounted = isAdmission && old?.aggregation === undefined && [...ledger.cells()].includes(cell.cellID);
    if (isUncounted && !this.#options.isByPreviousRelease())
      kernel.fail(`${this.name}: an admission is recorded in ${cell.cellID}, which nobody has counted`);
    this.#record(object, old, cell);
    if (isExact && cell.aggregation !== undefined && cell.aggregation !== old?.aggregation) {
      this.#counts.check(old?.aggregation, cell.aggregation, cell.cellID, this.#options.isOfOneRelease);
      // An edit that is taken back makes the old counts usable again, and nobody has counted.
      const isNew = JSON.stringify(cell.aggregation) !== JSON.stringify(old?.aggregation);
      if (isNew && this.#counts.isUsable(cell.aggregation)) {
        this.#settlement.counted(cell.aggregation, cell.cellID, new Set(after.keys()));
        this.#counts.checkFirst(cell.aggregation, cell.cellID);
      }
    }
  }

  /**
   * Notes when each admission was recorded, and whether its floor held. While the PodProtector is released nothing is
   * judged by it, but replicas that have not heard of it go on recording, and the mark may be taken back: then these
   * admissions must settle like any other.
   */
  #record(object: PodProtector, old: CellStatus | undefined, cell: CellStatus): void {
    const { kernel, ledger } = this.#options;
    const before = new Map((old === undefined ? [] : entriesOf(old)).map((entry) => [entry.digest, entry]));
    const after = entriesOf(cell);
    const present = new Set(after.map(({ digest }) => digest));
    for (const digest of before.keys()) if (!present.has(digest)) this.#packedSinceMs.delete(digest);
    let standing: number | undefined;
    let standingAsCounted = 0;
    for (const entry of after) {
      const known = before.get(entry.digest);
      if (!entry.isPacked) this.#packedSinceMs.delete(entry.digest);
      else if (!this.#packedSinceMs.has(entry.digest)) this.#packedSinceMs.set(entry.digest, kernel.nowMs);
      if (known?.mark === entry.mark) continue;
      if (this.object === undefined) standing = standingAsCounted = Number.POSITIVE_INFINITY;
      if (standing === undefined) {
        const open = openOf(object);
        standing = this.standing.count(object, open);
        standingAsCounted = ledger.hasRestored()
          ? this.standing.count(object, open, this.#counts.countedBefore(object))
          : standing;
      }
      // A pod that was packed may be the same admission as before, which was judged then.
      const earlier = known !== undefined && entry.isPacked ? this.#recorded.get(entry.digest) : undefined;
      if (earlier !== undefined && Number(entry.version) < Number(earlier.version ?? Infinity))
        kernel.fail(
          `${this.name}: a packed bucket is of version ${entry.version}, but has a pod of ${earlier.version}`,
        );
      const isCounted = this.object === undefined || this.#counts.areThere(old?.aggregation);
      // Also counts that are not in force tell a pod's age; the release before this one asks no others.
      const isPrevious = this.#options.isByPreviousRelease();
      const told = !isPrevious || this.#counts.isUsable(old?.aggregation) ? old?.aggregation : undefined;
      const countedAt = laterOf(parseTime(told?.countedAt), parseTime(isPrevious ? "" : told?.countedAhead));
      // A change of its companions starts no wait of a packed pod again (docs/accounting.md#settlement).
      const isCompanions = known?.isPacked === true && entry.isPacked;
      const ages = this.#recorded.get(entry.digest)?.ages ?? [];
      this.#recorded.set(entry.digest, {
        atMs: isCompanions ? (earlier?.atMs ?? kernel.nowMs) : kernel.nowMs,
        version: earlier?.version ?? entry.version,
        ages: isCompanions ? ages : [...ages, { atMs: kernel.nowMs, countedAt }],
        isCounted,
        standing: Math.max(standing, earlier?.standing ?? 0),
        standingAsCounted: Math.max(standingAsCounted, earlier?.standingAsCounted ?? 0),
        minAvailable: Math.min(object.spec.minAvailable, earlier?.minAvailable ?? Infinity),
      });
    }
  }
}

function openOf(object: PodProtector): ReadonlySet<string> {
  return new Set((object.status?.cells ?? []).flatMap(entriesOf).map(({ digest }) => digest));
}
