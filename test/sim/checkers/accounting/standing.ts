/**
 * Which pods a PodProtector selects and counts, and how many of them truly stand: what the floor is compared with
 * (docs/accounting.md#the-promise).
 */
import assert from "node:assert/strict";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type Aggregation, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { countedSpec } from "../../../../src/accounting/count/counted-spec.ts";
import {
  availableFrom,
  canMeet,
  type HealthCriterion,
  isUnseenBy,
} from "../../../../src/accounting/count/health-criterion.ts";
import { compileSelector, formatSelector, matches, type CompiledSelector } from "../../../../src/label-index/index.ts";
import { isLeftOutOf } from "../../../../src/accounting/count/foreign-owners.ts";
import { type Exclusion } from "./exclusions.ts";
import { type Admission, type Ledger, type PodVersion, type TruePod } from "./ledger.ts";
import { isStranger, Strangers } from "./strangers.ts";

/** Which cells are meant. */
export type InCells = (cell: string) => boolean;
export const allCells: InCells = () => true;

/** Clocks drift by less than a hundredth. */
const driftShare = 0.99;

/** Why a pod that does not stand is not missed, and since when. */
interface Excuse {
  readonly name: Exclusion;
  readonly sinceMs: number;
}

export class Standing {
  readonly #name: string;
  readonly #ledger: Ledger;
  /**
   * By which all pods of the world are judged. Where pods of one workload differ in it, nothing is promised to the
   * stricter one (docs/accounting.md, "What is left open"): a DELETE that is allowed without a record still counts for
   * weaker criteria.
   */
  readonly criterion: HealthCriterion;
  /** As it is now; undefined = there is none. */
  object: PodProtector | undefined;
  /** Whether its selectors can be understood as they are now. */
  isValid = true;
  #selector: CompiledSelector | undefined;
  #counting: CompiledSelector | undefined;
  /** What counts say that were made by this minReadySeconds and by the present selectors. */
  specBy: (minReadySeconds: number) => string = () => "";
  /** What counts must say they have counted; else they are used as a lower bound, or not at all. */
  spec = "";
  /** What the counts say of their snapshot, read once for all pods. */
  readonly #named = new WeakMap<
    Aggregation,
    { readonly revision: number; readonly countedAt: number | undefined; readonly readAt: number }
  >();
  readonly strangers = new Strangers();
  /** When the selectors changed last, or there was a floor where there had been none. */
  editedAtMs = Number.NEGATIVE_INFINITY;
  /** Version of the object since its selectors are what they are. */
  editedRevision = Number.POSITIVE_INFINITY;
  /** When what is to be counted changed last, and the cells whose counts answer that all the same. */
  #respecified = { atMs: Number.NEGATIVE_INFINITY, answered: new Set<string>() };

  constructor(name: string, ledger: Ledger, criterion: HealthCriterion) {
    this.#name = name;
    this.#ledger = ledger;
    this.criterion = criterion;
  }

  /** The next version of the object, or of another one by its name. */
  edited(object: PodProtector, before: PodProtector | undefined): void {
    if (before !== undefined) this.strangers.replaced(before, this.#ledger.kernel.nowMs);
    const { selector, aggregationSelector = selector } = object.spec;
    if (before?.metadata.uid === object.metadata.uid && judgedBy(before) === judgedBy(object)) return;
    const [own, counting] = [compileSelector(selector), compileSelector(aggregationSelector)];
    // The last valid selectors stay in force.
    this.isValid = own.ok && counting.ok;
    if (!own.ok || !counting.ok) return assert.ok(this.#counting, "it was valid before");
    this.editedAtMs = this.#ledger.kernel.nowMs;
    this.editedRevision = Number(object.metadata.resourceVersion);
    const { uid } = object.metadata;
    this.specBy = (minReadySeconds) => countedSpec(uid, formatSelector(counting.selector), minReadySeconds);
    const { minReadySeconds } = object.spec;
    const spec = this.specBy(minReadySeconds);
    const answers = ({ countedSpec: counted, countedMinReadySeconds: seconds = -1 }: Aggregation): boolean =>
      counted === undefined || counted === spec || (seconds > minReadySeconds && counted === this.specBy(seconds));
    // Not where only the floor was raised from zero, or a mark of release taken back.
    if (spec !== this.spec) {
      const answered = (object.status?.cells ?? []).filter(({ aggregation }) => aggregation && answers(aggregation));
      this.#respecified = { atMs: this.editedAtMs, answered: new Set(answered.map(({ cellID }) => cellID)) };
    }
    this.spec = spec;
    this.#selector = own.selector;
    this.#counting = counting.selector;
  }

  /** What is to be counted was edited, and counts from before answer it (docs/accounting.md#edits-that-are-undone). */
  get isEditedBack(): boolean {
    return this.#respecified.answered.size > 0;
  }

  /** The PodProtector protects such a pod, and counts it: strangers may lack the label by which it does. */
  concerns(record: PodRecord): boolean {
    return [this.#selector, this.#counting].every((one) => one !== undefined && matches(one, record.labels));
  }

  /** Pods that its selectors match, available or not. */
  hasMembers(cells: InCells): boolean {
    return this.#ledger.pods.values().some((pod) => {
      const record = pod.versions.at(-1)?.record;
      return cells(pod.cell) && pod.goneAt === undefined && record !== undefined && this.isMember(record);
    });
  }

  /** Available pods that the selector matches and no stranger controls. */
  trueOwn(): number {
    const { nowMicros, pods } = this.#ledger;
    return pods.values().reduce((count, { goneAt, versions }) => {
      const present = goneAt === undefined ? versions.at(-1) : undefined;
      if (present === undefined || isStranger(present.record)) return count;
      return this.#meets("Available", present, nowMicros) ? count + 1 : count;
    }, 0);
  }

  #isForeign(record: PodRecord, cell: string): boolean {
    return this.strangers.areLeftOut(record, cell, this.object);
  }

