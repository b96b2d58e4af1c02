/**
 * A PodProtector as the webhook uses it: the object with its selectors compiled, and how deletions are judged by it. An
 * invalid object has no view; unusable-protector.ts says what is then in force.
 */
import { isDeepStrictEqual } from "node:util";
import { fieldsOf } from "../../api/json.ts";
import { objectKey } from "../../api/object-key.ts";
import { type Labels } from "../../api/pod.ts";
import { parseResourceVersion } from "../../api/resource-version.ts";
import { annotations, isInShadow } from "../../api/v1alpha1/names.ts";
import { type Aggregation, type PodProtector, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { CountedSpec } from "../../accounting/count/counted-spec.ts";
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { isForeign } from "../../accounting/count/foreign-owners.ts";
import { criterionFor } from "../../accounting/count/health-criterion.ts";
import { type HistoryConfig, historyConfigOf } from "../../accounting/history/history-config.ts";
import { type HistoryLimits } from "../../accounting/history/record.ts";
import { flawOf } from "../../accounting/history/status-flaw.ts";
import { type Fill, fillOf } from "../../accounting/history/status-room.ts";
import { type Disruption, type Need, needOf } from "../../accounting/reserve/disruption.ts";
import { reserve, type Reservation, type ReservationContext } from "../../accounting/reserve/reservation.ts";
import { type Stored } from "../../kube/informer.ts";
import { readProtector, type StoredProtector } from "../../kube/resources.ts";
import { compileSelector, formatSelector, matches, type CompiledSelector } from "../../label-index/index.ts";
import { type Clock } from "../../util/clock.ts";
import { type Deletion } from "../deletion.ts";
import { type Outline, outlineOf } from "./unusable-protector.ts";

export interface ProtectorView extends StoredProtector {
  readonly spec: CompiledSpec;
  /** The generator has marked the object as released: it is no longer in force. */
  readonly isReleased: boolean;
  /** It refuses nothing. */
  readonly isShadow: boolean;
  /** Of the status. */
  readonly fill: Fill;
}

interface CompiledSpec {
  /** Which pods are counted. */
  readonly counting: CompiledSelector;
  /** Which of the counted pods are protected; undefined = all. */
  readonly protecting: CompiledSelector | undefined;
  /** What counts must answer to be this object's. */
  readonly countedSpec: CountedSpec;
}

export type ReadView =
  | { readonly ok: true; readonly view: ProtectorView }
  /** `reason` says for people what is wrong with the object. */
  | { readonly ok: false; readonly reason: string };

/** What the informer stores: also an invalid object, so that it does not look deleted. */
export interface WatchedProtector extends Stored {
  readonly content:
    | { readonly ok: true; readonly stored: StoredProtector }
    | { readonly ok: false; readonly reason: string; readonly outline: Outline };
}

/** Undefined only for something without name, namespace, UID or version. Never throws. */
export function decodeWatched(raw: unknown): WatchedProtector | undefined {
  const content = readProtector(raw);
  if (content.ok) {
    const { key, uid, resourceVersion, protector } = content.stored;
    return {
      key,
      uid,
      resourceVersion,
      content: { ok: true, stored: { ...content.stored, protector: lean(protector) } },
    };
  }
  const { namespace, name, uid, resourceVersion: version } = fieldsOf(fieldsOf(raw)["metadata"]);
  const resourceVersion = parseResourceVersion(version);
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  if (resourceVersion === undefined) return undefined;
  return {
    key: objectKey(namespace, name),
    uid,
    resourceVersion,
    content: { ok: false, reason: content.reason, outline: outlineOf(raw) },
  };
}

/** Compiles the selectors, or takes them from `previous` when the spec is the same. */
export function viewOf(stored: StoredProtector, previous: ProtectorView | undefined): ReadView {
  const { metadata, status } = stored.protector;
  const flaw = flawOf(status);
  if (flaw !== undefined) return { ok: false, reason: flaw };
  const isReleased = Object.hasOwn(metadata.annotations ?? {}, annotations.released);
  const isShadow = isInShadow(metadata);
  const fill = fillOf(status);
  // An equal generation is no proof: after a restore of the core the same number is given to another edit.
  if (
    previous?.uid === stored.uid &&
    isDeepStrictEqual(judging(previous.protector.spec), judging(stored.protector.spec))
  ) {
    return { ok: true, view: { ...stored, spec: previous.spec, isReleased, isShadow, fill } };
  }
  const { selector, aggregationSelector, minReadySeconds } = stored.protector.spec;
  const protecting = compileSelector(selector);
  if (!protecting.ok) return { ok: false, reason: `spec.selector: ${protecting.reason}` };
  const counting = compileSelector(countingSelector(stored.protector.spec));
  if (!counting.ok) return { ok: false, reason: `spec.aggregationSelector: ${counting.reason}` };
  const spec: CompiledSpec = {
    counting: counting.selector,
    protecting: aggregationSelector === undefined ? undefined : protecting.selector,
    countedSpec: new CountedSpec(stored.uid, formatSelector(counting.selector), minReadySeconds),
  };
  return { ok: true, view: { ...stored, spec, isReleased, isShadow, fill } };
}

/** What is compiled. Other fields may be anything, and nested deeper than a comparison can go. */
function judging({ selector, aggregationSelector, minReadySeconds }: PodProtector["spec"]): object {
  return { selector, aggregationSelector, minReadySeconds };
}

/** The view of what a GET or PUT has answered. */
export function readView(stored: StoredProtector, previous: ProtectorView | undefined): ReadView {
  return viewOf({ ...stored, protector: lean(stored.protector) }, previous);
}

/** The settings of the rule, besides those of each PodProtector. */
export interface Rule {
  readonly clock: Clock;
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  /** Default: those of production. */
  readonly historyLimits?: HistoryLimits | undefined;
  /** Write pod names into the buckets of this cell. */
  readonly requiresPodName: (cellID: string) => boolean;
  /** How long an own admission is held that a Go aggregator drops; 0 = not at all (legacy-hold.ts). */
  readonly legacyCellHoldMs: number;
}

/** What besides the object itself deletions are judged by. */
export type CountsInForce = Pick<ReservationContext, "doubtOf" | "silentForMs" | "isRetiring" | "held" | "isOld">;

/** Judges `deletions` in the order given; all must be counted by `view`. */
export function judge(
  view: ProtectorView,
  countsInForce: CountsInForce,
  deletions: readonly Deletion[],
  { clock, history, historyLimits, requiresPodName }: Rule,
): Reservation {
  return reserve(
    view.protector,
    deletions.map((deletion) => disruptionUnder(view, deletion)),
    {
      now: clock.epochMicros(),
      config: historyConfigOf(view.protector.spec.admissionHistoryConfig, history),
      fill: view.fill,
      historyLimits,
      countedSpec: view.spec.countedSpec,
      requiresPodName,
      ...countsInForce,
    },
  );
}

/** What one deletion needs, whatever the counts are and leave out. It must be counted by `view`. */
export function needUnder(view: ProtectorView, deletion: Deletion, { clock }: Rule): Need {
  const { spec } = view.protector;
  const counts = countsOf(view, deletion);
  return needOf(disruptionUnder(view, deletion), spec, counts, clock.epochMicros());
}

/** Whether the counts of its cell leave the pod out. */
export function isForeignUnder(view: ProtectorView, deletion: Pick<Deletion, "cellID" | "pod">): boolean {
  return isForeign(deletion.pod, countsOf(view, deletion), view.protector.spec);
}

function countsOf({ protector }: ProtectorView, of: Pick<Deletion, "cellID">): Aggregation | undefined {
  return protector.status?.cells.find(({ cellID }) => cellID === of.cellID)?.aggregation;
}

function disruptionUnder(view: ProtectorView, deletion: Deletion): Disruption {
  const criterion = criterionFor(deletion.criterion, view.protector.spec);
  return { ...deletion, criterion, isProtected: isProtected(view, deletion.pod.labels) };
}

/** As if the object had this status. What it would hold is judged when it is written. */
export function withStatus(view: ProtectorView, status: PodProtectorStatus | undefined): ProtectorView {
  if (status === view.protector.status) return view;
  const { status: _, ...protector } = view.protector;
  return { ...view, protector: status === undefined ? protector : { ...protector, status } };
}

export function isCounted(view: ProtectorView, labels: Labels): boolean {
  return matches(view.spec.counting, labels);
}

/** For a counted pod: whether it is also protected. */
export function isProtected(view: ProtectorView, labels: Labels): boolean {
  return view.spec.protecting === undefined || matches(view.spec.protecting, labels);
}

/** Without managedFields: half of a small object's memory, and a write that lacks them leaves them as they are. */
function lean(protector: PodProtector): PodProtector {
  const { managedFields: _, ...metadata } = protector.metadata as typeof protector.metadata & {
    managedFields?: unknown;
  };
  return { ...protector, metadata };
}
