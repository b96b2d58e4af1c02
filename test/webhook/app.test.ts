/** Point 7 of the design: the HTTP surface. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "../../src/util/logger.ts";
import { silentMetrics } from "../../src/util/metrics.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { createWebhookApp } from "../../src/webhook/app.ts";
import { allowed } from "../../src/webhook/decision.ts";
import { type ReviewContext } from "../../src/webhook/handler.ts";
import { createWebhookMetrics } from "../../src/webhook/metrics.ts";
import { cell, deleteReview, type Json, pod, protector } from "./support/objects.ts";
import { world } from "./support/replica.ts";

const small = () => world([protector({ cells: [cell("c1", 100)] })]).replica;

/** An app whose handler notes the context of the review. */
function appThatNotes(pathPrefix = "") {
  const contexts: ReviewContext[] = [];
  const app = createWebhookApp({
    pathPrefix,
    handler: async (_request, context) => {
      contexts.push(context);
      return allowed("Unmatched");
    },
    clock: createVirtualClock(),
    logger: silentLogger,
    metrics: createWebhookMetrics(silentMetrics),
  });
  const post = (path: string) => app.request(path, { method: "POST", body: JSON.stringify(deleteReview(pod("p"))) });
  return { app, contexts, post };
}

describe("routes", () => {
  it("take the cell from one percent-decoded path segment after the prefix", async () => {
    const { contexts, post } = appThatNotes("/hook");
    for (const [path, cellID] of [
      ["/hook/c1", "c1"],
      ["/hook/a%2Fb", "a/b"],
      ["/hook/zelle-%C3%A4", "zelle-ä"],
    ] as const) {
      assert.equal((await post(path)).status, 200, path);
      assert.equal(contexts.at(-1)?.cellID, cellID);
    }
  });

  it("answer 404 to every other path", async () => {
    const { post } = appThatNotes("/hook");
    for (const path of ["/", "/c1", "/hook", "/hook/", "/hook/a/b", "/hook/c1/"]) {
      const response = await post(path);
      assert.equal(response.status, 404, path);
      assert.equal(await response.text(), "404 page not found\n");
    }
  });

  it("answer 405 with Allow to every other method", async () => {
    const { app } = appThatNotes();
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await app.request("/c1", { method });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get("allow"), "POST");
    }
  });
});

describe("deadlines", () => {
  it("are the API server's timeout less one second, at least half of it, and at most Kubernetes' own limit", async () => {
    const { contexts, post } = appThatNotes();
    for (const [query, ms] of [
      ["?timeout=10s", 9_000],
      ["?timeout=1m", 29_000],
      ["?timeout=1s", 500],
      ["?timeout=1500ms", 750],
      ["?timeout=2.5s", 1_500],
      ["", 9_000],
      ["?timeout=", 9_000],
      ["?timeout=soon", 9_000],
      ["?timeout=-5s", 9_000],
      ["?timeout=0", 9_000],
    ] as const) {
      await post(`/c1${query}`);
      assert.equal(contexts.at(-1)?.deadlineMonotonicMs, ms, query);
    }
  });
});

describe("point 7: bodies", () => {
  it("copies the uid and answers as JSON", async () => {
    const answer = await small().review(deleteReview(pod("p"), { uid: "the-uid" }));
    assert.equal(answer.http, 200);
    assert.equal(answer.contentType, "application/json");
    assert.equal(answer.body["kind"], "AdmissionReview");
    assert.equal(answer.body["apiVersion"], "admission.k8s.io/v1");
    assert.equal((answer.body["response"] as Json)["uid"], "the-uid");
  });

  it("answers what is no JSON with 400 and a well-formed refusal", async () => {
    for (const [body, pattern] of [
      ["", /^error parsing JSON body: unexpected end of JSON input$/],
      ["{", /^error parsing JSON body: /],
      ["\u0000", /^error parsing JSON body: /],
      ["nonsense", /^error parsing JSON body: /],
    ] as const) {
      const answer = await small().review(body);
      assert.equal(answer.http, 400);
      assert.equal(answer.body["kind"], "AdmissionReview");
      assert.equal(answer.allowed, false);
      assert.match(answer.message, pattern);
    }
  });

  it("answers JSON that is no review with 400, and copies the uid where there is one", async () => {
    const request = { uid: "u", operation: "DELETE", resource: {} };
    for (const [body, uid] of [
      [{ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1beta1", request }, "u"],
      [{ kind: "Pod", request }, "u"],
      [{ request: { ...request, operation: 7 } }, "u"],
      [{ request: { ...request, dryRun: "yes" } }, "u"],
      [{ request: [] }, ""],
      [{ request: 7 }, ""],
      [[], ""],
      ["text", ""],
    ] as const) {
      const answer = await small().review(JSON.stringify(body));
      assert.equal(answer.http, 400, JSON.stringify(body));
      assert.equal(answer.allowed, false);
      assert.equal((answer.body["response"] as Json)["uid"], uid);
    }
  });

  it("takes a review without kind and apiVersion, as upstream does", async () => {
    const { request } = deleteReview(pod("p"));
    assert.equal((await small().review({ request })).allowed, true);
  });

  it("answers a body above 7 MiB with 413 and a well-formed refusal, whether it says its length or not", async () => {
    const { app } = small().webhook;
    const body = JSON.stringify(deleteReview(pod("p", { annotations: { big: "x".repeat(7 * 1024 * 1024) } })));
    const bytes = new TextEncoder().encode(body);
    const chunked = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    const requests: RequestInit[] = [
      { body, headers: { "content-length": String(bytes.length) } },
      { body: chunked, duplex: "half" },
    ];
    for (const init of requests) {
      const response = await app.request("/c1", { method: "POST", ...init });
      assert.equal(response.status, 413);
      const answer = (await response.json()) as { kind: string; response: { allowed: boolean } };
      assert.equal(answer.kind, "AdmissionReview");
      assert.equal(answer.response.allowed, false);
    }
  });

  it("takes a review of 6 MiB", async () => {
    const review = deleteReview(pod("p", { annotations: { big: "x".repeat(6 * 1024 * 1024) } }));
    assert.equal((await small().review(review)).allowed, true);
  });

  it("answers an internal error with HTTP 500 and a Status that the API server can quote", async () => {
    const answer = await small().review(deleteReview(null));
    assert.equal(answer.http, 500);
    assert.equal(answer.body["kind"], "Status");
    assert.equal(answer.message, "server internal error: oldObject is nil");
  });

  it("answers a mistake of the program with HTTP 500, logs it, and serves on", async () => {
    const { app } = appThatThrows();
    const response = await app.request("/c1", { method: "POST", body: JSON.stringify(deleteReview(pod("p"))) });
    assert.equal(response.status, 500);
    assert.equal(((await response.json()) as Json)["kind"], "Status");
  });
});

function appThatThrows() {
  const app = createWebhookApp({
    pathPrefix: "",
    handler: () => Promise.reject(new Error("a bug")),
    clock: createVirtualClock(),
    logger: silentLogger,
    metrics: createWebhookMetrics(silentMetrics),
  });
  return { app };
}
