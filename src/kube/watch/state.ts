/**
 * The reflector's state machine, without any doing: how a phase ended decides what comes next.
 *
 *   list (watchList | pages) --all received--> watch from a version --clean end--> watch again
 *   watch --version unusable--> list            any other failure --> wait, then the same again
 *
 * A WatchList goes on as a watch in the same stream, so its phase may end with a version to resume from.
 */
import { assertNever } from "../../util/assert.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type KubeError } from "../kube-client.ts";
import { type Burden } from "./backoff.ts";

/** `watchList`: the initial objects come as events of the watch itself. `pages`: a paged list, then a watch. */
export type ListMethod = "watchList" | "pages";

export type State =
  | { readonly phase: "list"; readonly method: ListMethod }
  | {
      readonly phase: "watch";
      readonly from: ResourceVersion;
      /** The stream that began at this version was corrupt. */
      readonly corruptFrom?: ResourceVersion;
      /**
       * The connection was lost, maybe with the server: if it came back from a backup, its history may end before
       * `from`. A watch from there says nothing of that, and leaves out all that happens until the versions have passed
       * `from` again.
       */
      readonly mayBeRestored?: true;
    };

/**
 * How a phase ended. `resumeFrom`: the store holds everything up to this version; undefined = the initial objects are
 * incomplete.
 */
export type Ending =
  /**
   * The list is complete, or the server ended the stream in good order. `short`: within a second and without anything
   * new.
   */
  { readonly type: "ended"; readonly resumeFrom: ResourceVersion | undefined; readonly short: boolean } | Failure;

interface Failure {
  readonly type: "failed";
  readonly resumeFrom: ResourceVersion | undefined;
  readonly error: KubeError;
  /** At least one frame of the stream, or one page of the list, had arrived. */
  readonly begun: boolean;
}

export interface Step {
  readonly next: State;
  /** Wait for the backoff before; undefined = go on at once. */
  readonly backoff?: Burden;
  /** The server asks for this much, to which the backoff is added. */
  readonly retryAfterMs?: number;
  /** Set when the objects must be listed although there is a store: why, for the metric. */
  readonly relistReason?: "gone" | "tooLarge" | "notFound" | "invalid" | "corrupt";
  /** The server knows no WatchList: do not ask it again. */
  readonly watchListRefused?: true;
}

/** `preferred`: how to list when a list is due. */
export function nextStep(state: State, ending: Ending, preferred: ListMethod): Step {
  switch (ending.type) {
    case "ended":
      // A WatchList that never says that it is complete: a list cannot leave that open.
      if (ending.resumeFrom === undefined) return { next: { phase: "list", method: "pages" }, backoff: "heavy" };
      return { next: { phase: "watch", from: ending.resumeFrom }, ...(ending.short && { backoff: "heavy" }) };
    case "failed":
      return ending.resumeFrom === undefined
        ? afterFailedList(state, ending, preferred)
        : afterFailedWatch(state, ending.resumeFrom, ending.error, preferred);
    default:
      return assertNever(ending);
  }
}

function afterFailedList(state: State, { error, begun }: Failure, preferred: ListMethod): Step {
  const { retryAfterMs = 0 } = error;
  const streamed = state.phase === "list" && state.method === "watchList";
  if (streamed && error.kind === "invalid") {
    return { next: { phase: "list", method: "pages" }, watchListRefused: true };
  }
  // A WatchList that breaks off or falls silent is answered like one that ends without its end mark: something on the
  // way may cut streams.
  const method = streamed && (begun || error.kind === "timeout") ? "pages" : preferred;
  // A list that was cut off, or hung, has cost the server a good part of what it costs in full.
  const backoff = !begun && (error.kind === "network" || error.kind === "unauthorized") ? "light" : "heavy";
  return { next: { phase: "list", method }, backoff, retryAfterMs };
}

function afterFailedWatch(state: State, resumeFrom: ResourceVersion, error: KubeError, preferred: ListMethod): Step {
  const { retryAfterMs = 0 } = error;
  const relist = (relistReason: NonNullable<Step["relistReason"]>): Step => ({
    next: { phase: "list", method: preferred },
    backoff: "heavy",
    retryAfterMs,
    relistReason,
  });
  // The version is from another history (etcd restored), or this server lags behind the one that gave it to us.
  if (isTooLarge(error)) return relist("tooLarge");
  switch (error.kind) {
    case "gone": // the version is older than the server's history
    case "notFound": // the resource was removed (a CRD): its objects are gone
    case "invalid": // the server does not take our version
      return relist(error.kind);
    case "malformed":
      // Once is a broken connection; twice at the same place is an event that we shall never be able to read.
      if (state.phase === "watch" && state.corruptFrom === resumeFrom) return relist("corrupt");
      return {
        next: { phase: "watch", from: resumeFrom, corruptFrom: resumeFrom, mayBeRestored: true },
        backoff: "heavy",
        retryAfterMs,
      };
    case "network": // an API server that is away, or just restarted
    case "unauthorized": // new credentials may come any moment
    case "timeout":
    case "aborted":
      return { next: { phase: "watch", from: resumeFrom, mayBeRestored: true }, backoff: "light", retryAfterMs };
    case "conflict":
    case "alreadyExists":
    case "forbidden":
    case "tooManyRequests":
    case "serverError":
      return { next: { phase: "watch", from: resumeFrom, mayBeRestored: true }, backoff: "heavy", retryAfterMs };
    default:
      return assertNever(error.kind);
  }
}

/**
 * kube-apiserver's answer to a version that it has not reached: 504 Timeout with this cause (apimachinery, api/errors).
 */
function isTooLarge(error: KubeError): boolean {
  return error.status?.details?.causes?.some((cause) => cause.reason === "ResourceVersionTooLarge") ?? false;
}
