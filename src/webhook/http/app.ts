/**
 * The HTTP surface: `POST <prefix>/{cell}` with an AdmissionReview. The cell is exactly one path segment,
 * percent-decoded. Every body gets a well-formed answer, whatever it holds; an unexpected error is answered too, and
 * logged.
 *
 * Nearly all reviews are of pods that no PodProtector counts, and what they cost is spent here. So no review builds web
 * objects: the path is cut here, the body comes from Node's stream, the answer has plain headers.
 * hono answers what is no review: other methods and other paths (docs/decisions/0016-one-path-for-a-review.md).
 */
import { type HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { tryDecodeURIComponent } from "hono/utils/url";
import { type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { failedCallStatus } from "../../api/failed-call.ts";
import { type KeptFields } from "../../api/kept-fields.ts";
import { parseDurationMs } from "../../config/types/duration.ts";
import { createTokenBucket, type TokenBucket } from "../../kube/token-bucket.ts";
import { isIdentified } from "../../server/client-auth.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type LogFields, type Logger } from "../../util/logger.ts";
import { printable } from "../../util/printable.ts";
import { type Decision } from "../decide/decision.ts";
import { type ReviewContext } from "../decide/case.ts";
import { type Handler } from "../decide/handler.ts";
import { type PodCells } from "../decide/subject/pod-cell.ts";
import { type AdmissionRequest, type Review } from "../decide/subject/subject.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { answer, malformedAnswer, readRequest } from "./admission-review.ts";
import { warningsOf } from "./gate-review.ts";
import { ClientCells } from "./client-cells.ts";
import { InFlightLimit } from "./in-flight-limit.ts";
import { ParseTurns } from "./parse-turns.ts";
import { bodyBytesMax, ReviewBodies, type ReviewBody, smallBytesMax } from "./review-body.ts";
import { reviewFields } from "./review-fields.ts";
import { ServedCells } from "./served-cells.ts";

export interface AppOptions {
  /** "" or begins with "/" and does not end with it. */
  readonly pathPrefix: string;
  /** The cells that are served, by valid names; empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  /** The cells that a client may speak for, by a name of its certificate; empty = every client for every cell. */
  readonly clientCells: ReadonlyMap<string, ReadonlySet<string>>;
  readonly cells: PodCells;
  /** Of this program. */
  readonly productVersion: string;
  /** --webhook-dry-run: nothing is refused, not for load either. */
  readonly dryRun: boolean;
  readonly handler: Pick<Handler, "read" | "decide">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
}

/** What Kubernetes takes when a webhook configuration sets no timeoutSeconds. */
const timeoutMsDefault = 10_000;
/** The most that Kubernetes lets a webhook configuration set. */
const timeoutMsMax = 30_000;
/** The API server rounds ?timeout= up to whole seconds, so it may give up this much earlier. */
const roundingMs = 1_000;

/**
 * Lines about reviews that cannot be decided: anyone can send thousands a second. A burst is enough to see what is
 * wrong; the metric counts all of them.
 */
const errorLines = { qps: 5, burst: 100 };
/** Of a UID in the log: Kubernetes' have 36 characters, and a body may have megabytes of it. */
const loggedUIDMax = 128;

export interface WebhookApp {
  /** As a listener calls it; without `bindings`, the body comes from the Request. */
  readonly fetch: (request: Request, bindings?: Partial<HttpBindings>) => Response | Promise<Response>;
  /** Why this replica takes no more reviews, so that others should get them; undefined = it does. */
  readonly overloadReason: () => string | undefined;
}

export function createWebhookApp(options: AppOptions): WebhookApp {
  const { pathPrefix } = options;
  const reviews = new ReviewRoute(options);
  const others = new Hono();
  // Not 200: a connection that was answered so has earned its place, and a review must.
  others.get("/", (context) => context.text(indexOf(pathPrefix), 404));
  others.notFound((context) => context.text("404 page not found\n", 404));
  others.all(`${pathPrefix}/:cell`, (context) =>
    context.req.method === "POST" ? context.notFound() : context.text("Method Not Allowed\n", 405, { Allow: "POST" }),
  );
  return {
    overloadReason: () => reviews.overloadReason,
    fetch(request, { incoming } = {}) {
      const target = incoming?.url?.startsWith("/") === true ? incoming.url : pathOf(request.url);
      const cellID = (incoming?.method ?? request.method) === "POST" ? cellOf(target, pathPrefix) : undefined;
      return cellID === undefined ? others.fetch(request) : reviews.answer(request, cellID, target, incoming);
    },
  };
}

/** For people who open the port. */
function indexOf(pathPrefix: string): string {
  return (
    "404 page not found\n\nPodseidon: webhook\n" +
    `POST ${pathPrefix}/CELL   an AdmissionReview of a pod's deletion or eviction in the cell\n` +
    "Health and metrics have ports of their own: --healthz-port, --prometheus-http-port.\n"
  );
}

/** Path and query of an absolute URL. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("://") + "://".length));
}

/** Undefined = not the path of a review. */
function cellOf(target: string, pathPrefix: string): string | undefined {
  if (!target.startsWith(pathPrefix) || target[pathPrefix.length] !== "/") return undefined;
  const query = target.indexOf("?");
  const segment = target.slice(pathPrefix.length + 1, query === -1 ? undefined : query);
  if (segment === "" || segment.includes("/")) return undefined;
  const cellID = segment.includes("%") ? tryDecodeURIComponent(segment) : segment;
  return cellID === "." || cellID === ".." ? undefined : cellID;
}

class ReviewRoute {
  readonly #options: AppOptions;
  readonly #bodies: ReviewBodies;
  readonly #turns: ParseTurns;
  readonly #cells: ServedCells;
  readonly #clients: ClientCells;
  readonly #limit: InFlightLimit;
  readonly #timeoutMs = createTimeoutReader();
  readonly #errorLines: TokenBucket;

  constructor(options: AppOptions) {
    this.#options = options;
    this.#bodies = new ReviewBodies(options.clock);
    this.#turns = new ParseTurns(options.clock);
    this.#errorLines = createTokenBucket(errorLines, options.clock);
    this.#cells = new ServedCells(options.allowedCells, options.cells.label);
    this.#clients = new ClientCells(options.clientCells, options.logger);
    const limit = new InFlightLimit(options.dryRun);
    this.#limit = limit;
    options.metrics.readReviewsInFlight(() => limit.inFlight);
  }

  get overloadReason(): string | undefined {
    return this.#limit.fullReason;
  }

  /** `target`: path and query. `incoming`: where the body comes from, if not from `request`. Never rejects. */
  async answer(
    request: Request,
    cellID: string,
    target: string,
    incoming: IncomingMessage | undefined,
  ): Promise<Response> {
    try {
      return await this.#answer(request, cellID, target, incoming);
    } catch (error) {
      // Nothing that comes from outside leads here: this is a mistake in the program. One review fails, not the
      // process.
      this.#options.logger.error("Review failed unexpectedly", { err: error, path: target });
      this.#options.metrics.httpError(cellID, "Internal");
      return json(500, failedCallStatus(500, "server internal error: unexpected failure, see the log of the webhook"));
    }
  }

  async #answer(
    request: Request,
    cellID: string,
    target: string,
    incoming: IncomingMessage | undefined,
  ): Promise<Response> {
    const { clock, metrics } = this.#options;
    const arrived = clock.monotonicMs();
    const unserved = this.#cells.refusal(cellID);
    if (unserved !== undefined) {
      metrics.httpError(cellID, unserved.tag);
      return json(404, failedCallStatus(404, unserved.message));
    }
    const foreign = this.#clients.refusal(incoming?.socket, cellID);
    if (foreign !== undefined) {
      metrics.httpError(cellID, "CellNotOfClient");
      return json(403, failedCallStatus(403, foreign));
    }
    // The signal aborts when the caller has left.
    const deadlineMonotonicMs = later(arrived, this.#timeoutMs(target));
    const peer = incoming?.socket?.remoteAddress ?? "";
    const unidentifiedPeer = incoming === undefined || isIdentified(incoming.socket) ? undefined : peer;
    const context = { cellID, deadlineMonotonicMs, signal: request.signal, peer, unidentifiedPeer };
    const opened = await this.#open(request, incoming, context);
    if (!opened.ok) return opened.answer;
    const { identity, review, bytes } = opened;
    if (!this.#limit.hold(bytes, unidentifiedPeer)) return this.#busy(cellID);
    try {
      return await this.#decide(identity, review, context);
    } finally {
      this.#limit.release(bytes, unidentifiedPeer);
    }
  }

  /** Reads the review. What it leaves does not hold the body, nor the pod as it came. */
  async #open(request: Request, incoming: IncomingMessage | undefined, context: ReviewContext): Promise<Opened> {
    const { metrics, handler } = this.#options;
    const { cellID, deadlineMonotonicMs } = context;
    const body = await readBody(request, incoming, this.#bodies, deadlineMonotonicMs);
    if (!body.ok) {
      metrics.httpError(cellID, "ReadBody");
      return { ok: false, answer: unreadable(body.problem) };
    }
    const parsing = this.#parse(body.bytes, context);
    const parsed = parsing instanceof Promise ? await parsing : parsing;
    if (parsed === undefined) return { ok: false, answer: this.#busy(cellID) };
    if (!parsed.ok) {
      metrics.httpError(cellID, "UnmarshalBody");
      return { ok: false, answer: json(parsed.code, malformedAnswer("", parsed.code, parsed.reason)) };
    }
    const read = readRequest(parsed.json);
    if (!read.ok) {
      metrics.httpError(cellID, "UnmarshalBody/Review");
      return { ok: false, answer: json(400, malformedAnswer(read.uid, 400, read.reason)) };
    }
    const { uid, operation, namespace, name } = read.request;
    const warnings = warningsOf(read.request, this.#options, cellID);
    const identity = { uid, operation, namespace, name, warnings };
    return { ok: true, identity, review: handler.read(read.request, context), bytes: parsed.bytes };
  }

  /** Usual reviews at once, the others in their turn. Undefined = too many wait. */
  #parse(body: Buffer, context: ReviewContext): Parsed | Promise<Parsed | undefined> {
    if (body.length > smallBytesMax) {
      return this.#turns.run(body.length, context, () => parse(reviewFields(body)));
    }
    const fields = reviewFields(body);
    if (!fields.ok || fields.values <= usualValuesMax) return parse(fields);
    return this.#turns.run(fields.text.length, context, () => parse(fields));
  }

  #busy(cellID: string): Response {
    this.#options.metrics.httpError(cellID, "TooManyLarge");
    return json(429, failedCallStatus(429, "too many large reviews at once; try again in a few seconds"));
  }

  async #decide(identity: RequestIdentity, review: Review, context: ReviewContext): Promise<Response> {
    const { handler } = this.#options;
    const overload = this.#limit.enter(review.isForced, context.unidentifiedPeer);
    if (overload !== undefined)
      return this.#report(identity, context.cellID, await handler.decide(review, { ...context, overload }));
    try {
      return this.#report(identity, context.cellID, await handler.decide(review, context));
    } finally {
      this.#limit.leave(context.unidentifiedPeer);
    }
  }

  #report(identity: RequestIdentity, cellID: string, decision: Decision): Response {
    const { logger } = this.#options;
    const { uid, operation, namespace, name, warnings } = identity;
    if (logger.isVerbose(4)) {
      const asked = { cell: cellID, pod: printable(`${namespace}/${name}`), requestUid: printable(uid), operation };
      logger.verbose(4, "Review decided", { ...asked, ...inLogs(decision) });
    }
    if (decision.kind !== "error") return json(200, answer(uid, decision, warnings));
    if (this.#errorLines.takeNow()) {
      const requestUid = uid.slice(0, loggedUIDMax);
      logger.error("HTTP error", { cell: cellID, requestUid, tag: decision.tag, reason: decision.message });
    }
    return json(500, failedCallStatus(500, `server internal error: ${decision.message}`));
  }
}

/** Flat, so that a person can read it: causes and audit annotations say again what the message says. */
function inLogs(decision: Decision): LogFields {
  const { kind } = decision;
  if (kind === "error") return { decision: kind, tag: decision.tag, message: decision.message };
  const { status } = decision;
  const message = kind === "refused" ? decision.message : decision.warnings.join("; ");
  return { decision: kind, status, ...(message !== "" && { message }) };
}

/** What of a request is needed to answer it, and for the log. */
interface RequestIdentity extends Pick<AdmissionRequest, "uid" | "operation" | "namespace" | "name"> {
  /** Of the answer, whatever is decided. */
  readonly warnings: readonly string[];
}

/** A review that is read. */
type Opened =
  | {
      readonly ok: true;
      readonly identity: RequestIdentity;
      readonly review: Review;
      /** About as many it holds. */
      readonly bytes: number;
    }
  | { readonly ok: false; readonly answer: Response };

/** The rest of the body is not read, so the connection ends with the answer. */
function unreadable(problem: Extract<ReviewBody, { readonly ok: false }>["problem"]): Response {
  switch (problem) {
    case "tooLarge":
      return json(413, malformedAnswer("", 413, `the body is larger than ${bodyBytesMax} bytes`), closing);
    case "full":
      return json(
        429,
        failedCallStatus(429, "too many reviews are being received; try again in a few seconds"),
        closing,
      );
    case "slow":
      return json(408, malformedAnswer("", 408, "the body came too slowly"), closing);
    case "broken":
      return json(400, malformedAnswer("", 400, "Cannot read POST body"), closing);
    default:
      return problem satisfies never;
  }
}

/** From the socket; without one, as in the simulation, from the Request. */
function readBody(
  request: Request,
  incoming: IncomingMessage | undefined,
  bodies: ReviewBodies,
  deadlineMs: MonotonicMs,
): Promise<ReviewBody> {
  if (incoming !== undefined) return bodies.read(incoming, incoming.headers["content-length"], deadlineMs);
  const source = request.body === null ? Readable.from([]) : Readable.fromWeb(request.body);
  return bodies.read(source, request.headers.get("content-length") ?? undefined, deadlineMs);
}

/** A usual review has 100. JSON.parse takes up to 10 ms for as many as this. */
const usualValuesMax = 2_000;

/** What a parsed value takes besides its text, which takes up to two bytes a character. */
const bytesPerValue = 64;

type Parsed =
  | { readonly ok: true; readonly json: unknown; readonly bytes: number }
  | Extract<KeptFields, { readonly ok: false }>;

function parse(fields: KeptFields): Parsed {
  if (!fields.ok) return fields;
  const { text, values } = fields;
  try {
    return { ok: true, json: JSON.parse(text), bytes: text.length * 2 + values * bytesPerValue };
  } catch {
    // The error would quote the body.
    return { ok: false, code: 400, reason: "error parsing JSON body: invalid JSON" };
  }
}

const jsonHeaders = { "Content-Type": "application/json" };

const closing = { ...jsonHeaders, Connection: "close" };

function json(status: number, body: object, headers: Readonly<Record<string, string>> = jsonHeaders): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

/**
 * Milliseconds for a decision, from path and query with `?timeout=`. Remembers the last query: one webhook
 * configuration always sends the same.
 */
function createTimeoutReader(): (target: string) => number {
  let last = { query: "", ms: readTimeoutMs(null) };
  return (target) => {
    const at = target.indexOf("?");
    const query = at === -1 ? "" : target.slice(at);
    if (query !== last.query) last = { query, ms: readTimeoutMs(new URLSearchParams(query).get("timeout")) };
    return last.ms;
  };
}

/** The API server's timeout less its rounding, but at least half of it, so that `timeout=1s` leaves some. */
function readTimeoutMs(text: string | null): number {
  const asked = text === null ? undefined : parseDurationMs(text);
  const timeout = asked === undefined || asked <= 0 ? timeoutMsDefault : Math.min(asked, timeoutMsMax);
  return Math.max(timeout - roundingMs, timeout / 2);
}
