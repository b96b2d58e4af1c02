/** What goes wrong at an API server: rates that a world sets and a healed world clears. */
import { type Rng } from "../../../src/util/rng.ts";
import { type ResourceType, builtInResources } from "../../double/engine/resources.ts";
import { type Fault } from "../../double/http/faults.ts";
import { type RestRequest } from "../../double/rest/rest.ts";

/** Probabilities by request (0 to 1), and durations. */
export interface Rates {
  serverError: number;
  tooManyRequests: number;
  /** Of writes: answered 409 without a reason. */
  conflict: number;
  /** Executed, answer lost. */
  loseResponse: number;
  /** Never answered, not executed. */
  stall: number;
  /** Of fences and LIST barriers: executed at once, answered seconds later. */
  slowAnswer: number;
  /** Waits in a queue of the API server for seconds, and is executed then (API Priority and Fairness, KEP-1040). */
  queued: number;
  /** Of watches: broken off, cut short or garbled after a few events; or silent from then on. */
  brokenWatch: number;
  silentWatch: number;
  /** Of watches: a proxy on the way lets no bookmark through. */
  lostBookmarks: number;
  /**
   * Of watches from a version: events delivered once more; or the history is said to be gone, as also for the next page
   * of a list.
   */
  duplicate: number;
  historyLoss: number;
  /** Of lists after the first one of a process: as of some revisions ago. */
  staleList: number;
  /** Of commits: the etcd member hangs, on average that long. */
  stalledCommit: number;
  stalledCommitMs: number;
  /** Of deletions: first reviewed on the state before the present one. */
  staleReview: number;
  /**
   * Executed, and answered with something that no API server would say; or, in a watch, a line of that kind among the
   * others.
   */
  oddAnswer: number;
  /** Not executed, with any code but 404. */
  refusal: number;
}

const noRates: Rates = {
  serverError: 0,
  tooManyRequests: 0,
  conflict: 0,
  loseResponse: 0,
  stall: 0,
  slowAnswer: 0,
  queued: 0,
  brokenWatch: 0,
  silentWatch: 0,
  lostBookmarks: 0,
  duplicate: 0,
  historyLoss: 0,
  staleList: 0,
  stalledCommit: 0,
  stalledCommitMs: 0,
  staleReview: 0,
  oddAnswer: 0,
  refusal: 0,
};

export interface Stall {
  readonly durationMs: number;
  /** DELETE and eviction requests take at most 34 s, others 60 s (docs/kubernetes.md#timeouts). */
  readonly requestLifeMs: number;
}

export type ServerFault =
  /** What the double knows of. */
  | Fault
  /** Executed at once, and answered that much later. */
  | { readonly type: "slowAnswer"; readonly delayMs: number }
  /** Executed and answered that much later. */
  | { readonly type: "queued"; readonly delayMs: number }
  /** See odd-answers.ts; `afterEvents` as in the double's faults. */
  | { readonly type: "oddAnswer"; readonly afterEvents?: number }
  | { readonly type: "refusal" }
  | { readonly type: "forbidden" };

/** What a core does not take any more. */
export const unwritten = ["everything", "leases", "podprotectors", "configmaps"] as const;
export type Unwritten = (typeof unwritten)[number];

const requestLifeMs = 34_000;
/** Mean. */
const slowAnswerMs = 5_000;
/** Mean and most. A queue gives a request up after a quarter of its life. */
const queued = { meanMs: 2_000, maxMs: 15_000 };
/**
 * Fences and finalizers are few beside other requests, and what is answered to them is what the accounting is about.
 */
const rarePatches = 10;
/** The same for writes of a status, whose refusals the webhook tells apart. */
const rareWrites = 4;
/** How far behind a lagging replica is at most, in revisions. */
const staleRevisionsMax = 40;

/** The rates of one API server, with a count of what they brought about. */
export class ServerConditions {
  rates: Rates = { ...noRates };
  /** Of every watch of this server. */
  watchLagMs = 0;
  /** Whether WatchList is offered; else clients fall back to pages. */
  offersWatchList = true;
  /** Pods are answered in protobuf to whoever asks for it. */
  servesProtobuf = true;
  /** Objects on a page of a list at most, as if there were so many that a page holds but a small part. */
  pageSizeMax = Number.POSITIVE_INFINITY;
  /** Says what goes wrong with a request, before any rate is drawn; for scenarios. */
  script: ((request: RestRequest) => ServerFault | undefined) | undefined;
  /** What goes wrong for ever, also when all else has been healed. */
  readonly lasting: ((request: RestRequest) => ServerFault | undefined)[] = [];
  /**
   * Takes a commit into its hands: resolves to whether its request is still open, or rejects with what it is answered;
   * undefined = not this one.
   */
  holdCommit: ((type: ResourceType, key: string) => Promise<boolean> | undefined) | undefined;
  readonly #count: (faultClass: string) => void;

  constructor(count: (faultClass: string) => void) {
    this.#count = count;
  }

