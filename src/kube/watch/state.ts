/**
 * The reflector's state machine, without I/O: how a phase ended decides what comes next.
 *
 *   list (watchList | pages) --all received--> watch from a version --clean end--> watch again
 *   watch --version unusable, or no news for minutes--> list
 *   any other failure --> wait, then the same again
 *
 * A WatchList goes on as a watch in the same stream, so its phase may end with a version to resume from. And how long
 * the pauses between phases are.
 */
import { assertNever } from "../../util/assert.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type KubeError } from "../kube-client.ts";
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type Rng, uniform } from "../../util/rng.ts";

/** `watchList`: the initial objects come as events of the watch itself. `pages`: a paged list, then a watch. */
export type ListMethod = "watchList" | "pages";

interface Known {
  /** WatchLists in a row whose end mark did not come. */
  readonly misses: number;
  /** Lists come in pages until then: the server refused a WatchList, or end marks do not come. */
  readonly pagesUntilMs: MonotonicMs;
}

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

const nothingKnown: Known = { misses: 0, pagesUntilMs: longAgo };

export const firstState: State = { phase: "list", method: "watchList", ...nothingKnown };

/**
 * Longest time without a new try of a WatchList: servers are upgraded, proxies reconfigured, and a WatchList costs a
 * server less than pages. In vain it costs us a minute at most, so no more than a sixtieth of the time.
 */
const pagesForMs = 3_600_000;
/** One may be a server that is slow for once, as after a restart. */
const missesMax = 2;

function knownOf({ misses, pagesUntilMs }: Known): Known {
  return { misses, pagesUntilMs };
}

/** A list is due. */
export function listDue(known: Known, nowMs: MonotonicMs): State {
  const method = nowMs < known.pagesUntilMs ? "pages" : "watchList";
  return { phase: "list", method, ...knownOf(known) };
}

/**
 * How a phase ended. `resumeFrom`: the store holds everything up to this version; undefined = the initial objects are
 * incomplete.
 */
export type Ending = Ended | Failure | Missed;

/** The list is complete, or the server ended the stream in good order, or we did for it when its time was over. */
interface Ended {
  readonly type: "ended";
  readonly resumeFrom: ResourceVersion | undefined;
  /** Within a second and without anything new. */
  readonly isShort: boolean;
  /** The watch was answered, and the newest news are minutes old: watches bring none. */
  readonly isStale?: boolean;
}

interface Failure {
  readonly type: "failed";
  readonly resumeFrom: ResourceVersion | undefined;
  readonly error: KubeError;
  /** At least one frame of the stream, or one page of the list, had arrived. */
  readonly hasBegun: boolean;
  readonly isStale?: boolean;
  /** The stream was answered, and nothing came for too long. */
  readonly isSilent?: boolean;
}

/** The end mark of a WatchList did not come in time. */
interface Missed {
  readonly type: "missed";
  readonly resumeFrom: undefined;
  /** How long it was waited for, for people. */
  readonly why: string;
}

export interface Step {
  readonly next: State;
  /** Wait for the backoff before; undefined = go on at once. */
  readonly backoff?: Burden;
  /** The server asks for this much, to which the backoff is added. */
  readonly retryAfterMs?: number;
  /** Set when the objects must be listed although there is a store: why, for the metric. */
  readonly relistReason?: "gone" | "tooLarge" | "notFound" | "invalid" | "corrupt" | "silent";
  /** The server knows no WatchList: nothing is wrong. */
  readonly isRefusal?: true;
}

export function nextStep(state: State, ending: Ending, nowMs: MonotonicMs): Step {
  const hasEndMark = state.phase === "list" && state.method === "watchList" && ending.resumeFrom !== undefined;
  const known = hasEndMark ? nothingKnown : knownOf(state);
  switch (ending.type) {
    case "missed": {
      const misses = known.misses + 1;
      const pagesUntilMs = misses >= missesMax ? later(nowMs, pagesForMs) : known.pagesUntilMs;
      return { next: { phase: "list", method: "pages", misses, pagesUntilMs }, backoff: "heavy" };
    }
    case "ended":
      // A WatchList that never says that it is complete: a list cannot leave that open.
      if (ending.resumeFrom === undefined) {
        return { next: { phase: "list", method: "pages", ...known }, backoff: "heavy" };
      }
      if (ending.isStale === true) return relist("silent", known, nowMs);
      return {
        next: { phase: "watch", from: ending.resumeFrom, ...known },
        ...(ending.isShort && { backoff: "heavy" }),
      };
    case "failed": {
      if (ending.resumeFrom === undefined) return afterFailedList(state, ending, nowMs);
      const step = afterFailedWatch(state, known, ending.resumeFrom, ending.error, nowMs);
      const isStale = ending.isStale === true && step.next.phase === "watch";
      return isStale ? relist("silent", known, nowMs, ending.error.retryAfterMs) : step;
    }
    default:
      return assertNever(ending);
  }
}

function relist(
  relistReason: NonNullable<Step["relistReason"]>,
  known: Known,
  nowMs: MonotonicMs,
  retryAfterMs = 0,
): Step {
  return { next: listDue(known, nowMs), backoff: "heavy", retryAfterMs, relistReason };
}

function afterFailedList(state: State, { error, hasBegun }: Failure, nowMs: MonotonicMs): Step {
  const { retryAfterMs = 0 } = error;
  const isStream = state.phase === "list" && state.method === "watchList";
  // The server knows no WatchList.
  if (isStream && error.kind === "invalid") {
    const { misses } = state;
    return { next: listDue({ misses, pagesUntilMs: later(nowMs, pagesForMs) }, nowMs), isRefusal: true };
  }
  // A WatchList that breaks off or hangs is followed by pages, as one that ends without its end mark: something on the
  // way may cut streams.
  const isCut = isStream && (hasBegun || error.kind === "timeout");
  const next: State = isCut ? { phase: "list", method: "pages", ...knownOf(state) } : listDue(state, nowMs);
  // A list that was cut off, or hung, has cost the server a good part of what it costs in full.
  const backoff = !hasBegun && (error.kind === "network" || error.kind === "unauthorized") ? "light" : "heavy";
  return { next, backoff, retryAfterMs };
}

function afterFailedWatch(
  state: State,
  known: Known,
  resumeFrom: ResourceVersion,
  error: KubeError,
  nowMs: MonotonicMs,
): Step {
  const { retryAfterMs = 0 } = error;
  // The version is from another history (etcd restored), or this server lags behind the one that gave it to us.
  if (isTooLarge(error)) return relist("tooLarge", known, nowMs, retryAfterMs);
  const resumed = { phase: "watch", from: resumeFrom, mayBeRestored: true, ...known } as const;
  switch (error.kind) {
    case "gone": // the version is older than the server's history
    case "notFound": // the resource was removed (a CRD)
    case "invalid": // the server does not take our version
      return relist(error.kind, known, nowMs, retryAfterMs);
    case "malformed":
      // Once is a broken connection; twice at the same place is an event that cannot be read.
      if (state.phase === "watch" && state.corruptFrom === resumeFrom) {
        return relist("corrupt", known, nowMs, retryAfterMs);
      }
      return { next: { ...resumed, corruptFrom: resumeFrom }, backoff: "heavy", retryAfterMs };
    case "network": // an API server that is away, or just restarted
    case "unauthorized": // new credentials may come any moment
    case "timeout":
    case "aborted":
      return { next: resumed, backoff: "light", retryAfterMs };
    case "conflict":
    case "alreadyExists":
    case "forbidden":
    case "tooManyRequests":
    case "serverError":
      return { next: resumed, backoff: "heavy", retryAfterMs };
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
