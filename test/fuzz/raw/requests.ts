/** Well-formed HTTP requests: reviews that are decided, reviews that say nothing, and whatever else may be asked. */
import { deleteReview, evictReview, type Json, pod } from "../../unit/webhook/support/objects.ts";
import { cell } from "../../attack/bodies.ts";
import { type Draws } from "../../support/draws.ts";
import { mutated } from "../mutate.ts";
import { type Expectation, type ListenerName, type RequestItem, servesReviews } from "./plan.ts";

/** A request that is not written down yet. */
export interface Request extends RequestItem {
  readonly target: string;
  readonly version: string;
  /** Each a line without its end. */
  readonly headers: readonly string[];
  /** Undefined = framed by Content-Length. */
  readonly chunks: readonly string[] | undefined;
}

const reviewTarget = `/${cell}?timeout=10s`;
const extraHeaders: readonly string[] = [
  "Accept: application/json, */*",
  "User-Agent: kube-apiserver-admission",
  "Content-Type: application/json",
  "Accept-Encoding: gzip",
  "Expect: 100-continue",
  "Connection: keep-alive",
  "X-Empty:",
  "Cookie: a=b",
];
const otherMethods: readonly string[] = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PURGE"];
const otherTargets: readonly string[] = ["/", "/a/b", `/${cell}`, `/${cell}/`, "/readyz", "/livez?verbose", "/metrics"];

/** A request that is whole; `uid` is nobody else's. */
export function drawRequest(draw: Draws, listener: ListenerName, uid: string): Request {
  if (!servesReviews(listener)) return framed(draw, { ...drawOther(draw), expects: "answered" });
  return draw.weighted<Request>([
    [10, () => drawReview(draw, uid)],
    [2, () => framed(draw, { ...post(nonsense(draw, uid)), uid, expects: "refused" })],
    [2, () => framed(draw, { ...post(mutated(draw, reviewOf(draw, uid).review)), expects: "answered" })],
    [2, () => framed(draw, { ...drawOther(draw), expects: "answered" })],
  ]);
}

/** A review that must be decided. */
export function drawReview(draw: Draws, uid: string): Request {
  const { review, expects } = reviewOf(draw, uid);
  return framed(draw, { ...post(JSON.stringify(review)), uid, expects });
}

function reviewOf(draw: Draws, uid: string): { readonly review: Json; readonly expects: Expectation } {
  return draw.weighted<{ readonly review: Json; readonly expects: Expectation }>([
    [20, () => ({ review: deleteReview(pod("free", { labels: { app: "other" } }), { uid }), expects: "allowed" })],
    [10, () => ({ review: deleteReview(pod(`p-${uid}`), { uid, dryRun: true }), expects: "allowed" })],
    [3, () => ({ review: evictReview("evicted", {}, { uid, dryRun: true }), expects: "allowed" })],
    // The history of the one PodProtector may be full.
    [0.5, () => ({ review: deleteReview(pod(`p-${uid}`, { uid: `u-${uid}` }), { uid }), expects: "decided" })],
  ]);
}

/** What no reader may take for a review. */
function nonsense(draw: Draws, uid: string): string {
  const whole = JSON.stringify(reviewOf(draw, uid).review);
  return draw.weighted<string>([
    [3, () => whole.slice(0, draw.below(whole.length))],
    [1, () => draw.oneOf("", "{}", "[]", "null", "1", '""', "\u0000", "{", "nonsense")],
    [1, () => JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", request: { uid } })],
    [1, () => whole.replace("admission.k8s.io/v1", "admission.k8s.io/v2")],
    [0.3, () => "[".repeat(draw.whole(1_000, 50_000))],
  ]);
}

type Unframed = Omit<Request, "headers" | "chunks" | "version" | "closes">;

function post(body: string): Omit<Unframed, "expects"> {
  return { method: "POST", target: reviewTarget, uid: "", body };
}

function drawOther(draw: Draws): Omit<Unframed, "expects"> {
  return { method: draw.pick(otherMethods), target: draw.pick(otherTargets), uid: "", body: "" };
}

function framed(draw: Draws, request: Unframed): Request {
  const extras = extraHeaders.filter(() => draw.chance(0.2));
  const isChunked = request.body !== "" && draw.chance(0.3);
  const closes = draw.chance(0.05);
  return {
    ...request,
    closes,
    version: "HTTP/1.1",
    headers: ["Host: webhook", ...(closes ? ["Connection: close"] : []), ...extras],
    chunks: isChunked ? cutUp(draw, request.body, 6) : undefined,
  };
}

/** The pieces of a text, at most `countMax`, none of them empty. */
function cutUp(draw: Draws, text: string, countMax: number): readonly string[] {
  const cuts = Array.from({ length: draw.below(countMax) }, () => draw.below(text.length)).sort((a, b) => a - b);
  return [0, ...cuts].map((from, at) => text.slice(from, [...cuts, text.length][at])).filter((part) => part !== "");
}

const chunkExtensions: readonly string[] = ["", "", "", ";a", ";a=b", ';a="b c"'];

/** The head without its end, as lines. */
export function headLines({ method, target, version, headers, chunks, body }: Request): readonly string[] {
  const length = Buffer.byteLength(body);
  const framing = chunks !== undefined ? ["Transfer-Encoding: chunked"] : [`Content-Length: ${length}`];
  const hasBody = method === "POST" || length > 0;
  return [`${method} ${target} ${version}`, ...headers, ...(hasBody ? framing : [])];
}

/** The body with its framing. */
export function bodyText(draw: Draws, { chunks, body }: Request): string {
  if (chunks === undefined) return body;
  const lines = chunks.map(
    (chunk) => `${Buffer.byteLength(chunk).toString(16)}${draw.pick(chunkExtensions)}\r\n${chunk}\r\n`,
  );
  return `${lines.join("")}0\r\n${draw.chance(0.2) ? "X-Trailer: a\r\n" : ""}\r\n`;
}

export function written(draw: Draws, request: Request): Buffer {
  return Buffer.from(`${headLines(request).join("\r\n")}\r\n\r\n${bodyText(draw, request)}`);
}
