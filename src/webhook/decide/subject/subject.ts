/**
 * What a review asks: the deletion of which pod, judged by what. The only reader of an AdmissionRequest. What it
 * returns does not hold the request: a review may wait for seconds, and a large pod takes twenty times its bytes.
 *
 * Deletions are read from oldObject alone, because a deletecollection has no request.name. The pod of an eviction is
 * read from its worker cluster with resourceVersion unset, so that it is not a stale copy (docs/kubernetes.md#reviews).
 * A write of a pod's status that is a deletion in disguise is read like a deletion.
 */
import { type HealthCriterion } from "../../../accounting/count/health-criterion.ts";
import { type Labels, type PodRecord, readAnnotations, readPodRecord } from "../../../api/pod.ts";
import { annotations } from "../../../api/v1alpha1/names.ts";
import { type CriterionAnnotation } from "../../../config/config.ts";
import { asKubeError, type KubeClient, resourcePath } from "../../../kube/kube-client.ts";
import { pods } from "../../../kube/resources.ts";
import { fieldsOf } from "../../../api/json.ts";
import { assertNever } from "../../../util/assert.ts";
import { printable } from "../../../util/printable.ts";
import { type Clock, type MonotonicMs } from "../../../util/clock.ts";
import { type Refused } from "../decision.ts";
import { endsPod, nodeController, nodeNameOf } from "./disguised-deletion.ts";
import { controllerUIDOf, parsePod } from "./pod-fields.ts";
import { type PodReads } from "./pod-reads.ts";

/**
 * Of an evicted pod as JSON: etcd keeps objects at 1.5 MiB. The API server that answers may be in the hands of somebody
 * else, and 32 answers at once must fit into the heap of a webhook that serves other clusters, too.
 */
const podBytesMax = 4 * 1024 * 1024;

/** What an AdmissionReview asks; absent texts are "". */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userInfo: { readonly username: string };
  readonly dryRun?: boolean | null | undefined;
  readonly object?: unknown;
  readonly oldObject?: unknown;
}

/** Only an aggregator asks what time a pod proves; reading it takes as long as the rest of the pod. */
const noEventTime = (): undefined => undefined;

export type Subject =
  | {
      readonly kind: "deletion";
      readonly operation: "delete" | "evict";
      readonly pod: PodRecord;
      /** An eviction whose precondition is the very version of `pod`. */
      readonly namesVersion?: boolean;
      /** What it asks for; undefined = each PodProtector judges by its own. */
      readonly criterion: HealthCriterion | undefined;
      /** Asked with dryRun: judge, but write nothing. */
      readonly isEvaluateOnly: boolean;
      readonly isForced: boolean;
      /** UID of what controls the pod; absent = nothing does, or it is an eviction. */
      readonly owner?: string;
      /** By the controller that repairs dead nodes. */
      readonly isRepair?: boolean;
      /** Of a deletion in disguise: the node whose Node object is gone ("" = unknown). */
      readonly lostNode?: string;
    }
  /** A write of a pod's status that is no deletion in disguise. */
  | { readonly kind: "no-deletion"; readonly isForced: false }
  /** An eviction in a namespace without PodProtectors, whose pod is not read. */
  | { readonly kind: "unread"; readonly isForced: false }
  /** A dry run of the eviction of a pod that is not there: answered like that of a pod that nothing protects. */
  | { readonly kind: "absent"; readonly isForced: false }
  /** Answered without looking at PodProtectors, unless `isForced`. */
  | { readonly kind: "refused"; readonly refusal: Refused; readonly isForced: boolean }
  | { readonly kind: "error"; readonly tag: string; readonly message: string; readonly isForced: boolean };

/** The kind of request, as the label `cause` of webhook_request. */
export type Cause = "DeletePod" | "EvictPod" | "EndPod" | "Unknown";

/** A review, as far as its request tells. */
export interface Review {
  readonly cause: Cause;
  /** Who asked. */
  readonly user: string;
  /** Allowed whatever is decided. The pod of an eviction may say so as well. */
  readonly isForced: boolean;
  /** Of an eviction, whose pod has to be read: the namespace that it names. */
  readonly evictedFrom?: string;
  /** What is to be decided. Reads the pod of an eviction each time. Never rejects for what came from outside. */
  readonly read: () => Subject | Promise<Subject>;
}

