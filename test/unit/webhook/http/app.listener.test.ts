/** Reviews as a listener hands them over: from its sockets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { test, type TestContext } from "node:test";
import { listen } from "../../../../src/server/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { appThatNotes, appThatThrows, bindingsOf } from "../support/noting-app.ts";
import { deleteReview, type Json, pod } from "../support/objects.ts";

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
