/** The Event that tells people of a workload that lacks its PodProtector. */
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { isKubeError, type KubeErrorKind } from "../../kube/kube-client.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { messageOf } from "../../util/printable.ts";

/** Somebody has to do something about these (a right, a quota, a policy, the CRD). Others go by themselves. */
const lastingErrors: ReadonlySet<KubeErrorKind> = new Set(["forbidden", "invalid", "notFound"]);

/** `error`: why its PodProtector cannot be created. */
export function recordUnprotectable(
  events: Pick<EventRecorder, "record">,
  { kind, namespace, name, uid }: SourceRecord,
  error: unknown,
): void {
  if (!isKubeError(error) || !lastingErrors.has(error.kind)) return;
  events.record(
    { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name, uid },
    "Warning",
    "Unprotectable",
    `This ${kind.kind} is not protected: its PodProtector cannot be created. ${messageOf(error)}`,
  );
}