/** The providers of --webhook-worker-client-provider. */
export type WorkerClients =
  | { readonly kind: "none" }
  /** One worker cluster for all cells. */
  | { readonly kind: "single"; readonly client: KubeClient }
  /** By cell ID; other cells are unknown. */
  | { readonly kind: "map"; readonly clients: ReadonlyMap<string, KubeClient> };

export interface SubjectOptions {
  readonly workers: WorkerClients;
  /** Whether the cell may be one of those that a single worker cluster holds. */
  readonly isKnownCell: (cellID: string) => boolean;
  readonly podReads: PodReads;
  readonly healthCriteria: readonly CriterionAnnotation[];
  readonly clock: Clock;
}

/** Of one review. */
export interface SubjectContext {
  readonly cellID: string;
  readonly deadlineMonotonicMs: MonotonicMs;
  readonly signal: AbortSignal | undefined;
  /** The address that it came from; absent = unknown. */
  readonly peer?: string;
  /** The same, where no client certificate tells who it is. */
  readonly unidentifiedPeer?: string | undefined;
}

/** Never throws for what came from outside. */
export function readReview(request: AdmissionRequest, options: SubjectOptions, context: SubjectContext): Review {
  const cause = causeOf(request);
  const user = request.userInfo.username;
  switch (cause) {
    case "DeletePod":
      return decided(cause, user, deletionOf(request, options));
    case "EvictPod":
      return evictionOf(request, options, context);
    case "EndPod":
      return decided(cause, user, endOf(request, options));
    case "Unknown":
      return decided(cause, user, { kind: "refused", refusal: notRelevant, isForced: false });
    default:
      return assertNever(cause);
  }
}

function causeOf({ operation, resource, subResource }: AdmissionRequest): Cause {
  if (resource.group !== "" || resource.version !== "v1" || resource.resource !== "pods") return "Unknown";
  if (operation === "DELETE" && subResource === "") return "DeletePod";
  if (operation === "UPDATE" && subResource === "status") return "EndPod";
  return operation === "CREATE" && subResource === "eviction" ? "EvictPod" : "Unknown";
}

