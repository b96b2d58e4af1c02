/**
 * Events about refusals where developers look, who may have no access to PodProtectors: on the workload that a
 * generated PodProtector stands for, and on the pod. They have recorders of their own, so that they never delay or
 * displace an Event on a PodProtector.
 *
 * The webhook writes Events into cores only. A pod has one where its cell is the core itself. In other worker clusters
 * the webhook has no right to write, and the aggregators, which are there, never learn of a refusal: nothing is written
 * about one.
 */
import { partsOf } from "../../../api/object-key.ts";
import { type EventRecorder } from "../../../kube/event-recorder.ts";
import { printable } from "../../../util/printable.ts";
import { type Deletion } from "../../deletion.ts";
import { type Protector } from "../../protector/protector.ts";
import { workloadOf } from "../refusals/floor-owner.ts";

export interface DeveloperRecorders {
  readonly workloads: EventRecorder;
  /** Undefined = the pods of reviews are not in this core. */
  readonly pods: EventRecorder | undefined;
}

/** What the Event on the PodProtector says. */
export interface RefusalText {
  /** The callers, counted. */
  readonly who: string;
  /** The deletion that was refused last. */
  readonly last: string;
  /** Why. */
  readonly message: string;
}

/** Not the reasons of the Events on PodProtectors, so that each of these can be counted alone. */
const reason = "DeletionRefused";

export class DeveloperEvents {
  /** By core. */
  readonly #recorders: ReadonlyMap<string, DeveloperRecorders>;

  constructor(recorders: ReadonlyMap<string, DeveloperRecorders>) {
    this.#recorders = recorders;
  }

  refused(protector: Protector, { pod, operation }: Deletion, { who, last, message }: RefusalText): void {
    const recorders = this.#recorders.get(protector.core.name);
    if (recorders === undefined) return;
    const { namespace, name } = partsOf(protector.key);
    const by = `PodProtector ${printable(name)}`;
    const workload = protector.view && workloadOf(protector.view.protector);
    if (workload !== undefined)
      recorders.workloads.record({ ...workload, namespace }, "Warning", reason, `${who}; ${by}; ${last}: ${message}`);
    const regarding = { apiVersion: "v1", kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid };
    const what = operation === "delete" ? "Deletion" : "Eviction";
    recorders.pods?.record(regarding, "Warning", reason, `${what} refused by ${by}: ${message}`);
  }
}
