/**
 * The HTTP surface: `POST <prefix>/{cell}` with an AdmissionReview. The cell is exactly one path segment,
 * percent-decoded. Every body gets a well-formed answer, whatever it holds; an unexpected error is answered too, and
 * logged.
 *
 * Nearly all reviews are of pods that no PodProtector counts, and what they cost is spent here. So this file goes
 * around what builds web objects: a short way past hono's router, the body from Node's stream, an answer with plain
 * headers.
 */
import { type HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { parseDurationMs } from "../../config/duration.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type AdmissionRequest, answer, failedCallStatus, malformedAnswer, readReview } from "./admission-review.ts";
import { type Decision } from "../decide/decision.ts";
import { type Handler, type ReviewContext } from "../decide/handler.ts";
import { InFlightLimit } from "./in-flight-limit.ts";
import { otherCells, type WebhookMetrics } from "../metrics.ts";
import { bodyBytesMax, ReviewBodies, type ReviewBody } from "./review-body.ts";

export interface AppOptions {
  /** "" or begins with "/" and does not end with it. */
  readonly pathPrefix: string;
  /** The cells that are served; empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  /** --webhook-dry-run: nothing is refused, not for load either. */
  readonly dryRun: boolean;
  readonly handler: Handler;
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

export interface WebhookApp {
  /** All routes. */
  readonly app: Hono;
  /** The same, with a short way for what API servers send. */
  readonly fetch: (request: Request, bindings?: HttpBindings) => Response | Promise<Response>;
}

export function createWebhookApp(options: AppOptions): WebhookApp {
  const { pathPrefix, metrics, logger } = options;
  const review = new ReviewRoute(options);
  const fail = (error: unknown, path: string, cellID: string): Response => {
    // Nothing that comes from outside leads here: this is a mistake in the program. One review fails, not the process.
    logger.error("A review failed unexpectedly", { err: error, path });
    metrics.httpError(cellID, "Internal");
    return json(500, failedCallStatus(500, "server internal error: unexpected failure, see the log of the webhook"));
  };

  const app = new Hono();
  const route = `${pathPrefix}/:cell`;
  app.post(route, ({ req, env }) => {
    const { incoming } = (env ?? {}) as Partial<HttpBindings>;
    return review.answer(req.raw, req.param("cell") ?? "", req.query("timeout"), incoming);
  });
  app.all(route, (context) => context.text("Method Not Allowed\n", 405, { Allow: "POST" }));
  app.notFound((context) => context.text("404 page not found\n", 404));
  app.onError((error, { req }) => fail(error, req.path, req.param("cell") ?? ""));

  // The way through hono's router and context costs as much as the decision on a pod that no PodProtector counts.
  const usual = new RegExp(`^${pathPrefix.replaceAll(".", "\\.")}/([A-Za-z0-9][A-Za-z0-9._~-]*)\\?timeout=(\\d+s)$`);
  return {
    app,
    fetch(request, bindings) {
      const { method, url = "" } = bindings?.incoming ?? {};
      const [, cellID, timeout] = (method === "POST" && usual.exec(url)) || [];
      if (cellID === undefined) return app.fetch(request, bindings);
      return review
        .answer(request, cellID, timeout, bindings?.incoming)
        .catch((error: unknown) => fail(error, url, cellID));
    },
  };
}

class ReviewRoute {
  readonly #options: AppOptions;
  readonly #bodies = new ReviewBodies();
  readonly #limit: InFlightLimit;
  readonly #timeoutMs = createTimeoutReader();

  constructor(options: AppOptions) {
    this.#options = options;
    const limit = new InFlightLimit(options.dryRun);
    this.#limit = limit;
    options.metrics.readReviewsInFlight(() => limit.inFlight);
  }

  /** `timeout` is what the query says; `incoming` where the body comes from, if not from `request`. */
  async answer(
    request: Request,
    cellID: string,
    timeout: string | undefined,
    incoming: IncomingMessage | undefined,
  ): Promise<Response> {
    const { allowedCells, clock, metrics } = this.#options;
    const arrivedMs = clock.monotonicMs();
    if (allowedCells.size > 0 && !allowedCells.has(cellID)) {
      metrics.httpError(otherCells, "CellNotAllowed");
      const message = `the cell ${JSON.stringify(cellID)} is not served by this webhook (--webhook-allowed-cells)`;
      return json(404, failedCallStatus(404, message));
    }
    const body = await readBody(request, incoming, this.#bodies);
    if (!body.ok) {
      metrics.httpError(cellID, "ReadBody");
      return unreadable(body.problem);
    }
    try {
      const deadlineMonotonicMs = arrivedMs + this.#timeoutMs(timeout);
      // The signal aborts when the caller has gone.
      return await this.#answerBody(body.bytes, { cellID, deadlineMonotonicMs, signal: request.signal });
    } finally {
      this.#bodies.release(body.bytes.length);
    }
  }

  #answerBody(bytes: Buffer, context: ReviewContext): Response | Promise<Response> {
    const { metrics } = this.#options;
    const parsed = parse(bytes);
    if (!parsed.ok) {
      metrics.httpError(context.cellID, "UnmarshalBody");
      return json(400, malformedAnswer("", 400, `error parsing JSON body: ${parsed.reason}`));
    }
    const read = readReview(parsed.json);
    if (!read.ok) {
      metrics.httpError(context.cellID, "UnmarshalBody/Review");
      return json(400, malformedAnswer(read.uid, 400, read.reason));
    }
    return this.#decide(read.request, context);
  }

  async #decide(request: AdmissionRequest, context: ReviewContext): Promise<Response> {
    const { handler } = this.#options;
    const overload = this.#limit.enter(request);
    if (overload !== undefined)
      return this.#report(request, context.cellID, await handler(request, { ...context, overload }));
    try {
      return this.#report(request, context.cellID, await handler(request, context));
    } finally {
      this.#limit.leave();
    }
  }

  #report(request: AdmissionRequest, cellID: string, decision: Decision): Response {
    const { logger } = this.#options;
    if (logger.isVerbose(4)) {
      const { namespace, name, uid, operation } = request;
      logger.verbose(4, "Review decided", { cell: cellID, namespace, name, requestUid: uid, operation, decision });
    }
    if (decision.kind !== "error") return json(200, answer(request.uid, decision));
    logger.error("HTTP error", { cell: cellID, requestUid: request.uid, tag: decision.tag, reason: decision.message });
    return json(500, failedCallStatus(500, `server internal error: ${decision.message}`));
  }
}

