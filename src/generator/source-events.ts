/** The Events that tell people of a workload without its PodProtector, and of a PodProtector without its workload. */
import { type DeploymentRecord } from "../api/deployment.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { isKubeError, type KubeErrorKind } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { messageOf } from "../util/error-message.ts";

type Events = Pick<EventRecorder, "record">;

/** Somebody has to do something about these (a right, a quota, a policy, the CRD). Others go by themselves. */
const lastingErrors: ReadonlySet<KubeErrorKind> = new Set(["forbidden", "invalid", "notFound"]);

/** `error`: why its PodProtector cannot be created. */
export function recordUnprotectable(events: Events, { facts, uid }: DeploymentRecord, error: unknown): void {
  if (!isKubeError(error) || !lastingErrors.has(error.kind)) return;
  const { namespace, name } = facts;
  events.record(
    { apiVersion: "apps/v1", kind: "Deployment", namespace, name, uid },
    "Warning",
    "Unprotectable",
    `This Deployment is not protected: its PodProtector cannot be created. ${messageOf(error)}`,
  );
}

export function recordDangling(events: Events, { protector, uid }: StoredProtector): void {
  const { namespace, name } = protector.metadata;
  events.record(
    { apiVersion: protector.apiVersion, kind: "PodProtector", namespace, name, uid },
    "Warning",
    "Dangling",
    "The source Deployment vanished without being deleted. This PodProtector stays in force. " +
      `Once the workload is really gone, annotate it with ${annotations.released}=true, and it will be deleted.`,
  );
}