  heal(): void {
    this.rates = { ...noRates };
    this.watchLagMs = 0;
    this.pageSizeMax = Number.POSITIVE_INFINITY;
  }

  /** What these clients have not been told of yet is gone from the history: they must list again, once each. */
  compacted(clients: readonly string[]): void {
    const told = new Set<string>();
    this.lasting.push(({ userAgent, path, query }) => {
      const isResumed =
        query.get("watch") === "true" && query.has("resourceVersion") && !query.has("sendInitialEvents");
      if (!isResumed || !clients.includes(userAgent) || told.has(`${userAgent} ${path}`)) return undefined;
      told.add(`${userAgent} ${path}`);
      return { type: "historyLoss" };
    });
  }

  /**
   * Takes no such writes until what is returned is called. `stalls`: they hang, as in an etcd without a quorum; else
   * they fail, as in one that is full.
   */
  refuseWrites(what: Unwritten, stalls: boolean): () => void {
    const fault: ServerFault = { type: stalls ? "stall" : "serverError" };
    const fails = ({ method, path }: RestRequest): ServerFault | undefined =>
      method !== "GET" && (what === "everything" || path.includes(`/${what}`)) ? fault : undefined;
    this.lasting.push(fails);
    return () => void this.lasting.splice(this.lasting.indexOf(fails), 1);
  }

  /** `hasListed`: its client has listed what it asks for before, since it started. */
  drawFault(rng: Rng, request: RestRequest, hasListed: boolean): ServerFault | undefined {
    const scripted = this.script?.(request);
    if (scripted !== undefined) return scripted;
    for (const fails of this.lasting) {
      const fault = fails(request);
      if (fault !== undefined) return fault;
    }
    const { rates } = this;
    const { method, query } = request;
    const isWatch = query.get("watch") === "true";
    const hits = (name: keyof Rates, times = 1): boolean => {
      if (rates[name] === 0 || rng.next() >= times * rates[name]) return false;
      this.#count(name);
      return true;
    };
    if (hits("serverError")) return { type: "serverError" };
    if (hits("tooManyRequests")) return { type: "tooManyRequests", retryAfterSeconds: 1 };
    if (hits("stall")) return { type: "stall" };
    if (hits("refusal", method === "PUT" ? rareWrites : 1)) return { type: "refusal" };
    if (hits("queued")) {
      return { type: "queued", delayMs: Math.min(queued.maxMs, -Math.log(1 - rng.next()) * queued.meanMs) };
    }
    if (isWatch) {
      const afterEvents = Math.floor(rng.next() * 8);
      if (hits("silentWatch")) return { type: "stall", afterEvents };
      if (hits("brokenWatch")) {
        const kinds = ["reset", "truncate", "corrupt"] as const;
        return { type: kinds[Math.floor(rng.next() * kinds.length)] ?? "reset", afterEvents };
      }
      if (hits("duplicate")) return { type: "duplicate", revisions: 1 + Math.floor(rng.next() * staleRevisionsMax) };
      if (hits("historyLoss")) return { type: "historyLoss" };
      if (hits("oddAnswer")) return { type: "oddAnswer", afterEvents };
      if (hits("lostBookmarks")) return { type: "noBookmarks" };
      if (query.get("sendInitialEvents") === "true" && hasListed && hits("staleList")) {
        return { type: "staleReplica", revisions: 1 + Math.floor(rng.next() * staleRevisionsMax) };
      }
      return undefined;
    }
    if (isFenceOrBarrier(request) && hits("slowAnswer")) {
      return { type: "slowAnswer", delayMs: -Math.log(1 - rng.next()) * slowAnswerMs };
    }
    if (hits("loseResponse")) return { type: "loseResponse" };
    if (hits("oddAnswer", method === "PATCH" ? rarePatches : 1)) return { type: "oddAnswer" };
    if (query.has("continue") && hits("historyLoss")) return { type: "historyLoss" };
    if (method !== "GET" && hits("conflict")) return { type: "conflict" };
    return undefined;
  }

  drawStall(rng: Rng, type: ResourceType, _key: string): Stall | undefined {
    const { stalledCommit, stalledCommitMs } = this.rates;
    // Deletions are few beside the writes of status, and a late one is what the accounting is about.
    const rate = type === builtInResources.pods ? 5 * stalledCommit : stalledCommit;
    if (rate === 0 || rng.next() >= rate) return undefined;
    this.#count("stalledCommit");
    const durationMs = -Math.log(1 - rng.next()) * stalledCommitMs;
    return { durationMs, requestLifeMs: type === builtInResources.pods ? requestLifeMs : 60_000 };
  }

  drawStaleRead(rng: Rng): boolean {
    const { staleReview } = this.rates;
    if (staleReview === 0 || rng.next() >= staleReview) return false;
    this.#count("staleReview");
    return true;
  }
}

function isFenceOrBarrier({ method, path, query }: RestRequest): boolean {
  if (method === "PATCH") return path.includes("/pods/");
  return method === "GET" && path.endsWith("/pods") && query.get("limit") === "1";
}
