/**
 * What a webhook would answer to the deletion of a pod, by its own functions: the PodProtectors that count the pod, and
 * the verdict of each. What only the process of a webhook knows is left out: the tombstones and held pods in its
 * memory, and flags of its own, such as its dry run.
 */
import { type HealthCriterion, healthCriteria } from "../../accounting/count/health-criterion.ts";
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { silentFor } from "../../accounting/silence/glance.ts";
import { type PodRecord, readAnnotations, readPodRecord } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { flags } from "../../config/flag-table.ts";
import { type Clock } from "../../util/clock.ts";
import { floorOwnerOf } from "../../webhook/decide/refusals/floor-owner.ts";
import { explanation, refusalOf } from "../../webhook/decide/refusals/refusal.ts";
import { coreTroubleText, lateCells, unheardOf } from "../../webhook/decide/refusals/silence-text.ts";
import {
  isCounted,
  isProtected,
  judge,
  type ProtectorView,
  type Rule,
} from "../../webhook/protector/protector-view.ts";
import { type FleetCells } from "../fleet/cells.ts";

export type Operation = "delete" | "evict";

export interface AskedPod {
  readonly cellID: string;
  readonly pod: PodRecord;
  /** As the API server has it. */
  readonly raw: unknown;
}

/** One PodProtector's answer. */
export interface Judged {
  readonly verdict: Verdict;
  /** The text of a refusal; undefined = it admits. */
  readonly refusal: string | undefined;
  /** Cells that it waits for, and that should have been heard by now. */
  readonly unheard: readonly string[];
  /** Of that text, the reason alone, without numbers and advice. */
  readonly why: string | undefined;
}

/** The defaults of the flags, which a PodProtector may override. */
function ruleOf(clock: Clock): Rule {
  return {
    clock,
    history: {
      maxConcurrentLag: Number(flags["default-admission-history-config-max-concurrent-lag"].default),
      compactThreshold: Number(flags["default-admission-history-config-compact-threshold"].default),
      aggregationRateMs: Number(flags["default-admission-history-config-aggregation-rate"].default),
    },
    requiresPodName: () => false,
    legacyCellHoldMs: 0,
  };
}

/** Whether the PodProtector is about the pod, and whether it protects it. */
export function relationOf(view: ProtectorView, { labels }: PodRecord): "protected" | "counted" | "none" {
  if (view.isReleased || !isCounted(view, labels)) return "none";
  return isProtected(view, labels) ? "protected" : "counted";
}

/** The pod carries the annotation that forces its deletion. */
export function isForced({ raw }: Pick<AskedPod, "raw">): boolean {
  return Object.hasOwn(readAnnotations(raw), annotations.forceDelete);
}

/** `id`: core/namespace/name. The pod must be counted by `view`. */
export function judged(
  id: string,
  view: ProtectorView,
  asked: AskedPod,
  operation: Operation,
  { cells, clock }: { readonly cells: FleetCells | undefined; readonly clock: Clock },
): Judged {
  const inForce = {
    silentForMs: (cellID: string) => silentFor(cells?.cells.get(cellID)?.glance, view.uid),
    isRetiring: (cellID: string) => cells?.cells.get(cellID)?.lease.isForgotten === true,
    held: new Map(),
  };
  const { cellID, pod } = asked;
  const deletion = {
    operation,
    cellID,
    pod,
    criterion: criterionOf(asked),
    isForced: isForced(asked),
    isShadow: view.isShadow,
  };
  const [verdict] = judge(view, inForce, [deletion], ruleOf(clock)).verdicts as [Verdict];
  const refusing = verdict.kind === "admitted" ? verdict.insteadOf : verdict;
  const owner = floorOwnerOf(view.protector);
  if (refusing === undefined) return { verdict, refusal: undefined, unheard: [], why: undefined };
  const lateForMs = (late: string): number | undefined => cells?.cells.get(late)?.glance.lateForMs;
  const coreTrouble = coreTroubleText(undefined, cells?.unwrittenForMs);
  const { message } = refusalOf([{ id, verdict: refusing, owner, lateForMs, coreTrouble }], cellID);
  const unheard = unheardOf(refusing, lateCells(refusing.figures, lateForMs));
  return { verdict, refusal: message, unheard, why: explanation(refusing, cellID) };
}

/**
 * A pod that is counted and protected, as far as labels go, and serves for long; undefined where the selectors do not
 * tell what labels it has.
 */
export function typicalPod(view: ProtectorView, cellID: string): AskedPod | undefined {
  const { namespace } = view.protector.metadata;
  const labels = view.protector.spec.selector.matchLabels ?? {};
  const condition = { type: "Ready", status: "True", lastTransitionTime: "2000-01-01T00:00:00Z" };
  const scheduled = ["PodScheduled", "Initialized"].map((type) => ({ type, status: "True" }));
  const raw = {
    metadata: { name: "any", namespace, uid: "any", resourceVersion: "1", labels },
    status: { phase: "Running", conditions: [condition, ...scheduled] },
  };
  const pod = readPodRecord(raw);
  return pod === undefined || relationOf(view, pod) !== "protected" ? undefined : { cellID, pod, raw };
}

function criterionOf({ raw }: AskedPod): HealthCriterion | undefined {
  const value = readAnnotations(raw)[annotations.healthCriterion];
  return healthCriteria.find((criterion) => criterion === value);
}
