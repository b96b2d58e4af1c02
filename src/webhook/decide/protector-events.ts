/**
 * Kubernetes Events on the PodProtectors: what was refused, and which objects are invalid or gone. No answer waits for
 * an Event; the recorder aggregates, limits the rate and drops what does not fit.
 */
import { noCellID } from "../../api/cell-id.ts";
import { partsOf } from "../../api/object-key.ts";
import { apiVersion } from "../../api/v1alpha1/names.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { definitionName } from "../../kube/protector-definition.ts";
import { type Deletion } from "../deletion.ts";
import { type Protector } from "../protector/protector.ts";
import { type Cause, type Refused } from "./decision.ts";
import { lostNodeText } from "./lost-nodes.ts";
import { type Tombstone } from "../protector/tombstone.ts";

export class ProtectorEvents {
  /** By core. */
  readonly #recorders: ReadonlyMap<string, EventRecorder>;

  constructor(recorders: ReadonlyMap<string, EventRecorder>) {
    this.#recorders = recorders;
  }

  /** On each of `protectors` that the causes of the refusal name. */
  refused(refusal: Refused, protectors: readonly Protector[], deletion: Deletion): void {
    const what = whatIsAsked(deletion);
    for (const [protector, cause] of named(refusal, protectors))
      this.#warn(protector, cause.reason, `${what} refused: ${cause.message}`);
  }

  /** The same for what is let go after all, because its Node object has been gone for so long. */
  letGo(refusal: Refused, protectors: readonly Protector[], deletion: Deletion): void {
    const what = whatIsAsked(deletion);
    for (const [protector, cause] of named(refusal, protectors))
      this.#warn(protector, "OrphanLetGo", `${what} let go after --orphaned-pod-grace, although: ${cause.message}`);
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
    this.#recorders.get(core)?.record(regarding, "Warning", "PodProtectorCRDLost", message);
  }

  #warn({ core, key, uid: present }: Protector, reason: string, message: string, uid = present): void {
    const regarding = { apiVersion, kind: "PodProtector", ...partsOf(key), uid };
    this.#recorders.get(core.name)?.record(regarding, "Warning", reason, message);
  }
}

function whatIsAsked({ pod, cellID, operation, lostNode }: Deletion): string {
  const where = `pod ${pod.name} in ${cellID === noCellID ? "no cell" : `cell ${JSON.stringify(cellID)}`}`;
  if (lostNode !== undefined) return `Garbage collection of ${where}, whose ${lostNodeText(lostNode)} is gone,`;
  return `${operation === "delete" ? "Deletion" : "Eviction"} of ${where}`;
}

/** Those that the causes of the refusal name. */
function named({ causes }: Refused, protectors: readonly Protector[]): (readonly [Protector, Cause])[] {
  return protectors.flatMap((protector) => {
    const cause = causes.find(({ field }) => field === protector.id);
    return cause === undefined ? [] : [[protector, cause] as const];
  });
}
