/**
 * The one place that reads a PodProtector live and compare-and-swaps its status, with one reading of a lost answer:
 * it is unknown whether the write was stored. No function here retries. Beside it the definition of PodProtectors, and
 * the metrics of them that several roles count.
 */
import { fieldsOf } from "../api/json.ts";
import { type ObjectMeta, type PodProtectorStatus } from "../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../util/assert.ts";
import { asKubeError, type KubeClient, KubeError, type KubeRequest, resourcePath } from "./kube-client.ts";
import {
  podProtectors,
  readProtector,
  type ReadProtector,
  type StoredProtector,
  customResourceDefinitions,
} from "./resources.ts";
import { type Metrics } from "../util/metrics.ts";
import { type V1CustomResourceDefinition, type V1ObjectMeta } from "../api/models.ts";
import { apiGroup, podProtectorResource } from "../api/v1alpha1/names.ts";

/** `timeoutMs`: the deadline of each request; by default that of the client. */
export type RequestLimits = Pick<KubeRequest, "timeoutMs" | "signal">;

type Place = Pick<ObjectMeta, "namespace" | "name">;

export type LiveRead =
  | { readonly kind: "read"; readonly stored: StoredProtector; readonly managedFields: unknown }
  /** The core answers 404. */
  | { readonly kind: "gone"; readonly error: KubeError }
  /** The core answered, but not with a valid PodProtector. `reason` for people. */
  | { readonly kind: "invalid"; readonly reason: string; readonly error: KubeError }
  | { readonly kind: "failed"; readonly error: KubeError };

/**
 * Reads the object with resourceVersion unset, so that the answer is not older than any write accepted before the
 * request (docs/kubernetes.md#resource-versions). Rejects only for programmer errors.
 */
export async function readProtectorLive(client: KubeClient, at: Place, limits: RequestLimits): Promise<LiveRead> {
  const { namespace, name } = at;
  const path = resourcePath(podProtectors, { namespace, name });
  let answer: unknown;
  try {
    answer = await client.request({ method: "GET", path, ...limits });
  } catch (thrown) {
    const error = asKubeError(thrown);
    return { kind: error.kind === "notFound" ? "gone" : "failed", error };
  }
  const read = readProtector(answer);
  if (read.ok) {
    const { managedFields } = fieldsOf(fieldsOf(answer)["metadata"]);
    return { kind: "read", stored: read.stored, managedFields };
  }
  return { kind: "invalid", reason: read.reason, error: invalidObject(at, read.reason) };
}

/** The object that was read; undefined when it is gone. Throws KubeError for everything else. */
export function presentOrThrow(read: LiveRead): StoredProtector | undefined {
  switch (read.kind) {
    case "read":
      return read.stored;
    case "gone":
      return undefined;
    case "invalid":
    case "failed":
      throw read.error;
    default:
      return assertNever(read);
  }
}

/** What became of one write. `body`: what was sent. */
export type SwapOutcome = { readonly body: object } & (
  | {
      readonly kind: "written";
      /** The object as stored; not ok = accepted, but the answer does not tell the new state. */
      readonly answer: ReadProtector;
    }
  /** Not stored: 409, another writer was first. Some admission plug-ins answer 409 for another reason. */
  | { readonly kind: "conflict"; readonly error: KubeError }
  /** It may have been stored or not: no answer, an answer that cannot be read, or a 5xx. */
  | { readonly kind: "lost"; readonly error: KubeError }
  /** Not stored: the core answers 404. */
  | { readonly kind: "gone"; readonly error: KubeError }
  /** Not stored: the core does not take this write, for now (429) or at all. */
  | { readonly kind: "refused"; readonly error: KubeError }
);

/**
 * Writes `status` if the object still has the version of `base`. Everything else of the object is sent as it is in
 * `base`. Rejects only for programmer errors.
 */
export async function swapStatus(
  client: KubeClient,
  base: StoredProtector,
  status: PodProtectorStatus,
  limits: RequestLimits,
): Promise<SwapOutcome> {
  const { namespace, name } = base.protector.metadata;
  const path = resourcePath(podProtectors, { namespace, name, subresource: "status" });
  const body = { ...base.protector, status };
  let answer: unknown;
  try {
    answer = await client.request({ method: "PUT", path, body, ...limits });
  } catch (thrown) {
    const error = asKubeError(thrown);
    return { kind: kindOf(error), error, body };
  }
  return { kind: "written", answer: readProtector(answer), body };
}

function kindOf({ kind }: KubeError): Exclude<SwapOutcome["kind"], "written"> {
  switch (kind) {
    case "conflict":
      return "conflict";
    case "notFound":
      return "gone";
    case "network":
    case "timeout":
    case "serverError":
    case "malformed":
    case "aborted":
      return "lost";
    case "tooManyRequests":
    case "invalid":
    case "unauthorized":
    case "forbidden":
    case "alreadyExists":
    case "gone":
      return "refused";
    default:
      return assertNever(kind);
  }
}