  /** What the aggregated counts should be, were everything seen; by the criterion of the world, or by another. */
  trueCount(criterion = this.criterion, cells: InCells = allCells): number {
    const pods = this.#ledger.pods.values().filter(({ cell }) => cells(cell));
    return pods.reduce((count, pod) => (this.meets(pod, criterion) ? count + 1 : count), 0);
  }

  /**
   * Pods that stand whatever the open admissions do: they meet the criterion, or are counted and do not meet it for
   * reasons of their own (own unavailability, forced deletions: docs/accounting.md#the-promise). `open`: pods that are
   * taken for deleted because of their records. `former`: pods that are counted as they were before the restore of a
   * worker, by UID.
   */
  count(object: PodProtector, open: ReadonlySet<string>, former: ReadonlyMap<string, TruePod> = new Map()): number {
    const ledger = this.#ledger;
    const counts = new Map((object.status?.cells ?? []).map((cell) => [cell.cellID, cell.aggregation]));
    let standing = 0;
    const excuses: Excuse[] = [];
    for (const pod of ledger.pods.values()) {
      const aggregation = counts.get(pod.cell);
      const isCounted = former.has(pod.uid) || (aggregation !== undefined && this.isCounted(pod, aggregation));
      const isLive = pod.goneAt === undefined && pod.versions.at(-1)?.record.isTerminating === false;
      const isHealthy = isLive && (this.meets(pod) || this.#isUnseen(pod));
      if (!isCounted && !isHealthy) continue;
      if (open.has(pod.digest) && !ledger.isForced(pod)) continue;
      const doom = isHealthy ? ledger.doomOf(pod) : undefined;
      if (isHealthy && doom === undefined) {
        standing += 1;
        continue;
      }
      const excuse = doom === undefined ? this.#excuseOf(pod, isLive) : this.#excuseOfAdmission(doom, doom.atMs);
      if (excuse !== undefined) excuses.push(excuse);
    }
    for (const [uid, pod] of former)
      if (!ledger.pods.has(uid) && !open.has(pod.digest) && !this.hasJudged(pod.end)) standing += 1;
    return standing + this.#excused(excuses, object.spec.minAvailable - standing);
  }

  /** Its containers run, and only the control plane does not know: whoever deletes it takes a serving pod away. */
  #isUnseen({ versions, cell }: TruePod): boolean {
    const record = versions.at(-1)?.record;
    if (record === undefined || this.#isForeign(record, cell)) return false;
    return this.concerns(record) && isUnseenBy(this.criterion, record);
  }

  /** How many of them are within their limits. They are needed when without them the floor would be broken. */
  #excused(excuses: readonly Excuse[], missing: number): number {
    const { exclusions } = this.#ledger;
    return excuses.filter(({ name, sinceMs }) =>
      missing > 0 ? exclusions.excuses(name, sinceMs) : exclusions.isAllowed(name, sinceMs),
    ).length;
  }

