/** What people are told of held changes: Events, log lines and metrics (docs/mass-changes.md#what-you-see). */
import { type SourceRecord } from "../../sources/source.ts";
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type EventRecorder, type ObjectReference } from "../../kube/event-recorder.ts";
import { generatorStateName } from "../../kube/generator-state.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter, type Metrics } from "../../util/metrics.ts";
import { inLogs } from "../sources/source-plan.ts";
import { isKeptCause } from "../sources/kept.ts";
import { type Approval } from "./approval.ts";
import { type JudgedChange } from "./judged-change.ts";
import { isLostKind } from "./namespaces-and-kinds.ts";

type HeldChange = Pick<JudgedChange, "source" | "change" | "heldBy" | "kept" | "terminatingNamespace">;

export interface AnnouncementsOptions {
  readonly events: Pick<EventRecorder, "record">;
  /** Of the ConfigMap. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Of a text in a message: more than any valid cause has. */
const shownMax = 200;

export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #holds: Counter;
  readonly #ownChanges: Counter;
  readonly #alarms: Counter;
  readonly #configMap: ObjectReference;

  constructor(options: AnnouncementsOptions) {
    const { metrics, namespace } = options;
    this.#options = options;
    this.#configMap = { apiVersion: "v1", kind: "ConfigMap", namespace, name: generatorStateName };
    this.#holds = metrics.counter(
      "generator_changes_held_total",
      "Changes of sources and of modes that were held: too many others had the same cause, or their owners keep them",
    );
    this.#ownChanges = metrics.counter(
      "generator_own_floor_changes_total",
      "Floors that were lowered far although their sources had not changed: by a flag, a new release, or repair",
    );
    this.#alarms = metrics.counter(
      "generator_namespace_deletion_alarms_total",
      "Times that too many namespaces were being deleted at once in a core that runs the pods itself",
    );
  }

  latched(cause: string): void {
    const what = isKeptCause(cause)
      ? "Holding a change of what is to be kept"
      : "Too many changes with one cause, holding them";
    this.#options.logger.error(what, { cause, approve: this.#howTo(cause) });
  }

  unlatched(cause: string): void {
    this.#options.logger.info("No change with this cause is held any more", { cause });
  }

  held(change: HeldChange): void {
    const { events, logger } = this.#options;
    const { source, heldBy: cause, terminatingNamespace } = change;
    const { kind, namespace, name } = source;
    this.#holds.inc();
    logger.warn(`Holding the change of a ${kind.kind}`, { ...inLogs(source), ...textsOf(change), cause });
    const regarding =
      terminatingNamespace === undefined
        ? { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name, uid: source.uid }
        : { apiVersion: "v1", kind: "Namespace", name: namespace, uid: terminatingNamespace };
    const message = `${this.#messageOf(change)}. To let it pass: ${this.#howTo(cause)}`;
    events.record(regarding, "Warning", "ChangeHeld", message);
  }

  condition(change: HeldChange | undefined): FoundConditions {
    if (change === undefined) return { ChangeHeld: false };
    const reason = isKeptCause(change.heldBy) ? "Kept" : "MassChange";
    return { ChangeHeld: { reason, message: this.#messageOf(change) } };
  }

  /** Each by itself, for the metric; the first one is said. */
  ownChange(source: SourceRecord, isFirst: boolean): void {
    this.#ownChanges.inc();
    if (!isFirst) return;
    const { events, logger } = this.#options;
    const what = `Lowering floors, one after the other, of ${source.kind.kind}s that have not changed`;
    const why = "a flag, a new release of the generator, or an edited PodProtector";
    logger.warn(what, { why, first: source.key });
    const message = `${what} (${why}); ${source.key} is the first`;
    events.record(this.#configMap, "Normal", "FloorsLowered", message);
  }

  manyNamespaces(namespace: string, uid: string): void {
    const { events, logger } = this.#options;
    this.#alarms.inc();
    const what = "Too many namespaces are being deleted at once";
    logger.error(`${what}. Their pods cannot be protected any more, so nothing is held`, { namespace });
    const regarding = { apiVersion: "v1", kind: "Namespace", name: namespace, uid };
    events.record(regarding, "Warning", "ManyNamespacesDeleted", `${what}, this one among them`);
  }

  approved({ cause, reason }: Approval, changes: number): void {
    const { events, logger } = this.#options;
    logger.warn("A person has approved held changes", { cause, reason, changes });
    events.record(this.#configMap, "Normal", "ChangesApproved", `${changes} held changes pass: ${shown(cause)}`);
  }

  ignoredApproval(text: string, why: string): void {
    const { events, logger } = this.#options;
    const message = `Ignoring the annotation ${annotations.approve}=${JSON.stringify(shown(text))}: ${why}`;
    logger.warn("Ignoring an approval", { text: shown(text), why });
    events.record(this.#configMap, "Warning", "AnnotationIgnored", message);
  }

  #messageOf(change: HeldChange): string {
    const { kind, name } = change.source;
    const { heldBy, kept } = change;
    if (kept !== undefined && !kept.isFall && isKeptCause(heldBy))
      return (
        `${kind.kind} ${name} is no longer to be kept at ${kept.atLeast}: ${annotations.keep} was taken away, or ` +
        `lowered (cause ${heldBy}). It stays in force, and the floor is not lowered, until a person approves, the ` +
        "change is undone, or ten minutes have passed"
      );
    const { wish } = textsOf(change);
    const many = isLostKind(heldBy) ? "while its kind is being deleted" : "and too many others do so at once";
    const why = isKeptCause(heldBy) ? `and ${annotations.keep} is ${kept?.atLeast ?? 1}` : many;
    return (
      `${kind.kind} ${name} asks ${wish}, ${why} (cause ${heldBy}). ` +
      "Until a person approves, or the change is undone, the floor stays"
    );
  }

  #howTo(cause: string): string {
    const approval = JSON.stringify({ cause, until: "<RFC 3339>", reason: "<why>" });
    const annotate = `kubectl -n ${this.#options.namespace} annotate configmap ${generatorStateName} --overwrite`;
    return `${annotate} ${annotations.approve}='${approval}'`;
  }
}

function textsOf({ change: { from, to } }: HeldChange): { readonly wish: string } {
  if (to === "shadow") return { wish: `to refuse nothing any more, with its floor of ${from} in shadow` };
  return { wish: to === undefined ? `to release its floor of ${from}` : `for a floor of ${to} instead of ${from}` };
}

function shown(text: string): string {
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
