/**
 * The webhook of a simulation: judges deletions by the functions that the webhook judges by, one after the other, and
 * keeps in memory what it would have recorded. It knows what the cores' objects and Leases show, not what a webhook
 * remembers: counts that a restore has lost, PodProtectors that vanished, and pods that a Go component forgot.
 *
 * PodProtectors as a simulation takes them: decoded as the webhook decodes them, with what is in force of an invalid
 * one. The door for objects of a core.
 *
 * What a PodProtector shows when deletions are over: nothing is promised any more, and in place of each pod that has
 * gone another one is available, if the pod has a controller that makes it. Pods that are not touched stay as they are.
 */
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { isLeftOutOf } from "../../accounting/count/foreign-owners.ts";
import { availableFrom, canMeet, criterionFor, type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { tellsAge } from "../../accounting/count/ready-times.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { figuresOf, type QuotaFigures } from "../../accounting/reserve/quota-figures.ts";
import { type RefusingVerdict } from "../../accounting/reserve/reservation.ts";
import { type ObjectKey, partsOf, type ProtectorID, protectorID } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import {
  type Aggregation,
  type CellStatus,
  type LabelSelector,
  type PodProtector,
} from "../../api/v1alpha1/pod-protector.ts";
import { createNamespacedIndex, createSelectorIndex } from "../../label-index/index.ts";
import { type EpochMicros, type MonotonicMs } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";
import { type Deletion } from "../../webhook/deletion.ts";
import {
  decodeWatched,
  isCounted,
  judge,
  type ProtectorView,
  type Rule,
  viewOf,
  withStatus,
} from "../../webhook/protector/protector-view.ts";
import { countingMax } from "../../webhook/protector/protectors.ts";
import { outlineOf } from "../../webhook/protector/unusable-protector.ts";

export interface GuardOptions {
  /** In force, of all cores. */
  readonly protectors: readonly Guarding[];
  /** For how long nothing has been heard from a cell about a PodProtector, in milliseconds; undefined = not silent. */
  readonly silentForMs: (core: string, cellID: string, protectorUID: string) => number | undefined;
  readonly isRetiring: (core: string, cellID: string) => boolean;
  readonly now: EpochMicros;
}

export interface Refusal {
  readonly id: ProtectorID;
  readonly verdict:
    | RefusingVerdict
    | { readonly kind: "unusable"; readonly reason: string }
    /** It is one of more PodProtectors of its core than can be asked about one pod. */
    | { readonly kind: "crowd" };
}

export type Answer =
  | {
      readonly kind: "admitted";
      /**
       * unguarded: no PodProtector counts it. ended: it is terminating or has finished. forced: by its annotation.
       * free: it takes from what is free. unneeded: it does not, as it is not available, or nothing protects it.
       */
      readonly why: "unguarded" | "ended" | "forced" | "free" | "unneeded";
      /** What those in shadow would have refused. */
      readonly shadowed: readonly Refusal[];
    }
  | { readonly kind: "refused"; readonly refusals: readonly [Refusal, ...Refusal[]] };

/** A PodProtector, and its object as it is by now. */
interface Judge {
  readonly guarding: Guarding;
  view: ProtectorView | undefined;
}

interface Opinion {
  readonly judge: Judge;
  readonly refusal?: Refusal;
  readonly needsQuota: boolean;
  /** As it would be written. */
  readonly next?: ProtectorView;
}

/** Of the flags, as their defaults have it. A PodProtector may set its own. */
const history = { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1_000 };
const nothingHeld = { held: new Map() } as const;

export class Guard {
  readonly #options: GuardOptions;
  readonly #rule: Rule;
  readonly #judges = new Map<ProtectorID, Judge>();
  /** Names of PodProtectors, by core. */
  readonly #indexes = new Map<string, ReturnType<typeof indexOfSelectors>>();

  constructor(options: GuardOptions) {
    this.#options = options;
    const { now } = options;
    this.#rule = {
      clock: { epochMicros: () => now, monotonicMs: () => 0 as MonotonicMs, setTimer: () => ({ cancel: () => {} }) },
      history,
      requiresPodName: () => false,
      legacyCellHoldMs: 0,
    };
    for (const guarding of options.protectors) {
      const { core, id, key, selector, state } = guarding;
      this.#judges.set(id, { guarding, view: state.kind === "valid" ? state.view : undefined });
      const index = this.#indexes.get(core) ?? indexOfSelectors();
      this.#indexes.set(core, index);
      const { namespace } = partsOf(key);
      index.track(namespace, id, selector);
    }
  }

  /** Those that count the pod, by core and name. */
  protectorsOf({ namespace, labels }: Pick<PodRecord, "namespace" | "labels">): readonly Guarding[] {
    return this.#judgesOf(namespace, labels).map(({ guarding }) => guarding);
  }

  /** What one of them shows now, by its own criterion. Undefined when it is unusable. */
  figuresOf(id: ProtectorID): QuotaFigures | undefined {
    const { guarding, view } = this.#judges.get(id) ?? {};
    if (guarding === undefined || view === undefined) return undefined;
    const { protector } = view;
    const context = { ...this.#countsOf(guarding), countedSpec: view.spec.countedSpec };
    return figuresOf(protector, protector.status?.cells ?? [], criterionFor(undefined, protector.spec), context);
  }

  /**
   * Whether the deletion is admitted now; what is admitted is promised from then on, by all PodProtectors that count
   * the pod. `isForced`: the pod has the annotation.
   */
  ask(deletion: Deletion): Answer {
    const { pod, isForced } = deletion;
    const judges = this.#judgesOf(pod.namespace, pod.labels);
    if (judges.length === 0) return admitted("unguarded");
    if (pod.isTerminating || pod.isTerminal) return admitted("ended");
    if (this.#cannotMeet(deletion, judges)) return admitted("unneeded");
    const crowd = isForced ? [] : crowdOf(judges);
    const opinions = judges.map((judge) => this.#opinionOf(judge, deletion));
    const refusals = [...crowd, ...opinions.flatMap(({ refusal }) => refusal ?? [])];
    const isShadow = ({ id }: Refusal): boolean => this.#judges.get(id)?.guarding.isShadow === true;
    const [first, ...others] = refusals.filter((refusal) => !isShadow(refusal));
    if (first !== undefined) return { kind: "refused", refusals: [first, ...others] };
    for (const { judge, next } of opinions) if (next !== undefined) judge.view = next;
    const why = isForced ? "forced" : opinions.some(({ needsQuota }) => needsQuota) ? "free" : "unneeded";
    return { kind: "admitted", why, shadowed: refusals };
  }

  /** All that was promised has settled, and the controllers of the pods that have gone have replaced them. */
  replaced(gone: readonly GonePod[]): void {
    for (const judge of this.#judges.values()) {
      const { guarding, view } = judge;
      if (view === undefined) continue;
      const { namespace } = partsOf(guarding.key);
      const ofIt = gone.filter(({ pod }) => pod.namespace === namespace && isCounted(view, pod.labels));
      // A drain has many rounds, and a core thousands of PodProtectors that it does not touch.
      if (ofIt.length > 0 || hasPromised(view))
        judge.view = withObject(view, settled(view.protector, ofIt, this.#options.now));
    }
  }

  #judgesOf(namespace: string, labels: PodRecord["labels"]): readonly Judge[] {
    return [...this.#indexes]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, index]) => index.query(namespace, labels).sort())
      .flatMap((id) => this.#judges.get(id as ProtectorID) ?? []);
  }

  /** The DELETE of a pod that meets nobody's criterion passes whatever the PodProtectors are. */
  #cannotMeet({ operation, pod, criterion }: Deletion, judges: readonly Judge[]): boolean {
    if (operation !== "delete") return false;
    const specs = judges.map(({ view }) => view?.protector.spec ?? {});
    return specs.every((spec) => !canMeet(criterionFor(criterion, spec), pod));
  }

  #opinionOf(judgeOf: Judge, deletion: Deletion): Opinion {
    const { guarding, view } = judgeOf;
    const { id, isShadow, state } = guarding;
    if (view === undefined) {
      const reason = state.kind === "unusable" ? state.reason : "it cannot be read";
      const refusal: Refusal = { id, verdict: { kind: "unusable", reason } };
      return { judge: judgeOf, needsQuota: true, ...(!deletion.isForced && { refusal }) };
    }
    const asked = isShadow ? { ...deletion, isShadow } : deletion;
    const { verdicts, status } = judge(view, this.#countsOf(guarding), [asked], this.#rule);
    const [verdict] = verdicts;
    const next = status === undefined ? {} : { next: withObject(view, withStatus(view, status).protector) };
    if (verdict?.kind !== "admitted")
      return { judge: judgeOf, needsQuota: true, ...(verdict && { refusal: { id, verdict } }) };
    const { need, insteadOf } = verdict;
    const needsQuota = need === "quota" || insteadOf !== undefined;
    return { judge: judgeOf, needsQuota, ...next, ...(insteadOf && { refusal: { id, verdict: insteadOf } }) };
  }

  #countsOf({ core, uid }: Guarding): Parameters<typeof judge>[1] {
    const { silentForMs, isRetiring } = this.#options;
    return {
      ...nothingHeld,
      silentForMs: (cellID) => silentForMs(core, cellID, uid),
      isRetiring: (cellID) => isRetiring(core, cellID),
    };
  }
}

function hasPromised({ protector }: ProtectorView): boolean {
  return protector.status?.cells.some(({ admissionHistory }) => (admissionHistory?.buckets ?? []).length > 0) === true;
}

function indexOfSelectors() {
  return createNamespacedIndex(createSelectorIndex);
}

function admitted(why: Extract<Answer, { readonly kind: "admitted" }>["why"]): Answer {
  return { kind: "admitted", why, shadowed: [] };
}

/** Refusals of the cores of which too many PodProtectors count the pod. */
function crowdOf(judges: readonly Judge[]): readonly Refusal[] {
  const perCore = Map.groupBy(judges, ({ guarding }) => guarding.core);
  return [...perCore.values()]
    .filter((some) => some.length > countingMax)
    .flatMap((some) => some.map(({ guarding: { id } }): Refusal => ({ id, verdict: { kind: "crowd" } })));
}

/** A PodProtector that is in force. */
export interface Guarding {
  readonly core: string;
  readonly id: ProtectorID;
  readonly key: ObjectKey;
  readonly uid: string;
  /** It is asked about pods that this selects. */
  readonly selector: LabelSelector;
  /** It refuses nothing. */
  readonly isShadow: boolean;
  readonly state:
    | { readonly kind: "valid"; readonly view: ProtectorView }
    /** It admits nothing. `reason` for people. */
    | { readonly kind: "unusable"; readonly reason: string };
}

/** Undefined for what is released, and for what is no object at all. Never throws. */
export function readGuarding(core: string, raw: unknown): Guarding | undefined {
  const watched = decodeWatched(raw);
  if (watched === undefined) return undefined;
  const { key, uid, content } = watched;
  const common = { core, id: protectorID(core, key), key, uid };
  const read = content.ok ? viewOf(content.stored, undefined) : content;
  if (read.ok) {
    const { view } = read;
    if (view.isReleased) return undefined;
    const { isShadow } = view;
    return { ...common, isShadow, selector: countingSelector(view.protector.spec), state: { kind: "valid", view } };
  }
  const { marks, selector, isShadow } = outlineOf(raw);
  if (marks.isReleased) return undefined;
  return { ...common, isShadow, selector, state: { kind: "unusable", reason: printable(read.reason) } };
}

/** The same with another object in place of a valid one: of the same UID, with a status that can be judged by. */
export function withObject(view: ProtectorView, protector: PodProtector): ProtectorView {
  const read = viewOf({ ...view, protector }, view);
  return read.ok ? read.view : view;
}

/** A counted pod that has gone. */
export interface GonePod {
  readonly cellID: string;
  readonly pod: PodRecord;
  /** It has a controller, which makes another one. */
  readonly isReplaced: boolean;
}

/** Which count of an aggregation answers a criterion. */
const countedFields = [
  ["Available", "availableReplicas"],
  ["Ready", "readyReplicas"],
  ["Running", "runningReplicas"],
  ["Initialized", "initializedReplicas"],
  ["Scheduled", "scheduledReplicas"],
] as const satisfies readonly (readonly [HealthCriterion, keyof Aggregation])[];

/**
 * `gone`: pods that this PodProtector counts. A cell that nobody has counted stays uncounted, and the other cells' old
 * counts stay old: replacements change numbers, not whether they are in force.
 */
export function settled(protector: PodProtector, gone: readonly GonePod[], now: EpochMicros): PodProtector {
  const { status, spec } = protector;
  if (status === undefined) return protector;
  const cells = status.cells.map(({ cellID, aggregation }): CellStatus => {
    if (aggregation === undefined) return { cellID };
    const ofCell = gone.filter((one) => one.cellID === cellID);
    return { cellID, aggregation: recounted(aggregation, ofCell, spec.minReadySeconds, now) };
  });
  return { ...protector, status: { ...status, cells, summary: summarize(cells, spec) } };
}

function recounted(
  before: Aggregation,
  gone: readonly GonePod[],
  minReadySeconds: number,
  now: EpochMicros,
): Aggregation {
  const counts: { -readonly [K in keyof Aggregation]: Aggregation[K] } = { ...before };
  for (const { pod, isReplaced } of gone) {
    // Such a pod is not counted any more: what comes in its place is there already, or counted when it comes.
    if (pod.isTerminating || pod.isTerminal || isLeftOutOf(before, pod)) continue;
    if (!isReplaced) counts.totalReplicas = Math.max(0, counts.totalReplicas - 1);
    for (const [criterion, field] of countedFields) {
      const known = counts[field];
      if (known === undefined) continue;
      const change = (isReplaced ? 1 : 0) - (meets(criterion, pod, minReadySeconds, now) ? 1 : 0);
      counts[field] = Math.max(0, known + change);
    }
  }
  return counts;
}

/** Whether the pod was counted for the criterion. */
function meets(criterion: HealthCriterion, pod: PodRecord, minReadySeconds: number, now: EpochMicros): boolean {
  if (!canMeet(criterion, pod)) return false;
  if (criterion !== "Available" || !tellsAge(pod.readySince, now)) return true;
  const from = availableFrom(pod, minReadySeconds);
  return from === undefined || from <= now;
}
