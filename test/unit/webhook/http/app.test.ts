import assert from "node:assert/strict";
import { type HttpBindings } from "@hono/node-server";
import { once } from "node:events";
import net from "node:net";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { listen } from "../../../../src/server/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { silentMetrics } from "../../../../src/util/metrics.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createWebhookApp } from "../../../../src/webhook/http/app.ts";
import { allowed } from "../../../../src/webhook/decide/decision.ts";
import { type ReviewContext } from "../../../../src/webhook/decide/case.ts";
import { PodCells } from "../../../../src/webhook/decide/subject/pod-cell.ts";
import { type Review } from "../../../../src/webhook/decide/subject/subject.ts";
import { reviewsInFlightMax } from "../../../../src/webhook/http/in-flight-limit.ts";
import { KnownCells } from "../../../../src/webhook/known-cells.ts";
import { createWebhookMetrics } from "../../../../src/webhook/metrics.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { RecordedMetrics, world } from "../support/replica.ts";

const small = () => world([protector({ cells: [cell("c1", 100)] })]).replica;

/** Of no interest to the app, but for `isForced`. */
const review: Review = { cause: "DeletePod", user: "", isForced: false, read: () => assert.fail("read") };

/** An app whose handler notes the context of the review. */
function appThatNotes(pathPrefix = "", allowedCells: readonly string[] = []) {
  const contexts: ReviewContext[] = [];
  let gate: Promise<void> | undefined;
  /** Decisions wait until the result is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  const recorded = new RecordedMetrics();
  const clock = createVirtualClock();
  const { fetch, overloadReason } = createWebhookApp({
    pathPrefix,
    allowedCells: new Set(allowedCells),
    clientCells: new Map(),
    cells: new PodCells(undefined, new Set()),
    productVersion: "1.0.0",
    dryRun: false,
    handler: {
      read: () => review,
      async decide(_review, context) {
        contexts.push(context);
        if (context.overload !== undefined) return context.overload;
        await gate;
        return allowed("Unmatched");
      },
    },
    clock,
    logger: silentLogger,
    metrics: createWebhookMetrics(recorded, new KnownCells(["c1"])),
  });
  const ask = async (path: string, init: RequestInit) => fetch(new Request(`http://webhook${path}`, init));
  const post = (path: string) => ask(path, { method: "POST", body: JSON.stringify(deleteReview(pod("p"))) });
  return { ask, fetch, contexts, recorded, post, hold, clock, overloadReason };
}

test("routes take the cell from one percent-decoded path segment after the prefix", async () => {
  const { contexts, post } = appThatNotes("/hook");
  for (const [path, cellID] of [
    ["/hook/c1", "c1"],
    ["/hook/Eu%2Dwest%2E1", "Eu-west.1"],
  ] as const) {
    assert.equal((await post(path)).status, 200, path);
    assert.equal(contexts.at(-1)?.cellID, cellID);
  }
});

test("routes answer 404 to every other path", async () => {
  const { post } = appThatNotes("/hook");
  for (const path of ["/", "/c1", "/hook", "/hook/", "/hook/a/b", "/hook/c1/"]) {
    const response = await post(path);
    assert.equal(response.status, 404, path);
    assert.equal(await response.text(), "404 page not found\n");
  }
});

test("routes answer 405 with Allow to every other method", async () => {
  const { ask } = appThatNotes();
  for (const method of ["GET", "PUT", "DELETE"]) {
    const response = await ask("/c1", { method });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
  }
});

test("cells that are not among the allowed ones get a 404 that the API server can quote, under one label", async () => {
  const { contexts, recorded, post } = appThatNotes("", ["c1", "c2"]);
  for (const cellID of ["c1", "c2"]) assert.equal((await post(`/${cellID}`)).status, 200);
  for (let index = 3; index < 1_500; index += 1) assert.equal((await post(`/c${index}`)).status, 404);
  const response = await post("/other-cell");
  const { kind, code, reason, message } = (await response.json()) as Json;
  assert.deepEqual({ kind, code, reason }, { kind: "Status", code: 404, reason: "NotFound" });
  assert.equal(
    message,
    'the cell "other-cell" is not served by this webhook (--webhook-allowed-cells, --webhook-client-cells)',
  );
  assert.equal(contexts.length, 2);
  assert.deepEqual([...recorded.values.keys()], ['webhook_http_error{cell="other",error="CellNotAllowed"}']);
});

test("what cannot be a cell gets a 404 that the API server can quote, and no label of its own", async () => {
  const { contexts, recorded, post } = appThatNotes();
  const segments = ["evil%0Acell", "%00", "%1b[31m", "a%2Fb", "zelle-%C3%A4", "%ff", "-a", "c".repeat(64)];
  for (const segment of segments) {
    const response = await post(`/${segment}?timeout=1s`);
    assert.equal(response.status, 404, segment);
    const { kind, code, reason, message } = (await response.json()) as Json;
    assert.deepEqual({ kind, code, reason }, { kind: "Status", code: 404, reason: "NotFound" });
    assert.match(String(message), /^the last part of the URL is not a cell: 1 to 63 letters, digits and /);
  }
  assert.equal(contexts.length, 0);
  assert.deepEqual([...recorded.values.keys()], ['webhook_http_error{cell="other",error="InvalidCell"}']);
});

test("an overload is answered at once by refusing the review, and is over when reviews have ended", async () => {
  const { ask, hold, overloadReason } = appThatNotes();
  assert.equal(overloadReason(), undefined);
  const release = hold();
  const body = JSON.stringify(deleteReview(pod("p"), { uid: "the-uid" }));
  const post = async () => ask("/c1", { method: "POST", body });
  const held = Array.from({ length: reviewsInFlightMax }, post);
  while (overloadReason() === undefined) await new Promise((resolve) => setImmediate(resolve));
  const response = await post();
  assert.equal(response.status, 200, "an answer, which no failurePolicy overrules");
  const { response: answer } = (await response.json()) as { response: Json };
  assert.equal(answer["uid"], "the-uid");
  assert.equal(answer["allowed"], false);
  assert.equal((answer["status"] as Json)["code"], 429);
  release();
  for (const one of await Promise.all(held)) assert.equal(one.status, 200);
  assert.equal(overloadReason(), undefined);
  const again = (await (await post()).json()) as { response: Json };
  assert.equal(again.response["allowed"], true);
});

/** What a listener hands over. */
const bindingsOf = (method: string, url: string): HttpBindings => {
  const incoming = Readable.from([Buffer.from(JSON.stringify(deleteReview(pod("p"))))]);
  return { incoming: Object.assign(incoming, { method, url, headers: {} }) } as unknown as HttpBindings;
};

test("a review from a listener is decided by its path and query, and other requests get 404 or 405", async () => {
  const { fetch, contexts } = appThatNotes("/v1.0");
  const send = async (method: string, url: string): Promise<number> =>
    (await fetch(new Request(`http://x${url}`, { method }), bindingsOf(method, url))).status;
  for (const [url, cellID, deadlineMonotonicMs] of [
    ["/v1.0/c1?timeout=5s", "c1", 4_000],
    ["/v1.0/c-1.x?timeout=30s", "c-1.x", 29_000],
    ["/v1.0/c1?timeout=1m30s", "c1", 29_000],
    ["/v1.0/c1?timeout=2s&x=y", "c1", 1_000],
    ["/v1.0/a%2Eb?timeout=5s", "a.b", 4_000],
    ["/v1.0/c1", "c1", 9_000],
  ] as const) {
    assert.equal(await send("POST", url), 200, url);
    const context = contexts.at(-1);
    assert.deepEqual([context?.cellID, context?.deadlineMonotonicMs], [cellID, deadlineMonotonicMs], url);
  }
  for (const url of ["/v1x0/c1?timeout=5s", "/c1?timeout=5s", "/v1.0/c1/?timeout=5s", "/v1.0/..?timeout=5s"]) {
    assert.equal(await send("POST", url), 404, url);
  }
  assert.equal(await send("PUT", "/v1.0/c1?timeout=5s"), 405);
});

test("a mistake of the program is answered with HTTP 500 over a listener as well", async () => {
  const { fetch } = appThatThrows();
  const url = "/c1?timeout=5s";
  const response = await fetch(new Request(`http://x${url}`, { method: "POST" }), bindingsOf("POST", url));
  assert.equal(response.status, 500);
  assert.equal(((await response.json()) as Json)["kind"], "Status");
});

/**
 * The app behind a listener; `post` writes the head of a request with this body length and then what there is of the
 * body.
 */
async function serve(t: TestContext) {
  const { fetch, contexts, hold, clock } = appThatNotes();
  const listener = await listen({
    name: "webhook",
    fetch,
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "webhook-port",
    readHeaderTimeoutMs: 10_000,
    connectionsMax: 10,
    clock,
    logger: silentLogger,
  });
  t.after(() => listener.close(0));
  const post = (length: number, body: string, path = "/c1?timeout=5s"): net.Socket => {
    const socket = net.connect({ host: "127.0.0.1", port: listener.port });
    t.after(() => socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`);
    return socket.setEncoding("utf8");
  };
  return { clock, contexts, post, hold };
}
const text = JSON.stringify(deleteReview(pod("p")));

test("a review is answered with its length and type", async (t) => {
  const { post } = await serve(t);
  const [answer] = (await once(post(text.length, text), "data")) as [string];
  assert.match(answer, /^HTTP\/1.1 200 OK\r\n/);
  assert.match(answer, /\r\nContent-Type: application\/json\r\n/);
  assert.match(answer, /\r\nContent-Length: \d+\r\n/);
  assert.match(answer, /"allowed":true/);
});

test("the decision is told when its caller goes, and not when it was answered", async (t) => {
  const { contexts, post, hold } = await serve(t);
  const answered = post(text.length, text);
  await once(answered, "data");
  answered.destroy();
  await once(answered, "close");
  const release = hold();
  const waiting = post(text.length, text);
  while (contexts.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const gone = once(contexts[1]?.signal ?? assert.fail(), "abort");
  waiting.destroy();
  await gone;
  release();
  assert.equal(contexts[0]?.signal?.aborted, false);
});

test("a body that says it is too large is refused before it has come", async (t) => {
  const { contexts, post } = await serve(t);
  const [answer] = (await once(post(8 * 1024 * 1024, "{"), "data")) as [string];
  assert.match(answer, /^HTTP\/1.1 413 /);
  assert.match(answer, /the body is larger than 7340032 bytes/);
  assert.equal(contexts.length, 0);
});

test("a body that does not come is answered with HTTP 408, and its connection ends", async (t) => {
  const { clock, post } = await serve(t);
  const socket = post(text.length, "{");
  let answer = "";
  socket.on("data", (chunk: string) => (answer += chunk));
  const closed = once(socket, "close");
  while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(4_000);
  await closed;
  assert.match(answer, /^HTTP\/1.1 408 /);
  assert.match(answer, /the body came too slowly/);
});

test("deadlines are kept to the millisecond when the core does not answer", async () => {
  const { clock, core, replica } = world([protector({ minAvailable: 1, cells: [cell("c1", 100)] })]);
  core.latencyMs = 60_000;
  let answeredMs: number | undefined;
  const answer = replica.send(deleteReview(pod("p")), { query: "?timeout=5s" });
  void answer.then(() => (answeredMs = clock.monotonicMs()));
  await clock.advance(3_999);
  assert.equal(answeredMs, undefined);
  await clock.advance(1);
  assert.equal((await answer).code, 429);
  assert.equal(answeredMs, 4_000);
});

test("deadlines are the API server's timeout less 1 s, at least half of it, within Kubernetes' limit", async () => {
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

test("the webhook copies the uid and answers as JSON", async () => {
  const answer = await small().review(deleteReview(pod("p"), { uid: "the-uid" }));
  assert.equal(answer.http, 200);
  assert.equal(answer.contentType, "application/json");
  assert.equal(answer.body["kind"], "AdmissionReview");
  assert.equal(answer.body["apiVersion"], "admission.k8s.io/v1");
  assert.equal((answer.body["response"] as Json)["uid"], "the-uid");
});

test("the webhook answers what is no JSON with 400 and a well-formed refusal", async () => {
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

test("the webhook answers JSON that is no review with 400, and copies the uid where there is one", async () => {
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

test("the webhook takes a review without kind and apiVersion, as upstream does", async () => {
  const { request } = deleteReview(pod("p"));
  assert.equal((await small().review({ request })).allowed, true);
});

test("the webhook answers a body above 7 MiB with 413 and a well-formed refusal, with or without length", async () => {
  const { fetch } = small().webhook;
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
    const response = await fetch(new Request("http://webhook/c1", { method: "POST", ...init }));
    assert.equal(response.status, 413);
    const answer = (await response.json()) as { kind: string; response: { allowed: boolean } };
    assert.equal(answer.kind, "AdmissionReview");
    assert.equal(answer.response.allowed, false);
  }
});

test("the webhook takes a review of 6 MiB", async () => {
  const review = deleteReview(pod("p", { annotations: { big: "x".repeat(6 * 1024 * 1024) } }));
  assert.equal((await small().review(review)).allowed, true);
});

test("the webhook answers an internal error with HTTP 500 and a Status that the API server can quote", async () => {
  const answer = await small().review(deleteReview(null));
  assert.equal(answer.http, 500);
  assert.equal(answer.body["kind"], "Status");
  assert.equal(answer.message, "server internal error: oldObject is nil");
});

test("the webhook answers a mistake of the program with HTTP 500, logs it, and serves on", async () => {
  const { fetch } = appThatThrows();
  const body = JSON.stringify(deleteReview(pod("p")));
  const response = await fetch(new Request("http://webhook/c1", { method: "POST", body }));
  assert.equal(response.status, 500);
  assert.equal(((await response.json()) as Json)["kind"], "Status");
});

function appThatThrows() {
  const { fetch } = createWebhookApp({
    pathPrefix: "",
    allowedCells: new Set(),
    clientCells: new Map(),
    cells: new PodCells(undefined, new Set()),
    productVersion: "1.0.0",
    dryRun: false,
    handler: { read: () => review, decide: () => Promise.reject(new Error("a bug")) },
    clock: createVirtualClock(),
    logger: silentLogger,
    metrics: createWebhookMetrics(silentMetrics, new KnownCells(["c1"])),
  });
  return { fetch };
}

test("the root says where reviews go, and as a 404, so that asking for it earns a connection no place", async () => {
  for (const prefix of ["", "/podseidon"]) {
    const { fetch } = appThatNotes(prefix);
    const response = await fetch(new Request("http://webhook/"));
    assert.equal(response.status, 404);
    assert.ok((await response.text()).includes(`POST ${prefix}/CELL `));
  }
});