  /** Why a pod that is counted, and does not meet the criterion or is gone, is not missed. */
  #excuseOf(pod: TruePod, isLive: boolean): Excuse | undefined {
    const { lastLive, end, endedAtMs } = pod;
    const unheardMs = this.#ledger.unheardSinceMs.get(pod.cell);
    const byItself: Excuse =
      unheardMs === undefined
        ? { name: "own unavailability", sinceMs: this.#unmetSinceMs(pod) }
        : { name: "in a lost cell", sinceMs: unheardMs };
    if (isLive) return byItself;
    // Gone before anybody counted for the present selectors: it must not be counted at all.
    const isAnswered = this.#respecified.answered.has(pod.cell);
    if (endedAtMs !== undefined && endedAtMs < this.#respecified.atMs && !isAnswered) return undefined;
    if (lastLive === undefined || !this.#meets(this.criterion, lastLive, this.#ledger.nowMicros)) return byItself;
    return end === undefined ? byItself : this.#excuseOfAdmission(end, endedAtMs ?? end.atMs);
  }

  /** Undefined = this PodProtector has judged it. */
  #excuseOfAdmission(admission: Admission, sinceMs: number): Excuse | undefined {
    const name = this.#unjudged(admission);
    if (name === undefined) return undefined;
    return { name, sinceMs: name === "before an edit" ? this.editedAtMs : sinceMs };
  }

  /** Since when the pod has not met the criterion, as far as its versions are remembered. */
  #unmetSinceMs({ versions }: TruePod): number {
    const { nowMicros, kernel } = this.#ledger;
    const met = versions.findLastIndex((version) => this.#meets(this.criterion, version, nowMicros));
    return versions[met + 1]?.atMs ?? kernel.nowMs;
  }

  /**
   * True for an admission that this PodProtector has judged: not forced, and not from before its replica knew of it.
   */
  hasJudged(admission: Admission | undefined): boolean {
    return admission !== undefined && this.#unjudged(admission) === undefined;
  }

  /** Why it has not; undefined = it has. */
  #unjudged(admission: Admission): Exclusion | undefined {
    if (admission.isForced) return "forced";
    if (admission.isSuccessor) return "replaced under its name";
    if (admission.unknown.has(this.#name)) return "not told";
    if (admission.shadowed.has(this.#name)) return "in shadow";
    if (this.#selector === undefined || !matches(this.#selector, admission.labels)) return "not protected";
    return admission.atMs > this.editedAtMs || admission.recorded.has(this.#name) ? undefined : "before an edit";
  }

  /** The pod is there, selected for counting, and meets the criterion now. */
  meets(pod: TruePod, criterion = this.criterion): boolean {
    const present = pod.goneAt === undefined ? pod.versions.at(-1) : undefined;
    if (present === undefined || this.#isForeign(present.record, pod.cell)) return false;
    return this.#meets(criterion, present, this.#ledger.nowMicros);
  }

  /**
   * The counts include the pod among those that meet the criterion; or may, since it was Ready for long enough then,
   * whatever its Ready time says. `byItsTime`: they must.
   */
  isCounted(pod: TruePod, counts: Aggregation, criterion = this.criterion, byItsTime = false): boolean {
    let named = this.#named.get(counts);
    if (named === undefined) {
      const { resourceVersion, countedAt } = counts;
      const { nowMicros } = this.#ledger;
      const revision = Number(resourceVersion ?? Number.POSITIVE_INFINITY);
      named = { revision, countedAt: parseTime(countedAt), readAt: nowMicros };
      this.#named.set(counts, named);
    }
    const version = this.#ledger.versionAt(pod, named.revision);
    if (version === undefined || isLeftOutOf(counts, version.record)) return false;
    const { countedAt = this.#ledger.nowMicros, readAt } = named;
    if (this.#meets(criterion, { ...version, readyAtMs: undefined }, countedAt)) return true;
    return !byItsTime && this.#meets(criterion, version, readAt);
  }

  isMember({ labels, isTerminating, isTerminal }: PodRecord): boolean {
    return this.#counting !== undefined && matches(this.#counting, labels) && !isTerminating && !isTerminal;
  }

  /** By its Ready time, or by the truth where it has been Ready for longer than that says. */
  #meets(
    criterion: HealthCriterion,
    { record, readyAtMs }: Pick<PodVersion, "record" | "readyAtMs">,
    nowMicros: number,
  ): boolean {
    if (this.#counting === undefined || !matches(this.#counting, record.labels)) return false;
    if (criterion !== "Available") return canMeet(criterion, record);
    const minReadySeconds = this.object?.spec.minReadySeconds ?? 0;
    const from = availableFrom(record, minReadySeconds);
    if (from !== undefined && from <= nowMicros) return true;
    if (readyAtMs === undefined || record.isTerminating || record.isTerminal) return false;
    return this.#ledger.microsAt(readyAtMs) + minReadySeconds * 1_000_000 * driftShare <= nowMicros;
  }
}

/** What decides which pods are protected and counted. */
function judgedBy({ spec }: PodProtector): string {
  return JSON.stringify([spec.selector, spec.aggregationSelector, spec.minReadySeconds, spec.minAvailable > 0]);
}
