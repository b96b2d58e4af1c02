/**
 * A deletion in disguise (docs/system-deletions.md#node-objects-that-are-gone): pod garbage collection finds pods whose
 * Node object is gone, writes the phase Failed through pods/status, and deletes them only then, when they count for
 * nothing any more. So the status write is what has to be judged. Like a DELETE it commits only at the version that was
 * reviewed: a pod that changes meanwhile is reviewed again.
 *
 * The webhook configuration asks for these writes only. They are recognised here once more, because nothing else that
 * writes a pod's status may ever be refused: a kubelet least of all.
 */
import { fieldsOf } from "../../../api/json.ts";

/** With --use-service-account-credentials of kube-controller-manager. */
export const podGarbageCollector = "system:serviceaccount:kube-system:pod-garbage-collector";
/** And without, when it is all controllers. No other one ends pods so. */
const podGarbageCollectors: readonly string[] = [podGarbageCollector, "system:kube-controller-manager"];

/**
 * Repairs dead nodes, after a patience and with brakes of its own for zones: taint eviction uses the account of the
 * node controller. Where all controllers share one account nobody tells it from the others.
 */
export const nodeController = "system:serviceaccount:kube-system:node-controller";

/** Kubernetes allows no longer ones. What is longer is nobody's. */
const nodeNameLengthMax = 253;

/** A write of a pod's status: who asks for it, and the pod as it would be. */
interface StatusWrite {
  readonly userInfo: { readonly username: string };
  readonly object?: unknown;
}

/** Whether it is one by which pod garbage collection ends a pod. Never throws. */
export function endsPod({ userInfo, object }: StatusWrite): boolean {
  return podGarbageCollectors.includes(userInfo.username) && hasFinished(object);
}

function hasFinished(pod: unknown): boolean {
  const { phase } = fieldsOf(fieldsOf(pod)["status"]);
  return phase === "Failed" || phase === "Succeeded";
}

/** The node of a raw pod; "" = none. Never throws. */
export function nodeNameOf(pod: unknown): string {
  const { nodeName } = fieldsOf(fieldsOf(pod)["spec"]);
  return typeof nodeName === "string" && nodeName.length <= nodeNameLengthMax ? nodeName : "";
}
