/**
 * The reflector's state machine, without I/O: how a phase ended decides what comes next.
 *
 *   list (watchList | pages) --all received--> watch from a version --clean end--> watch again
 *   watch --version unusable--> list            any other failure --> wait, then the same again
 *
 * A WatchList goes on as a watch in the same stream, so its phase may end with a version to resume from. And how long
 * the pauses between phases are.
 */
import { assertNever } from "../../util/assert.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type KubeError } from "../kube-client.ts";
import { type Clock, longAgo } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/** `watchList`: the initial objects come as events of the watch itself. `pages`: a paged list, then a watch. */
export type ListMethod = "watchList" | "pages";

interface Known {
  /** How to list when a list is due. A server that refused a WatchList is not asked for one again. */
  readonly preferred: ListMethod;
}

/** `method` is not always the preferred one: after a WatchList that broke off, pages are tried. */
type Listing = Known & { readonly phase: "list"; readonly method: ListMethod };

type Watching = Known & {
  readonly phase: "watch";
  readonly from: ResourceVersion;
  /** The stream that began at this version was corrupt. */
  readonly corruptFrom?: ResourceVersion;
  /**
   * The connection was lost, maybe with the server: if it came back from a backup, its history may end before `from`. A
   * watch from there says nothing of that, and leaves out all that happens until the versions have passed `from` again.
   */
  readonly mayBeRestored?: true;
};

export type State = Listing | Watching;

export const firstState: State = listBy("watchList");

/** A list is due. */
export function listBy(preferred: ListMethod): State {
  return { phase: "list", method: preferred, preferred };
}

/**
 * How a phase ended. `resumeFrom`: the store holds everything up to this version; undefined = the initial objects are
 * incomplete.
 */
export type Ending =
  /**
   * The list is complete, or the server ended the stream in good order. `isShort`: within a second and without anything
   * new.
   */
  { readonly type: "ended"; readonly resumeFrom: ResourceVersion | undefined; readonly isShort: boolean } | Failure;

interface Failure {
  readonly type: "failed";
  readonly resumeFrom: ResourceVersion | undefined;
  readonly error: KubeError;
  /** At least one frame of the stream, or one page of the list, had arrived. */
  readonly hasBegun: boolean;
}

export interface Step {
  readonly next: State;
  /** Wait for the backoff before; undefined = go on at once. */
  readonly backoff?: Burden;
  /** The server asks for this much, to which the backoff is added. */
  readonly retryAfterMs?: number;
  /** Set when the objects must be listed although there is a store: why, for the metric. */
  readonly relistReason?: "gone" | "tooLarge" | "notFound" | "invalid" | "corrupt";
}

export function nextStep(state: State, ending: Ending): Step {
  const { preferred } = state;
  switch (ending.type) {
    case "ended":
      // A WatchList that never says that it is complete: a list cannot leave that open.
      if (ending.resumeFrom === undefined) {
        return { next: { phase: "list", method: "pages", preferred }, backoff: "heavy" };
      }
      return {
        next: { phase: "watch", from: ending.resumeFrom, preferred },
        ...(ending.isShort && { backoff: "heavy" }),
      };
    case "failed":
      return ending.resumeFrom === undefined
        ? afterFailedList(state, ending)
        : afterFailedWatch(state, ending.resumeFrom, ending.error);
    default:
      return assertNever(ending);
  }
}

function afterFailedList(state: State, { error, hasBegun }: Failure): Step {
  const { retryAfterMs = 0 } = error;
  const { preferred } = state;
  const isStream = state.phase === "list" && state.method === "watchList";
  // The server knows no WatchList.
  if (isStream && error.kind === "invalid") return { next: listBy("pages") };
  // A WatchList that breaks off or hangs is followed by pages, as one that ends without its end mark: something on the
  // way may cut streams.
  const method = isStream && (hasBegun || error.kind === "timeout") ? "pages" : preferred;
  // A list that was cut off, or hung, has cost the server a good part of what it costs in full.
  const backoff = !hasBegun && (error.kind === "network" || error.kind === "unauthorized") ? "light" : "heavy";
  return { next: { phase: "list", method, preferred }, backoff, retryAfterMs };
}

function afterFailedWatch(state: State, resumeFrom: ResourceVersion, error: KubeError): Step {
  const { retryAfterMs = 0 } = error;
  const { preferred } = state;
  const relist = (relistReason: NonNullable<Step["relistReason"]>): Step => ({
    next: listBy(preferred),
    backoff: "heavy",
    retryAfterMs,
    relistReason,
  });
  // The version is from another history (etcd restored), or this server lags behind the one that gave it to us.
  if (isTooLarge(error)) return relist("tooLarge");
  switch (error.kind) {
    case "gone": // the version is older than the server's history
    case "notFound": // the resource was removed (a CRD)
    case "invalid": // the server does not take our version
      return relist(error.kind);
    case "malformed":
      // Once is a broken connection; twice at the same place is an event that cannot be read.
      if (state.phase === "watch" && state.corruptFrom === resumeFrom) return relist("corrupt");
      return {
        next: { phase: "watch", from: resumeFrom, corruptFrom: resumeFrom, mayBeRestored: true, preferred },
        backoff: "heavy",
        retryAfterMs,
      };
    case "network": // an API server that is away, or just restarted
    case "unauthorized": // new credentials may come any moment
    case "timeout":
    case "aborted":
      return {
        next: { phase: "watch", from: resumeFrom, mayBeRestored: true, preferred },
        backoff: "light",
        retryAfterMs,
      };
    case "conflict":
    case "alreadyExists":
    case "forbidden":
    case "tooManyRequests":
    case "serverError":
      return {
        next: { phase: "watch", from: resumeFrom, mayBeRestored: true, preferred },
        backoff: "heavy",
        retryAfterMs,
      };
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

/**
 * What an attempt costs the server.
 * - `light`: it never reached the server, was rejected at once, or used up a deadline of half a minute itself.
 * - `heavy`: the server did some of the work, and may be overloaded by it.
 */
export type Burden = "light" | "heavy";

export interface Backoff {
  /** Milliseconds to wait after an attempt that failed; each call doubles the range, up to the limit of the burden. */
  nextDelayMs(burden: Burden): number;
}

/** As client-go's reflector: not all watches meet a restarting API server at once. */
const firstDelayMs = 800;
const delayMsMax: Readonly<Record<Burden, number>> = {
  /**
   * While a watch is down, a webhook has old counts and refuses what it should admit: 1 connection in 2.5 s on average
   * is worth it.
   */
  light: 5_000,
  /** 1 request in 15 s on average for each informer is no burden, and 30 s without news are tolerable. */
  heavy: 30_000,
};
/**
 * Without a failure for that long the server is healthy again. Longer than the longest delay, or the range would shrink
 * while the trouble lasts.
 */
const healthyAfterMs = 120_000;

/**
 * The range is 0.8 s at first, then doubles up to the limit. It starts over after 2 minutes without a failure. A light
 * attempt also brings it down to its own limit: even after a long outage a server that comes back is found soon.
 */
export function createBackoff(clock: Clock, rng: Rng): Backoff {
  let rangeMs = firstDelayMs;
  let failedAtMs = longAgo;
  return {
    nextDelayMs(burden) {
      const nowMs = clock.monotonicMs();
      if (nowMs - failedAtMs >= healthyAfterMs) rangeMs = firstDelayMs;
      const delayMs = uniform(rng, 0, Math.min(rangeMs, delayMsMax[burden]));
      rangeMs = Math.min(rangeMs * 2, delayMsMax[burden]);
      failedAtMs = nowMs;
      return delayMs;
    },
  };
}
