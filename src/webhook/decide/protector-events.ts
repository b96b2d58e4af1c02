/**
 * Kubernetes Events on the PodProtectors: what was refused, and which objects are invalid or gone. No answer waits for
 * an Event; the recorder aggregates, limits the rate and drops what does not fit.
 */
import { partsOf } from "../../api/object-key.ts";
import { apiVersion } from "../../api/v1alpha1/names.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { definitionName } from "../../kube/protector-definition.ts";
import { type Deletion } from "../deletion.ts";
import { type Protector } from "../protector/protector.ts";
import { type Tombstone } from "../protector/tombstone.ts";
import { type Refused } from "./decision.ts";

export class ProtectorEvents {
  /** By core. */
  readonly #recorders: ReadonlyMap<string, EventRecorder>;

  constructor(recorders: ReadonlyMap<string, EventRecorder>) {
    this.#recorders = recorders;
  }

  /** On each of `protectors` that the causes of the refusal name. */
  refused({ causes }: Refused, protectors: readonly Protector[], { pod, cellID, operation }: Deletion): void {
    for (const protector of protectors) {
      const cause = causes.find(({ field }) => field === protector.id);
      if (cause === undefined) continue;
      const what = operation === "delete" ? "Deletion" : "Eviction";
      const where = `pod ${pod.name} in cell ${JSON.stringify(cellID)}`;
      this.#warn(protector, cause.reason, `${what} of ${where} refused: ${cause.message}`);
    }
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
