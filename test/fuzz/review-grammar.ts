/** Reviews as an API server sends them, as a badly configured one does, and as an attacker does. */
import { annotations } from "../../src/api/v1alpha1/names.ts";
import { deleteReview, endReview, evictReview, type Json, pod } from "../unit/webhook/support/objects.ts";
import { type Draws } from "../support/draws.ts";
import { type EpisodeSettings, type ReviewStep } from "./episode.ts";
import { garbled, mutated } from "./mutate.ts";
import { calmNamespace, cellIDs, mixedNamespace } from "./protector-grammar.ts";

/** A pod of a workload; few names, so that reviews are repeated. */
export function drawPod(draw: Draws, name: string): Json {
  const namespace = draw.weighted<string>([
    [16, () => calmNamespace],
    [6, () => mixedNamespace],
    [0.5, () => "elsewhere"],
  ]);
  const own: Record<string, string> = {};
  if (draw.chance(0.05)) own[annotations.forceDelete] = "";
  if (draw.chance(0.15))
    own[annotations.healthCriterion] = draw.pick([
      "Scheduled",
      "Initialized",
      "Running",
      "Ready",
      "Available",
      "ready",
      "",
    ]);
  return pod(name, {
    namespace,
    labels: draw.weighted<Record<string, string>>([
      [10, () => ({ app: "web" })],
      [2, () => ({ app: "web", tier: "front" })],
      [1, () => ({ app: "web", "": "", constructor: "x" })],
      [0.5, () => ({ app: "api" })],
      [0.5, () => ({})],
    ]),
    annotations: own,
    resourceVersion: String(500 + draw.below(50)),
    ...(draw.chance(0.02) && { terminating: true }),
    ...(draw.chance(0.04) && { ready: false }),
    ...(draw.chance(0.03) && { scheduled: false }),
    ...(draw.chance(0.04) && { readySince: draw.pick(["2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "never"]) }),
    ...(draw.chance(0.04) && { phase: draw.pick(["Pending", "Failed", "Succeeded", "Unknown"]) }),
  });
}

function drawReview(draw: Draws, uid: string, podNames: readonly string[]): Json {
  const extra: Json = { uid, ...(draw.chance(0.05) && { dryRun: true }), ...(draw.chance(0.02) && { dryRun: null }) };
  return draw.weighted<Json>([
    [70, () => deleteReview(drawPod(draw, `p${draw.below(25)}`), { ...extra, name: "p" })],
    // deletecollection names no pod.
    [10, () => deleteReview(drawPod(draw, `p${draw.below(25)}`), extra)],
    [10, () => evict(draw, draw.pick(podNames), extra)],
    [3, () => end(draw, extra)],
    [
      2,
      () =>
        deleteReview(drawPod(draw, "p"), {
          ...extra,
          options: { gracePeriodSeconds: draw.pick([0, 30, -1]), dryRun: ["All"] },
        }),
    ],
    [1, () => deleteReview(draw.pick([undefined, null, 7, [], {}]), extra)],
    [
      1,
      () =>
        deleteReview(drawPod(draw, "p"), {
          ...extra,
          ...draw.pick<Json>([{ operation: "CREATE" }, { operation: "CONNECT" }, { subResource: "status" }]),
        }),
    ],
    [
      1,
      () =>
        deleteReview(drawPod(draw, "p"), {
          ...extra,
          resource: draw.pick<Json>([
            { group: "", version: "v1", resource: "nodes" },
            { group: "apps", version: "v1", resource: "pods" },
            {},
          ]),
        }),
    ],
  ]);
}

/** A write of a pod's status, mostly one that ends it. */
function end(draw: Draws, extra: Json): Json {
  const odd = draw.pick<Json>([
    {},
    {},
    {},
    { userInfo: { username: "system:node:node-1" } },
    { object: draw.pick([null, 7, {}, { status: { phase: "Running" } }]) },
    { userInfo: { username: "system:kube-controller-manager" } },
  ]);
  return endReview(drawPod(draw, `p${draw.below(25)}`), { ...extra, ...odd });
}

function evict(draw: Draws, name: string, extra: Json): Json {
  const own = draw.chance(0.1)
    ? { [annotations.forceDelete]: "" }
    : draw.chance(0.2)
      ? { [annotations.healthCriterion]: "Ready" }
      : {};
  const options = draw.pick<Json>([
    {},
    {},
    {},
    {},
    { deleteOptions: { dryRun: ["All"] } },
    { deleteOptions: { dryRun: "All" } },
    { deleteOptions: 7 },
  ]);
  const named = draw.weighted<string>([
    [20, () => name],
    [1, () => draw.pick(["..", "", "a/b", "no-such-pod", "A"])],
  ]);
  return evictReview(
    named,
    { metadata: { name: named, annotations: own }, ...options },
    { ...extra, namespace: calmNamespace },
  );
}

/** Path, query, headers and body of one request. */
export function drawReviewStep(
  draw: Draws,
  uid: string,
  podNames: readonly string[],
  { pathPrefix = "" }: EpisodeSettings,
): ReviewStep {
  const review = drawReview(draw, uid, podNames);
  const body = draw.weighted<string>([
    [88, () => JSON.stringify(review)],
    [9, () => mutated(draw, review)],
    [3, () => garbled(draw, JSON.stringify(review))],
  ]);
  const isUsual = draw.chance(0.94);
  const isGarbage = draw.chance(0.01);
  const path = `${pathPrefix}/${encodeURIComponent(
    draw.weighted<string>([
      [6, () => "c1"],
      [3, () => "c2"],
      [1, () => draw.pick(cellIDs)],
    ]),
  )}`;
  return {
    type: "review",
    method: isUsual || draw.chance(0.8) ? "POST" : draw.pick(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]),
    url: isUsual ? `${path}?timeout=${draw.pick(["10s", "10s", "5s", "1s", "30s"])}` : oddUrl(draw, path),
    headers: draw.chance(0.95) ? { "content-type": "application/json" } : oddHeaders(draw),
    body: isGarbage ? notUtf8(body).toString("base64") : body,
    ...(isGarbage && { isBase64: true }),
    isSocket: draw.chance(0.9),
    ...(draw.chance(0.005) && { breaksOff: true }),
    ...(draw.chance(0.02) && { leavesAfterMs: draw.pick([0, 1, 7, 50]) }),
  };
}

/** Here and there a byte that no UTF-8 text holds. */
function notUtf8(body: string): Buffer {
  const bytes = Buffer.from(body);
  for (let at = 5; at < bytes.length; at += 97) bytes[at] = 0xff;
  return bytes;
}

function oddUrl(draw: Draws, path: string): string {
  const timeout = draw.pick([
    "",
    "?timeout=",
    "?timeout=0s",
    "?timeout=-5s",
    "?timeout=1h",
    "?timeout=5",
    "?timeout=NaN",
    "?timeout=1ms",
    "?timeout=2s&timeout=9s",
    "?timeout=%35s",
    "?timeout=1.5s&x=y",
    "?Timeout=2s",
    `?timeout=${"9".repeat(70)}s`,
    "?%ff=%",
    "?timeout=1µs",
  ]);
  const odd = draw.pick([
    path,
    path,
    path,
    path,
    "/",
    "",
    `${path}/`,
    `${path}/x`,
    "//c1",
    "/c1//",
    "/%",
    "/%ff",
    "/%00",
    "/a%2Fb",
    "/..%2f..",
    "/c1%0a",
    "/.",
    "/%2e%2e",
    `/${"c".repeat(3_000)}`,
    "/__proto__",
    "/c1;x",
    "/c1#f",
    "/:cell",
    "/*",
  ]);
  return odd + timeout;
}

function oddHeaders(draw: Draws): Readonly<Record<string, string>> {
  return draw.pick<Record<string, string>>([
    {},
    { "content-type": "text/plain" },
    { "content-type": "application/vnd.kubernetes.protobuf" },
    { "content-length": "99999999999" },
    { "content-length": "-1" },
    { "content-length": "x" },
    { "content-encoding": "gzip" },
    { "x-forwarded-for": "__proto__", accept: "text/html" },
  ]);
}