export type CheckedSwap =
  | { readonly kind: "written"; readonly stored: StoredProtector }
  /**
   * The object is no longer as it was in `base`: another writer was first, or our own write was stored and its answer
   * lost. `live` is the object as it is now, undefined when it is gone; `error` is that of the write.
   */
  | { readonly kind: "conflict"; readonly live: StoredProtector | undefined; readonly error: KubeError }
  | { readonly kind: "failed"; readonly error: KubeError };

/**
 * As `swapStatus`, and reads the object live unless the write was accepted with its new state, or refused. Never takes
 * a lost answer for success. Rejects only for programmer errors.
 */
export async function swapStatusAndCheck(
  client: KubeClient,
  base: StoredProtector,
  status: PodProtectorStatus,
  limits: RequestLimits,
): Promise<CheckedSwap> {
  const swap = await swapStatus(client, base, status, limits);
  switch (swap.kind) {
    case "written":
      return swap.answer.ok
        ? { kind: "written", stored: swap.answer.stored }
        : checkLive(client, base, invalidObject(base.protector.metadata, swap.answer.reason), limits);
    case "conflict":
    case "lost":
    case "gone":
      return checkLive(client, base, swap.error, limits);
    case "refused":
      return { kind: "failed", error: swap.error };
    default:
      return assertNever(swap);
  }
}

async function checkLive(
  client: KubeClient,
  base: StoredProtector,
  error: KubeError,
  limits: RequestLimits,
): Promise<CheckedSwap> {
  const live = await readProtectorLive(client, base.protector.metadata, limits);
  switch (live.kind) {
    case "read": {
      // Unchanged means that the server is in trouble, or that something else than a newer version refuses the write
      // (an admission plug-in may answer 409). As a conflict it would be retried at once, again and again.
      const isUnchanged = live.stored.uid === base.uid && live.stored.resourceVersion === base.resourceVersion;
      return isUnchanged ? { kind: "failed", error } : { kind: "conflict", live: live.stored, error };
    }
    case "gone":
      return { kind: "conflict", live: undefined, error };
    case "invalid":
    case "failed":
      return { kind: "failed", error: live.error };
    default:
      return assertNever(live);
  }
}

function invalidObject({ namespace, name }: Place, reason: string): KubeError {
  return new KubeError("malformed", `PodProtector ${namespace}/${name} is invalid: ${reason}`);
}

/**
 * The metrics of PodProtectors that several roles count: one name, one help text and one set of labels each.
 * `ppr_index_error`, upstream's name and label (docs/compatibility.md#metrics). The counter is to be called once for
 * each state of a PodProtector that is delivered and invalid; its reason is logged. The only value of the label is
 * "Invalid".
 */
export function createIndexErrorCounter(metrics: Metrics): () => void {
  const errors = metrics.counter("ppr_index_error", "Invalid states of PodProtectors received from the core", [
    "error",
  ]);
  return () => errors.inc({ error: "Invalid" });
}

/**
 * `extension_fields_pruned_total` (docs/compatibility.md#extensions). The counter is to be called once for each
 * accepted status write in whose answer the extension fields are missing; `core` is the name of the core.
 */
export function createPrunedCounter(metrics: Metrics, role: "webhook" | "aggregator"): (core: string) => void {
  const writes = metrics.counter(
    "extension_fields_pruned_total",
    "Accepted status writes whose extension fields the CRD of the core dropped",
    ["role", "core"],
  );
  return (core) => writes.inc({ role, core });
}

/**
 * The CustomResourceDefinition of PodProtectors. Deleting it deletes them all, with ordinary DELETED events, so whoever
 * believes such an event looks here first (docs/generator.md#when-a-podprotector-is-gone).
 */
export const definitionName = `${podProtectorResource}.${apiGroup}`;

export type ReadDefinition =
  | { readonly kind: "there"; readonly uid: string; readonly isTerminating: boolean }
  /** The API server answers 404. */
  | { readonly kind: "gone" }
  /** The right to read it is missing. */
  | { readonly kind: "forbidden"; readonly error: KubeError }
  | { readonly kind: "failed"; readonly error: KubeError };

/** Reads the definition live. Rejects only for programmer errors. */
export async function readDefinition(core: KubeClient, limits: RequestLimits): Promise<ReadDefinition> {
  const path = resourcePath(customResourceDefinitions, { name: definitionName });
  let answer: unknown;
  try {
    answer = await core.request({ method: "GET", path, ...limits });
  } catch (thrown) {
    const error = asKubeError(thrown);
    // A 404 without a Status is the page of a proxy that has no server, and says nothing.
    if (error.kind === "notFound" && error.status !== undefined) return { kind: "gone" };
    return { kind: error.kind === "forbidden" ? "forbidden" : "failed", error };
  }
  const { uid, deletionTimestamp } = fieldsOf<V1ObjectMeta>(fieldsOf<V1CustomResourceDefinition>(answer).metadata);
  if (typeof uid === "string") return { kind: "there", uid, isTerminating: deletionTimestamp !== undefined };
  return { kind: "failed", error: new KubeError("malformed", `GET ${path}: the answer has no UID`) };
}