function unreadable(problem: Extract<ReviewBody, { readonly ok: false }>["problem"]): Response {
  switch (problem) {
    case "tooLarge":
      return json(413, malformedAnswer("", 413, `the body is larger than ${bodyBytesMax} bytes`));
    case "full":
      return json(429, failedCallStatus(429, "too many large reviews at once; try again in a few seconds"));
    case "broken":
      return json(400, malformedAnswer("", 400, "Cannot read POST body"));
    default:
      return problem satisfies never;
  }
}

/** From the socket; without one, as in the simulation, from the Request. */
function readBody(request: Request, incoming: IncomingMessage | undefined, bodies: ReviewBodies): Promise<ReviewBody> {
  if (incoming !== undefined) return bodies.read(incoming, incoming.headers["content-length"]);
  const source = request.body === null ? Readable.from([]) : Readable.fromWeb(request.body);
  return bodies.read(source, request.headers.get("content-length") ?? undefined);
}

type Parsed = { readonly ok: true; readonly json: unknown } | { readonly ok: false; readonly reason: string };

function parse(bytes: Buffer): Parsed {
  try {
    return { ok: true, json: JSON.parse(bytes.toString()) };
  } catch (error) {
    return { ok: false, reason: bytes.length === 0 ? "unexpected end of JSON input" : (error as SyntaxError).message };
  }
}

const jsonHeaders = { "Content-Type": "application/json" };

function json(status: number, body: object): Response {
  return new Response(JSON.stringify(body), { status, headers: jsonHeaders });
}

/**
 * Milliseconds for a decision, from the text of `?timeout=`. Remembers the last: one webhook configuration always sends
 * the same.
 */
function createTimeoutReader(): (query: string | undefined) => number {
  let last = { query: undefined as string | undefined, ms: readTimeoutMs(undefined) };
  return (query) => {
    if (query !== last.query) last = { query, ms: readTimeoutMs(query) };
    return last.ms;
  };
}

/** The API server's timeout less its rounding, but at least half of it, so that `timeout=1s` leaves some. */
function readTimeoutMs(query: string | undefined): number {
  const asked = query === undefined ? undefined : parseDurationMs(query);
  const timeout = asked === undefined || asked <= 0 ? timeoutMsDefault : Math.min(asked, timeoutMsMax);
  return Math.max(timeout - roundingMs, timeout / 2);
}
