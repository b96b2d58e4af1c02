/**
 * The webhook of a simulation: judges deletions by the functions that the webhook judges by, one after the other, and
 * keeps in memory what it would have recorded. It knows what the cores' objects and Leases show, not what a webhook
 * remembers: counts that a restore has lost, PodProtectors that vanished, and pods that a Go component forgot.
 */
import { canMeet, criterionFor } from "../../accounting/count/health-criterion.ts";
import { figuresOf, type QuotaFigures } from "../../accounting/reserve/quota-figures.ts";
import { type RefusingVerdict } from "../../accounting/reserve/reservation.ts";
import { partsOf, type ProtectorID } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import { createNamespacedIndex, createSelectorIndex } from "../../label-index/index.ts";
import { type EpochMicros, type MonotonicMs } from "../../util/clock.ts";
import { type Deletion } from "../../webhook/deletion.ts";
import { countingMax } from "../../webhook/protector/protectors.ts";
import { isCounted, judge, type ProtectorView, type Rule, withStatus } from "../../webhook/protector/protector-view.ts";
import { type GonePod, settled } from "./replacement.ts";
import { type Guarding, withObject } from "./guarding.ts";

export interface GuardOptions {
  /** In force, of all cores. */
  readonly protectors: readonly Guarding[];
  /** For how long nothing has been heard from a cell about a PodProtector, in milliseconds; undefined = not silent. */
  readonly silentForMs: (core: string, cellID: string, protectorUID: string) => number | undefined;
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
const nothingHeld = { held: new Map(), countsLostUpTo: new Map() } as const;

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
    return specs.every((spec) => !canMeet(criterionFor(criterion, spec), pod, 0));
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
    return { ...nothingHeld, silentForMs: (cellID) => this.#options.silentForMs(core, cellID, uid) };
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
