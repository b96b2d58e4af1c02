/**
 * What a review asks: the deletion of which pod, judged by what. Deletions are read from oldObject alone, because a
 * deletecollection has no request.name; the pod of an eviction is read from its worker cluster with resourceVersion
 * unset, so that it is not a stale copy.
 */
import { type Labels, type PodRecord, readAnnotations, readPodRecord } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { asKubeError, resourcePath } from "../../kube/kube-client.ts";
import { pods } from "../../kube/resources.ts";
import { type Clock } from "../../util/clock.ts";
import { type AdmissionRequest } from "../http/admission-review.ts";
import { cellClient, type WorkerClients } from "./cell-clients.ts";
import type { CriterionAnnotation } from "../../config/config.ts";
import { criterionOf } from "./criteria.ts";
import { type Refused } from "./decision.ts";

/** Only an aggregator asks what time a pod proves; reading it takes as long as the rest of the pod. */
const noEventTime = (): undefined => undefined;

export type Subject =
  | {
      readonly kind: "deletion";
      readonly operation: "delete" | "evict";
      readonly pod: PodRecord;
      readonly criterion: HealthCriterion;
      /** Asked with dryRun: judge, but write nothing. */
      readonly isEvaluateOnly: boolean;
      readonly isForced: boolean;
    }
  /** Answered without looking at PodProtectors, unless `isForced`. */
  | { readonly kind: "refused"; readonly refusal: Refused; readonly isForced: boolean }
  | { readonly kind: "error"; readonly tag: string; readonly message: string; readonly isForced: boolean };

export interface SubjectContext {
  readonly cellID: string;
  readonly workers: WorkerClients;
  readonly healthCriteria: readonly CriterionAnnotation[];
  readonly clock: Clock;
  readonly deadlineMonotonicMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The kind of request as the label `cause` of webhook_request and `request_type` of webhook_handle_pod_in_ppr. */
export function causeOf(request: AdmissionRequest): "DeletePod" | "EvictPod" | "Unknown" {
  const { operation, resource, subResource } = request;
  if (resource.group !== "" || resource.version !== "v1" || resource.resource !== "pods") return "Unknown";
  if (operation === "DELETE" && subResource === "") return "DeletePod";
  return operation === "CREATE" && subResource === "eviction" ? "EvictPod" : "Unknown";
}

/** Reads the subject of a review. Never throws for what came from outside. */
export async function readSubject(request: AdmissionRequest, context: SubjectContext): Promise<Subject> {
  switch (causeOf(request)) {
    case "DeletePod":
      return deletionOf(request, context);
    case "EvictPod":
      return evictionOf(request, context);
    default:
      return { kind: "refused", refusal: notRelevant, isForced: false };
  }
}

const notRelevant: Refused = {
  kind: "refused",
  status: "NotRelevant",
  code: 500,
  reason: "InternalError",
  message: "Unexpected review subject; only pod deletions and evictions are handled by this webhook",
  causes: [],
  audit: {},
};

function deletionOf(request: AdmissionRequest, { healthCriteria }: SubjectContext): Subject {
  const raw = request.oldObject;
  if (raw === undefined) return failed("EmptyOldObject", "oldObject is missing in delete review request");
  if (raw === null) return failed("NilOldObject", "oldObject is nil");
  const own = readAnnotations(raw);
  const pod = readPodRecord(raw, undefined, noEventTime);
  if (pod === undefined) {
    return failed(
      "OldObjectJsonError",
      "oldObject is not a Pod with name, namespace, uid and resourceVersion",
      isForced(own),
    );
  }
  return {
    kind: "deletion",
    operation: "delete",
    pod,
    criterion: criterionOf(own, healthCriteria),
    isEvaluateOnly: request.dryRun === true,
    isForced: isForced(own),
  };
}

async function evictionOf(request: AdmissionRequest, context: SubjectContext): Promise<Subject> {
  const raw = request.object;
  if (raw === undefined) return failed("EmptyObject", "object is missing in eviction review request");
  if (raw === null || typeof raw !== "object") return failed("NilObject", "object is nil in eviction review request");
  const own = readAnnotations(raw);
  const read = await readPodOfEviction(request, context, isForced(own));
  if (read.kind !== "pod") return read;
  const pod = readPodRecord(read.raw, undefined, noEventTime);
  if (pod === undefined)
    return failed("PodJsonError", "the worker cluster answered with something that is not a Pod", isForced(own));
  // The Eviction's annotation wins over the Pod's, key by key.
  const merged = { ...readAnnotations(read.raw), ...own };
  return {
    kind: "deletion",
    operation: "evict",
    pod,
    criterion: criterionOf(merged, context.healthCriteria),
    isEvaluateOnly: request.dryRun === true || asksForDryRun(raw),
    isForced: isForced(merged),
  };
}

async function readPodOfEviction(
  request: AdmissionRequest,
  { cellID, workers, clock, deadlineMonotonicMs, signal }: SubjectContext,
  isForced: boolean,
): Promise<{ readonly kind: "pod"; readonly raw: unknown } | Exclude<Subject, { readonly kind: "deletion" }>> {
  const found = cellClient(workers, cellID);
  if (!found.ok) {
    return failed(
      `GetClientForEvictedPod/GetCellClient/${found.tag}`,
      `cannot get the client of the cell: ${found.reason}`,
      isForced,
    );
  }
  const { namespace, name } = request;
  if (!objectName.test(namespace) || !objectName.test(name)) {
    return failed("InvalidName", "the eviction review request names no pod", isForced);
  }
  const timeoutMs = deadlineMonotonicMs - clock.monotonicMs();
  if (timeoutMs <= 0) return failed("Timeout", "the deadline has passed", isForced);
  try {
    const raw = await found.client.request({
      method: "GET",
      path: resourcePath(pods, { namespace, name }),
      timeoutMs,
      ...(signal !== undefined && { signal }),
    });
    return { kind: "pod", raw };
  } catch (error) {
    const { kind, message: problem, status } = asKubeError(error);
    if (kind !== "notFound")
      return failed(`GetEvictedPod/${kind}`, `cannot get pod for eviction: ${problem}`, isForced);
    const message = status?.message ?? `pods ${JSON.stringify(name)} not found`;
    const refusal = {
      kind: "refused",
      status: "NotFound",
      code: 404,
      reason: "NotFound",
      message,
      causes: [],
      audit: {},
    } as const;
    return { kind: "refused", refusal, isForced };
  }
}

/** What Kubernetes allows in names of pods and namespaces; keeps "." and ".." out of the path. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function isForced(own: Labels): boolean {
  return Object.hasOwn(own, annotations.forceDelete);
}

/** deleteOptions.dryRun of an Eviction: not empty means "All", the only value that there is. */
function asksForDryRun(eviction: object): boolean {
  const options: unknown = (eviction as { readonly deleteOptions?: unknown }).deleteOptions;
  if (typeof options !== "object" || options === null) return false;
  const dryRun: unknown = (options as { readonly dryRun?: unknown }).dryRun;
  return Array.isArray(dryRun) && dryRun.length > 0;
}

function failed(tag: string, message: string, isForced = false): Extract<Subject, { readonly kind: "error" }> {
  return { kind: "error", tag, message, isForced };
}
