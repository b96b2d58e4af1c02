import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLogger } from "../../../../src/util/logger.ts";
import { allowed, type Decision, refusedForNow } from "../../../../src/webhook/decide/decision.ts";
import { reviewsInFlightMax } from "../../../../src/webhook/http/in-flight-limit.ts";
import { appThatNotes, appThatThrows, review } from "../support/noting-app.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

const small = () => world([protector({ cells: [cell("c1", 100)] })]).replica;

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

test("a client that may not speak for the cell gets a 403 that the API server can quote", async () => {
  const { contexts, recorded, post } = appThatNotes("", [], { clientCells: new Map([["one", new Set(["c1"])]]) });
  const response = await post("/c1");
  const { kind, code, message } = (await response.json()) as Json;
  assert.deepEqual([response.status, kind, code], [403, "Status", 403]);
  assert.match(String(message), /a client without a certificate may not speak for the cell "c1"/);
  assert.equal(recorded.count('webhook_http_error{cell="c1",error="CellNotOfClient"}'), 1);
  assert.equal(contexts.length, 0);
});

test("the log tells each decision, and of which review it is, when it is asked for that much", async () => {
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const logger = {
    ...silentLogger,
    isVerbose: () => true,
    verbose: (_level: number, message: string, fields?: LogFields) => void lines.push([message, fields]),
  };
  const decisions: Decision[] = [
    allowed("Unmatched"),
    { ...allowed("Forced"), warnings: ["one", "two"] },
    refusedForNow("Overloaded", "too many", []),
    { kind: "error", tag: "Odd", message: "broken" },
  ];
  const handler = { read: () => review, decide: () => Promise.resolve(decisions.shift() ?? assert.fail("no more")) };
  const { post } = appThatNotes("", [], { logger, handler });
  for (const status of [200, 200, 200, 500]) assert.equal((await post("/c1")).status, status);
  const asked = { cell: "c1", pod: "ns/", requestUid: "review-1", operation: "DELETE" };
  assert.deepEqual(lines, [
    ["Review decided", { ...asked, decision: "allowed", status: "Unmatched" }],
    ["Review decided", { ...asked, decision: "allowed", status: "Forced", message: "one; two" }],
    ["Review decided", { ...asked, decision: "refused", status: "Overloaded", message: "too many" }],
    ["Review decided", { ...asked, decision: "error", tag: "Odd", message: "broken" }],
  ]);
});

test("a body that breaks off is answered with 400 and a well-formed refusal", async () => {
  const { ask, contexts } = appThatNotes();
  const body = new ReadableStream({ start: (controller) => controller.error(new Error("gone")) });
  const response = await ask("/c1", { method: "POST", body, duplex: "half" });
  assert.equal(response.status, 400);
  assert.equal(((await response.json()) as { response: Json }).response["allowed"], false);
  assert.equal(contexts.length, 0);
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

test("the root says where reviews go, and as a 404, so that asking for it earns a connection no place", async () => {
  for (const prefix of ["", "/podseidon"]) {
    const { fetch } = appThatNotes(prefix);
    const response = await fetch(new Request("http://webhook/"));
    assert.equal(response.status, 404);
    assert.ok((await response.text()).includes(`POST ${prefix}/CELL `));
  }
});
