/**
 * The HTTP surface: `POST <prefix>/{cell}` with an AdmissionReview. The cell is exactly one path segment, percent-decoded. Every body gets a
 * well-formed answer, whatever it holds; an unexpected error is answered too, and logged.
 */
import { type HttpBindings } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { parseDurationMs } from "../config/duration.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { answer, internalErrorStatus, malformedAnswer, readReview } from "./admission-review.ts";
import { type Handler } from "./handler.ts";
import { type WebhookMetrics } from "./metrics.ts";

export interface AppOptions {
  /** "" or begins with "/" and does not end with it. */
  readonly pathPrefix: string;
  readonly handler: Handler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
}

/**
 * A review holds the object and the old object, each at most what the API server accepts in a request (3 MiB, limitedReadBody of kube-apiserver), and
 * about as much besides as fits into 1 MiB: user, options, kinds.
 */
const bodyBytesMax = (3 + 3 + 1) * 1024 * 1024;
/** What Kubernetes takes when a webhook configuration sets no timeoutSeconds. */
const timeoutMsDefault = 10_000;
/** The most that Kubernetes lets a webhook configuration set. */
const timeoutMsMax = 30_000;
/** The API server rounds ?timeout= up to whole seconds, so it may give up this much earlier. */
const roundingMs = 1_000;

export function createWebhookApp(options: AppOptions): Hono {
  const { metrics, logger } = options;
  const app = new Hono();
  const route = `${options.pathPrefix}/:cell`;
  const onTooLarge = (context: Context): Response => {
    metrics.httpError(context.req.param("cell") ?? "", "ReadBody");
    return context.json(malformedAnswer("", 413, `the body is larger than ${bodyBytesMax} bytes`), 413);
  };
  app.post(route, limitBody(onTooLarge), (context) => review(context, options));
  app.all(route, (context) => context.text("Method Not Allowed\n", 405, { Allow: "POST" }));
  app.notFound((context) => context.text("404 page not found\n", 404));
  app.onError((error, context) => {
    // Nothing that comes from outside leads here: this is a mistake in the program. One review fails, not the process.
    logger.error("A review failed unexpectedly", { err: error, path: context.req.path });
    metrics.httpError(context.req.param("cell") ?? "", "Internal");
    return context.json(
      internalErrorStatus("server internal error: unexpected failure, see the log of the webhook"),
      500,
    );
  });
  return app;
}

/**
 * API servers say how long a review is. Then the length is enough, because Node's parser takes no more than that; to look at the body instead makes a
 * web stream of it, which costs as much as all the rest of a review (measured: 280 against 160 µs of CPU).
 */
function limitBody(onTooLarge: (context: Context) => Response): MiddlewareHandler {
  const limitStream = bodyLimit({ maxSize: bodyBytesMax, onError: onTooLarge });
  return async (context, next) => {
    const length = context.req.header("content-length");
    if (length === undefined || context.req.header("transfer-encoding") !== undefined) {
      return limitStream(context, next);
    }
    if (Number(length) <= bodyBytesMax) return next();
    return onTooLarge(context);
  };
}

async function review(context: Context, { handler, clock, metrics, logger }: AppOptions): Promise<Response> {
  const arrivedMs = clock.monotonicMs();
  const cellID = context.req.param("cell") ?? "";
  const body = await readBody(context);
  if (!body.ok) {
    metrics.httpError(cellID, body.tag);
    return context.json(malformedAnswer("", 400, body.reason), 400);
  }
  const read = readReview(body.json);
  if (!read.ok) {
    metrics.httpError(cellID, "UnmarshalBody/Review");
    return context.json(malformedAnswer(read.uid, 400, read.reason), 400);
  }
  const { request } = read;
  const decision = await handler(request, {
    cellID,
    deadlineMonotonicMs: arrivedMs + timeoutMs(context.req.query("timeout")),
    signal: signalOfCaller(context),
  });
  if (logger.isVerbose(4)) {
    const { namespace, name, uid, operation } = request;
    logger.verbose(4, "Review decided", { cell: cellID, namespace, name, requestUid: uid, operation, decision });
  }
  if (decision.kind !== "error") return context.json(answer(request.uid, decision));
  logger.error("HTTP error", { cell: cellID, requestUid: request.uid, tag: decision.tag, reason: decision.message });
  return context.json(internalErrorStatus(`server internal error: ${decision.message}`), 500);
}

/**
 * Aborts when the caller has gone. The web Request has a signal as well, but asking for it makes the server build the whole Request, which
 * takes longer than the rest of a review; without a socket there is only that one.
 */
function signalOfCaller(context: Context): AbortSignal {
  const outgoing = (context.env as Partial<HttpBindings> | undefined)?.outgoing;
  if (outgoing === undefined) return context.req.raw.signal;
  const controller = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  return controller.signal;
}

type Body =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly tag: "ReadBody" | "UnmarshalBody"; readonly reason: string };

async function readBody(context: Context): Promise<Body> {
  let text: string;
  try {
    text = await context.req.text();
  } catch {
    // The client broke off in the middle of its body.
    return { ok: false, tag: "ReadBody", reason: "Cannot read POST body" };
  }
  try {
    return { ok: true, json: JSON.parse(text) };
  } catch (error) {
    const reason = text === "" ? "unexpected end of JSON input" : (error as SyntaxError).message;
    return { ok: false, tag: "UnmarshalBody", reason: `error parsing JSON body: ${reason}` };
  }
}

/** Milliseconds for a decision: the API server's timeout less its rounding, but at least half of it, so that `timeout=1s` leaves some. */
function timeoutMs(query: string | undefined): number {
  const asked = query === undefined ? undefined : parseDurationMs(query);
  const timeout = asked === undefined || asked <= 0 ? timeoutMsDefault : Math.min(asked, timeoutMsMax);
  return Math.max(timeout - roundingMs, timeout / 2);
}
