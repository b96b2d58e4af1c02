/**
 * Kubernetes Events on the PodProtectors: what was refused and to whom, and which objects are invalid or gone. What was
 * refused is also told where developers look (developer-events.ts), and what was not, in shadow, is counted by a metric
 * (docs/webhook.md#shadow). No answer waits for an Event; the recorder aggregates, limits the rate and drops what does
 * not fit.
 */
import { noCellID } from "../../../api/cell-id.ts";
import { partsOf } from "../../../api/object-key.ts";
import { apiVersion } from "../../../api/v1alpha1/names.ts";
import { type EventRecorder } from "../../../kube/event-recorder.ts";
import { definitionName } from "../../../kube/pod-protectors.ts";
import { printable } from "../../../util/printable.ts";
import { type Deletion } from "../../deletion.ts";
import { type WebhookMetrics } from "../../metrics.ts";
import { type Protector } from "../../protector/protector.ts";
import { type Cause, type Refused } from "../decision.ts";
import { type DeveloperEvents } from "./developer-events.ts";
import { lostNodeText } from "../lost-nodes.ts";
import { type RefusedCallers } from "./refused-callers.ts";
import { type Tombstone } from "../../protector/departure.ts";

export interface ProtectorEventsOptions {
  /** By core. */
  readonly recorders: ReadonlyMap<string, EventRecorder>;
  readonly callers: RefusedCallers;
  readonly developers: DeveloperEvents;
  readonly metrics: Pick<WebhookMetrics, "wouldRefuse">;
}

export class ProtectorEvents {
  readonly #options: ProtectorEventsOptions;

  constructor(options: ProtectorEventsOptions) {
    this.#options = options;
  }

  /** On each of `protectors` that the causes of the refusal name, with the callers so far. */
  refused(refusal: Refused, protectors: readonly Protector[], deletion: Deletion, caller: string): void {
    const { callers, developers } = this.#options;
    const last = `last: ${whatIsAsked(deletion)}`;
    for (const [protector, { reason, message }] of named(refusal, protectors)) {
      const who = callers.refused(protector, reason, caller);
      this.#warn(protector, reason, `${who}; ${last}: ${message}`);
      developers.refused(protector, deletion, { who, last, message });
    }
  }

  /** The same for what is let go after all, because its Node object has been gone for so long. */
  letGo(refusal: Refused, protectors: readonly Protector[], deletion: Deletion): void {
    const what = whatIsAsked(deletion);
    for (const [protector, cause] of named(refusal, protectors))
      this.#warn(protector, "OrphanLetGo", `${what}, let go after --orphaned-pod-grace, although: ${cause.message}`);
  }

  /** What each of `protectors` that the causes name would have refused if it were not in shadow. */
  wouldRefuse(refusal: Refused, protectors: readonly Protector[], deletion: Deletion, caller: string): void {
    const { operation } = deletion;
    for (const [protector, cause] of named(refusal, protectors)) {
      this.#options.metrics.wouldRefuse({ podprotector: protector.id, operation, reason: cause.reason });
      this.#unrefused(protector, cause, deletion, { reason: "WouldRefuse", caller, fate: "would be refused" });
    }
  }

  /** What each of `protectors` that the causes name would have refused if nobody had forced it. */
  forced(refusal: Refused, protectors: readonly Protector[], deletion: Deletion, caller: string): void {
    const told = { reason: "ForcedDeletion", caller, fate: "were forced that would be refused" };
    for (const [protector, cause] of named(refusal, protectors)) this.#unrefused(protector, cause, deletion, told);
  }

  /** One Event with a count for each operation and caller. */
  #unrefused(
    protector: Protector,
    { reason, message }: Cause,
    deletion: Deletion,
    told: { readonly reason: string; readonly caller: string; readonly fate: string },
  ): void {
    const { operation } = deletion;
    const caller = printable(JSON.stringify(told.caller));
    const what = `${operation === "evict" ? "Evictions" : "Deletions"} by ${caller} ${told.fate}`;
    const last = `last: ${whatIsAsked(deletion)}: ${reason}: ${message}`;
    this.#warn(protector, told.reason, `${what}; ${last}`, protector.uid, `${operation} ${caller}`);
  }

  unusable(protector: Protector, reason: string): void {
    this.#warn(protector, "UnusablePodProtector", `It is invalid, so pod deletions are denied: ${reason}`);
  }

  /** It is gone without having been let go. A namespace that is gone as well takes no Event; the log has the line. */
  tombstone(protector: Protector, { uid }: Tombstone, message: string): void {
    this.#warn(protector, "PodProtectorLost", message, uid);
  }

  /** The CRD of the core is lost. */
  definitionLost(core: string, message: string): void {
    const regarding = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: definitionName };
    this.#options.recorders.get(core)?.record(regarding, "Warning", "PodProtectorCRDLost", message);
  }

  #warn({ core, key, uid: present }: Protector, reason: string, message: string, uid = present, series = ""): void {
    const regarding = { apiVersion, kind: "PodProtector", ...partsOf(key), uid };
    this.#options.recorders.get(core.name)?.record(regarding, "Warning", reason, message, series);
  }
}

function whatIsAsked({ pod, cellID, operation, lostNode }: Deletion): string {
  const where = `pod ${pod.name} in ${cellID === noCellID ? "no cell" : `cell ${JSON.stringify(cellID)}`}`;
  if (lostNode !== undefined) return `Garbage collection of ${where}, whose ${lostNodeText(lostNode)} is gone`;
  return `${operation === "delete" ? "Deletion" : "Eviction"} of ${where}`;
}

/** Those that the causes of the refusal name. */
function named({ causes }: Refused, protectors: readonly Protector[]): (readonly [Protector, Cause])[] {
  return protectors.flatMap((protector) => {
    const cause = causes.find(({ field }) => field === protector.id);
    return cause === undefined ? [] : [[protector, cause] as const];
  });
}
