import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError, type KubeError, type KubeClient } from "../../../../src/kube/kube-client.ts";
import { connect, sendJson, startLoopbackServer } from "./loopback-server.ts";

/** Lets the event loop turn until `condition` holds; the test's own time limit ends a wait in vain. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

async function failure(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => assert.fail("it did not fail"),
    (thrown: unknown) => thrown,
  );
  assert.ok(isKubeError(error), String(error));
  return error;
}

const get = (client: KubeClient, path = "/api/v1/pods"): Promise<unknown> => client.request({ method: "GET", path });

test("200 calls at once use at most 16 connections, and 200 calls in turn one or two", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { ok: true }));
  const { client } = await connect(t, server.port);
  await Promise.all(Array.from({ length: 200 }, () => get(client)));
  assert.ok(server.accepted > 1 && server.accepted <= 16, `${server.accepted} connections`);
  const second = await connect(t, server.port);
  const before = server.accepted;
  for (let call = 0; call < 200; call++) await get(second.client);
  // The next call may begin a moment before the connection of the last one counts as free.
  assert.ok(server.accepted - before <= 2, `${server.accepted - before} connections`);
  assert.equal(server.requests.length, 400);
});

test("a request that asks for a new connection shares none, neither before nor after", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { ok: true }));
  const { client } = await connect(t, server.port);
  await get(client);
  for (let call = 0; call < 3; call++) {
    const answer = await client.request({ method: "GET", path: "/api/v1/pods", newConnection: true });
    assert.deepEqual(answer, { ok: true });
  }
  assert.equal(server.accepted, 4);
});

test("the time of an answer is passed on, whatever its code, and none when the server tells none", async (t) => {
  const dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", undefined, "yesterday"];
  const server = await startLoopbackServer(t, (_request, response, index) => {
    response.sendDate = false;
    const date = dates[index];
    if (date !== undefined) response.setHeader("Date", date);
    sendJson(response, index === 1 ? 403 : 200, { kind: "Status" });
  });
  const { client } = await connect(t, server.port);
  const times: number[] = [];
  const ask = () => client.request({ method: "GET", path: "/version", onServerTime: (time) => times.push(time) });
  await ask();
  await failure(ask());
  await ask();
  await ask();
  assert.deepEqual(times, [784_111_777_000_000, 784_111_778_000_000]);
});

test("deletions with preconditions keep their connection", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { kind: "Status" }));
  const { client } = await connect(t, server.port);
  const body = { preconditions: { uid: "u" } };
  for (let call = 0; call < 10; call++) await client.request({ method: "DELETE", path: "/api/v1/pods/a", body });
  assert.ok(server.accepted <= 2, `${server.accepted} connections`);
});

test("a request carries path, query, body, content type and user agent", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { kind: "Pod" }));
  const { client, metrics, host } = await connect(t, server.port, { master: `127.0.0.1:${server.port}/prefix/` });
  const answer = await client.request({
    method: "PATCH",
    path: "/api/v1/namespaces/a/pods/b/status",
    query: { fieldManager: "x y", limit: 5, watch: false, left: undefined },
    body: { metadata: { name: "ü" } },
    contentType: "application/merge-patch+json",
  });
  assert.deepEqual(answer, { kind: "Pod" });
  const [request] = server.requests;
  assert.equal(request?.method, "PATCH");
  assert.equal(request?.url, "/prefix/api/v1/namespaces/a/pods/b/status?fieldManager=x+y&limit=5&watch=false");
  assert.equal(request?.headers["content-type"], "application/merge-patch+json");
  assert.equal(request?.headers["user-agent"], "podseidon-test");
  assert.equal(request?.headers["authorization"], undefined);
  assert.equal(request?.body, '{"metadata":{"name":"ü"}}');
  assert.equal(metrics.value("kube_client_requests_total", { code: "200", method: "PATCH", host }), 1);
  assert.equal(metrics.value("kube_client_request_duration_seconds", { verb: "PATCH", host }), 1);
  assert.equal(metrics.value("kube_client_request_size_bytes", { verb: "PATCH", host }), 1);
  assert.equal(metrics.value("kube_client_response_size_bytes", { verb: "PATCH", host }), 1);
});

const statuses: readonly [number, string, string][] = [
  [409, "Conflict", "conflict"],
  [409, "AlreadyExists", "alreadyExists"],
  [404, "NotFound", "notFound"],
  [410, "Expired", "gone"],
  [400, "BadRequest", "invalid"],
  [422, "Invalid", "invalid"],
  [401, "Unauthorized", "unauthorized"],
  [403, "Forbidden", "forbidden"],
  [429, "TooManyRequests", "tooManyRequests"],
  [500, "InternalError", "serverError"],
  [503, "ServiceUnavailable", "serverError"],
  [302, "", "malformed"],
];

test("answers are classified, with their Status", async (t) => {
  const server = await startLoopbackServer(t, (request, response) => {
    const [code, reason] = statuses[Number(request.url?.slice(1))]!;
    const details = { causes: [{ reason: "Because" }] };
    sendJson(response, code, { kind: "Status", code, reason, message: `it is ${reason}`, details });
  });
  const { client } = await connect(t, server.port);
  for (const [index, [code, reason, kind]] of statuses.entries()) {
    const error = await failure(client.request({ method: "POST", path: `/${index}`, body: {} }));
    assert.equal(error.kind, kind);
    assert.equal(error.code, code);
    assert.equal(error.status?.reason, reason);
    assert.equal(error.status?.details?.causes?.[0]?.reason, "Because");
    assert.ok(error.message.includes(`POST /${index}: ${code}`), error.message);
  }
});

test("an answer that is not JSON is malformed, and a proxy's page is cut short in the message", async (t) => {
  const server = await startLoopbackServer(t, (request, response) => {
    response.writeHead(request.url === "/ok" ? 200 : 502).end(`<html>\n${"x".repeat(100_000)}`);
  });
  const { client } = await connect(t, server.port);
  assert.equal((await failure(get(client, "/ok"))).kind, "malformed");
  const error = await failure(get(client, "/bad"));
  assert.ok(["serverError", "malformed"].includes(error.kind));
  assert.ok(error.message.length < 300);
});

test("a request without an answer ends at its deadline, 30 s by default, and frees its connection", async (t) => {
  const server = await startLoopbackServer(t, () => undefined);
  const { client, clock } = await connect(t, server.port);
  for (const timeoutMs of [undefined, 500]) {
    const seen = server.requests.length;
    const failing = failure(
      client.request({ method: "PUT", path: "/x", body: {}, ...(timeoutMs !== undefined && { timeoutMs }) }),
    );
    await until(() => server.requests.length > seen);
    await clock.advance((timeoutMs ?? 30_000) - 1);
    assert.equal(clock.pendingTimers, 1);
    await clock.advance(1);
    assert.equal((await failing).kind, "timeout");
  }
  assert.equal(clock.pendingTimers, 0);
  await until(() => server.open === 0);
});

test("an answer that stops in its middle ends at the deadline too", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write('{"half":');
  });
  const { client, clock, metrics, host } = await connect(t, server.port);
  const failing = failure(get(client));
  await until(() => metrics.value("kube_client_requests_total", { code: "200", method: "GET", host }) === 1);
  await clock.advance(30_000);
  assert.equal((await failing).kind, "timeout");
});

test("the caller's signal ends a request, also before it was sent", async (t) => {
  const server = await startLoopbackServer(t, () => undefined);
  const { client, clock } = await connect(t, server.port);
  const controller = new AbortController();
  const failing = failure(client.request({ method: "GET", path: "/x", signal: controller.signal }));
  await until(() => server.requests.length === 1);
  controller.abort();
  assert.equal((await failing).kind, "aborted");
  assert.equal(
    (await failure(client.request({ method: "GET", path: "/x", signal: controller.signal }))).kind,
    "aborted",
  );
  assert.equal(server.requests.length, 1);
  assert.equal(clock.pendingTimers, 0);
});

test("a read is sent once more when the connection breaks, a write never", async (t) => {
  const server = await startLoopbackServer(t, (request, response, index) => {
    if (index === 1) sendJson(response, 200, { second: true });
    else request.socket.destroy();
  });
  const { client, clock } = await connect(t, server.port);
  const reading = get(client);
  await until(() => clock.pendingTimers === 2);
  await clock.advance(250);
  assert.deepEqual(await reading, { second: true });
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
    const before = server.requests.length;
    assert.equal((await failure(client.request({ method, path: "/x", body: {} }))).kind, "network");
    assert.equal(server.requests.length, before + 1, method);
  }
  const failing = failure(get(client));
  const before = server.requests.length;
  await until(() => clock.pendingTimers === 2);
  await clock.advance(250);
  assert.equal((await failing).kind, "network");
  assert.equal(server.requests.length, before + 2);
});

test("a refused connection is a network error", async (t) => {
  const { client, clock } = await connect(t, 1);
  const failing = failure(get(client));
  await until(() => clock.pendingTimers === 2);
  await clock.advance(250);
  assert.equal((await failing).kind, "network");
});

test("429 with Retry-After is waited for twice, for any verb", async (t) => {
  const server = await startLoopbackServer(t, (_request, response, index) => {
    if (index === 2) sendJson(response, 201, { done: true });
    else sendJson(response, 429, { kind: "Status", code: 429, message: "busy" }, { "retry-after": "3" });
  });
  const { client, clock, metrics, host } = await connect(t, server.port);
  const posting = client.request({ method: "POST", path: "/x", body: {} });
  for (const sent of [1, 2]) {
    await until(() => clock.pendingTimers === 2);
    assert.equal(server.requests.length, sent);
    await clock.advance(2_999);
    assert.equal(server.requests.length, sent);
    await clock.advance(251);
  }
  assert.deepEqual(await posting, { done: true });
  assert.equal(metrics.value("kube_client_request_retries_total", { code: "429", verb: "POST", host }), 2);

  const failing = failure(client.request({ method: "POST", path: "/x", body: {} }));
  for (const sent of [4, 5]) {
    await until(() => clock.pendingTimers === 2 && server.requests.length === sent);
    await clock.advance(3_250);
  }
  const error = await failing;
  assert.equal(error.kind, "tooManyRequests");
  assert.equal(error.retryAfterMs, 3_000);
  assert.equal(server.requests.length, 6);
});

test("429 without Retry-After, or with one beyond the deadline, is the caller's to handle", async (t) => {
  const server = await startLoopbackServer(t, (request, response) => {
    sendJson(response, 429, {}, request.url === "/late" ? { "retry-after": "31" } : {});
  });
  const { client } = await connect(t, server.port);
  assert.equal((await failure(get(client))).retryAfterMs, undefined);
  assert.equal((await failure(get(client, "/late"))).retryAfterMs, 31_000);
  assert.equal(server.requests.length, 2);
});

test("requests beyond the burst wait for their turn, and fail at once when it would come too late", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, {}));
  const { client, clock } = await connect(t, server.port, { qps: 2, burst: 3 });
  const calls = Array.from({ length: 5 }, () => get(client));
  await until(() => server.requests.length === 3);
  const error = await failure(client.request({ method: "GET", path: "/x", timeoutMs: 1_000 }));
  assert.equal(error.kind, "timeout");
  assert.match(error.message, /limit of 2 requests/);
  await clock.advance(500);
  await until(() => server.requests.length === 4);
  await clock.advance(500);
  await Promise.all(calls);
  assert.equal(server.requests.length, 5);
});

test("a stream delivers chunks as they come on a connection of its own and ends with the server", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => {
    response.writeHead(200).write("one\n");
    setImmediate(() => response.end("two\n"));
  });
  const { client, clock } = await connect(t, server.port);
  let text = "";
  for await (const chunk of await client.stream({ method: "GET", path: "/w", query: { watch: true } }, 1_000)) {
    text += Buffer.from(chunk).toString();
  }
  assert.equal(text, "one\ntwo\n");
  assert.equal(server.requests[0]?.url, "/w?watch=true");
  assert.equal(clock.pendingTimers, 0);
});

test("a stream outlasts the request's deadline and ends after a time without data", async (t) => {
  let send: (text: string) => void = () => undefined;
  const server = await startLoopbackServer(t, (_request, response) => {
    send = (text) => void response.write(text);
    response.writeHead(200).write("first");
  });
  const { client, clock } = await connect(t, server.port);
  const stream = await client.stream({ method: "GET", path: "/w" }, 60_000);
  const chunks = stream[Symbol.asyncIterator]();
  assert.equal(Buffer.from((await chunks.next()).value as Uint8Array).toString(), "first");
  await clock.advance(50_000);
  send("second");
  assert.equal(Buffer.from((await chunks.next()).value as Uint8Array).toString(), "second");
  await clock.advance(59_000);
  const failing = failure(chunks.next());
  await clock.advance(1_000);
  assert.equal((await failing).kind, "timeout");
  await until(() => server.open === 0);
  assert.equal(clock.pendingTimers, 0);
});

test("a broken stream is a network error, an aborted one is aborted, one that is left is closed", async (t) => {
  const server = await startLoopbackServer(t, (request, response) => {
    response.writeHead(200).write("first");
    if (request.url === "/break") setImmediate(() => request.socket.destroy());
  });
  const { client, clock } = await connect(t, server.port);
  const read = async (path: string, onChunk: () => "stop" | "go", signal?: AbortSignal): Promise<void> => {
    const stream = await client.stream({ method: "GET", path, ...(signal !== undefined && { signal }) }, 60_000);
    for await (const _chunk of stream) if (onChunk() === "stop") return;
  };
  assert.equal((await failure(read("/break", () => "go"))).kind, "network");
  const controller = new AbortController();
  const aborting = read("/abort", () => (controller.abort(), "go"), controller.signal);
  assert.equal((await failure(aborting)).kind, "aborted");
  await read("/left", () => "stop");
  await until(() => server.open === 0);
  assert.equal(clock.pendingTimers, 0);
});

test("a stream that is refused throws before anything is read", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) =>
    sendJson(response, 410, { kind: "Status", code: 410 }),
  );
  const { client, clock } = await connect(t, server.port);
  assert.equal((await failure(client.stream({ method: "GET", path: "/w" }, 1_000))).kind, "gone");
  assert.equal(clock.pendingTimers, 0);
});