/** Nothing more is to be read. */
function decided(cause: Cause, user: string, subject: Subject): Review {
  return { cause, user, isForced: subject.isForced, read: () => subject };
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

function deletionOf(request: AdmissionRequest, { healthCriteria }: SubjectOptions): Subject {
  const { oldObject: raw, dryRun, userInfo } = request;
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
  const excess = excessOf(pod);
  if (excess !== undefined) return failed("OldObjectJsonError", `oldObject is not a Pod: ${excess}`, isForced(own));
  const owner = controllerUIDOf(raw);
  return {
    kind: "deletion",
    operation: "delete",
    pod,
    criterion: criterionOf(own, healthCriteria),
    isEvaluateOnly: dryRun === true,
    isForced: isForced(own),
    ...(owner !== undefined && { owner }),
    ...(userInfo.username === nodeController && { isRepair: true }),
  };
}

/** Judged as the deletion of the pod as it was before the write. */
function endOf(request: AdmissionRequest, options: SubjectOptions): Subject {
  if (!endsPod(request)) return { kind: "no-deletion", isForced: false };
  const subject = deletionOf(request, options);
  return subject.kind === "deletion" ? { ...subject, lostNode: nodeNameOf(request.oldObject) } : subject;
}

/** Kubernetes gives out UIDs of 36 characters. The CRD accepts no longer ones than this in a status. */
const uidLengthMax = 128;
const nameLengthMax = 253;
const namespaceLengthMax = 63;

/** What of the pod is longer than Kubernetes has it, so that it must not get into a status; undefined = nothing. */
function excessOf({ uid, name, namespace }: PodRecord): string | undefined {
  if (uid.length > uidLengthMax) return `its uid has more than ${uidLengthMax} characters`;
  if (name.length > nameLengthMax) return `its name has more than ${nameLengthMax} characters`;
  return namespace.length > namespaceLengthMax
    ? `its namespace has more than ${namespaceLengthMax} characters`
    : undefined;
}

/** An Eviction, without the request that it came in. */
interface Eviction {
  readonly namespace: string;
  readonly name: string;
  /** Its own annotations. */
  readonly annotations: Labels;
  readonly isEvaluateOnly: boolean;
  /** What the pod must be; whoever does not say so names none. */
  readonly preconditions: { readonly uid?: unknown; readonly resourceVersion?: unknown };
}

function evictionOf(
  { object: raw, userInfo, namespace, name, dryRun }: AdmissionRequest,
  subject: SubjectOptions,
  context: SubjectContext,
): Review {
  const cause = "EvictPod";
  const user = userInfo.username;
  if (raw === undefined)
    return decided(cause, user, failed("EmptyObject", "object is missing in eviction review request"));
  if (raw === null || typeof raw !== "object")
    return decided(cause, user, failed("NilObject", "object is nil in eviction review request"));
  const own = readAnnotations(raw);
  const options = fieldsOf(fieldsOf(raw)["deleteOptions"]);
  const isEvaluateOnly = dryRun === true || asksForDryRun(options);
  const preconditions = fieldsOf(options["preconditions"]);
  const eviction = { namespace, name, annotations: own, isEvaluateOnly, preconditions };
  const read = reading(eviction, subject, context);
  return { cause, user, isForced: isForced(own), evictedFrom: namespace, read };
}

function reading(eviction: Eviction, options: SubjectOptions, context: SubjectContext): () => Promise<Subject> {
  return () => readEviction(eviction, options, context);
}

async function readEviction(eviction: Eviction, options: SubjectOptions, context: SubjectContext): Promise<Subject> {
  const read = await readPodOf(eviction, options, context);
  if (read.kind !== "pod") return read;
  const pod = readPodRecord(read.raw, undefined, noEventTime);
  if (pod === undefined) {
    const message = "the worker cluster answered with something that is not a Pod";
    return failed("PodJsonError", message, isForced(eviction.annotations));
  }
  // The Eviction's annotation takes precedence over the Pod's, key by key.
  const merged = { ...readAnnotations(read.raw), ...eviction.annotations };
  const { resourceVersion: named } = eviction.preconditions;
  const conflict = conflictOf(eviction.preconditions, pod);
  if (conflict !== undefined && !isForced(merged)) return { kind: "refused", refusal: conflict, isForced: false };
  return {
    kind: "deletion",
    operation: "evict",
    pod,
    ...(conflict === undefined && named === pod.resourceVersion && { namesVersion: true }),
    criterion: criterionOf(merged, options.healthCriteria),
    isEvaluateOnly: eviction.isEvaluateOnly,
    isForced: isForced(merged),
  };
}

/**
 * An API server compares the preconditions after it has asked us, so such an eviction would fail, and hold quota for a
 * settle window. It is not let through without a record: under a mistyped cell, another cluster's pod was read.
 */
function conflictOf({ uid, resourceVersion }: Eviction["preconditions"], pod: PodRecord): Refused | undefined {
  const failing =
    typeof uid === "string" && uid !== pod.uid
      ? (["UID", uid, pod.uid] as const)
      : typeof resourceVersion === "string" && resourceVersion !== "" && resourceVersion !== pod.resourceVersion
        ? (["ResourceVersion", resourceVersion, pod.resourceVersion] as const)
        : undefined;
  if (failing === undefined) return undefined;
  const [what, asked, present] = failing;
  const message =
    `Operation cannot be fulfilled on Pod ${JSON.stringify(pod.name)}: the ${what} in the precondition ` +
    `(${printable(asked.slice(0, uidLengthMax))}) does not match the ${what} in record (${present})`;
  return { kind: "refused", status: "Conflict", code: 409, reason: "Conflict", message, causes: [], audit: {} };
}

type ReadPod =
  | { readonly kind: "pod"; readonly raw: unknown }
  | Extract<Subject, { readonly kind: "refused" | "error" | "absent" }>;

async function readPodOf(
  { namespace, name, annotations: own, isEvaluateOnly }: Eviction,
  { workers, isKnownCell, podReads, clock }: SubjectOptions,
  { cellID, deadlineMonotonicMs, signal, peer = "" }: SubjectContext,
): Promise<ReadPod> {
  const isForcedEviction = isForced(own);
  const found = cellClient(workers, cellID, isKnownCell);
  if (!found.ok) {
    return failed(
      `GetClientForEvictedPod/GetCellClient/${found.tag}`,
      `cannot get the client of the cell: ${found.reason}`,
      isForcedEviction,
    );
  }
  if (!objectName.test(namespace) || !objectName.test(name)) {
    return failed("InvalidName", "the eviction review request names no pod", isForcedEviction);
  }
  const read = async (): Promise<ReadPod | undefined> => {
    const timeoutMs = deadlineMonotonicMs - clock.monotonicMs();
    if (timeoutMs <= 0) return undefined;
    const path = resourcePath(pods, { namespace, name });
    const raw = await found.client.request({
      method: "GET",
      path,
      timeoutMs,
      answerBytesMax: podBytesMax,
      parse: parsePod,
      ...(signal !== undefined && { signal }),
    });
    return { kind: "pod", raw };
  };
  try {
    const answer = await podReads.run({ worker: found.client, peer, deadlineMs: deadlineMonotonicMs, signal }, read);
    return answer ?? failed("Timeout", "the deadline has passed", isForcedEviction);
  } catch (error) {
    const { kind, message: problem, status } = asKubeError(error);
    if (kind !== "notFound")
      return failed(`GetEvictedPod/${kind}`, `cannot get pod for eviction: ${problem}`, isForcedEviction);
    if (isEvaluateOnly) return { kind: "absent", isForced: false };
    const refusal = podNotFound(status?.message ?? `pods ${JSON.stringify(name)} not found`);
    return { kind: "refused", refusal, isForced: isForcedEviction };
  }
}

function podNotFound(message: string): Refused {
  return { kind: "refused", status: "NotFound", code: 404, reason: "NotFound", message, causes: [], audit: {} };
}

type CellClient =
  | { readonly ok: true; readonly client: KubeClient }
  /** `tag` is the metric's word for `reason`, which is for people. */
  | { readonly ok: false; readonly tag: "NoneProvider" | "UnknownCell"; readonly reason: string };

/** The client of the worker cluster that holds the pods of `cellID`. */
export function cellClient(
  workers: WorkerClients,
  cellID: string,
  isKnownCell: SubjectOptions["isKnownCell"],
): CellClient {
  const unknown = { ok: false, tag: "UnknownCell", reason: `unknown cell ${JSON.stringify(cellID)}` } as const;
  switch (workers.kind) {
    case "none":
      return {
        ok: false,
        tag: "NoneProvider",
        reason: '--webhook-worker-client-provider is set to "none", so the pod of an eviction cannot be read',
      };
    case "single":
      return isKnownCell(cellID) ? { ok: true, client: workers.client } : unknown;
    case "map": {
      const client = workers.clients.get(cellID);
      return client === undefined ? unknown : { ok: true, client };
    }
    default:
      return assertNever(workers);
  }
}

/** The first of `choices` whose annotation is there with its value. */
export function criterionOf(own: Labels, choices: readonly CriterionAnnotation[]): HealthCriterion | undefined {
  for (const { criterion, annotation } of choices) {
    if (Object.hasOwn(own, annotation.key) && own[annotation.key] === annotation.value) return criterion;
  }
  return undefined;
}

/** What Kubernetes allows in names of pods and namespaces; keeps "." and ".." out of the path. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function isForced(own: Labels): boolean {
  return Object.hasOwn(own, annotations.forceDelete);
}

/** deleteOptions.dryRun of an Eviction: not empty means "All", the only value that there is. */
function asksForDryRun({ dryRun }: { readonly dryRun?: unknown }): boolean {
  return Array.isArray(dryRun) && dryRun.length > 0;
}

function failed(tag: string, message: string, isForced = false): Extract<Subject, { readonly kind: "error" }> {
  return { kind: "error", tag, message, isForced };
}
