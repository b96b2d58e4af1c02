import assert from "node:assert/strict";
import { type ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { Agent, type Dispatcher } from "undici";
import { isKubeError, KubeError } from "../../../../src/kube/kube-client.ts";
import { type Answer } from "../../../../src/kube/transport/answer.ts";
import { createDeadline } from "../../../../src/kube/transport/deadline.ts";
import { exchange } from "../../../../src/kube/transport/exchange.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { startLoopbackServer } from "./loopback-server.ts";
import { readWarnings } from "../../../../src/kube/transport/sender.ts";
import { createTokenBucket } from "../../../../src/kube/token-bucket.ts";

const timeout = 20_000;

/** Sends GET / to a server that behaves as `answer` says, over at most one connection. */
async function setUp(t: TestContext, answer: (response: ServerResponse, index: number) => void) {
  const server = await startLoopbackServer(t, (_request, response, index) => answer(response, index));
  const dispatcher: Dispatcher = new Agent({ connections: 1 });
  t.after(() => dispatcher.destroy());
  const clock = createVirtualClock();
  const headers: number[] = [];
  const get = (timeoutMs = 1_000, bytesMax?: number): Promise<Answer> => {
    const deadline = createDeadline(clock, timeoutMs, "GET /", undefined);
    const options = { what: "GET /", deadline, onHeader: (code: number) => void headers.push(code), bytesMax };
    const request = { origin: `http://127.0.0.1:${server.port}`, path: "/", method: "GET" };
    return exchange(dispatcher, request, options).finally(() => deadline.clear());
  };
  return { server, clock, headers, get };
}

test("an answer is put together from its chunks", { timeout }, async (t) => {
  const text = "ü€𝄞".repeat(1_000);
  const { get, headers } = await setUp(t, (response) => {
    response.writeHead(201, { "x-kind": "test" });
    const bytes = Buffer.from(text);
    const next = (from: number): void => {
      if (from >= bytes.length) response.end();
      else response.write(bytes.subarray(from, from + 1_001), () => next(from + 1_001));
    };
    next(0);
  });
  const answer = await get();
  assert.deepEqual([answer.code, answer.headers["x-kind"]], [201, "test"]);
  assert.equal(answer.body.toString("utf8"), text);
  assert.deepEqual(headers, [201]);
});

test("an answer without a body is empty, and news before the answer is not the answer", { timeout }, async (t) => {
  const { get, headers } = await setUp(t, (response) => {
    response.writeProcessing();
    response.writeHead(204).end();
  });
  const answer = await get();
  assert.deepEqual([answer.code, answer.body.length, headers], [204, 0, [204]]);
});

for (const [code, bytesMax] of [
  [200, 128 * 1024 * 1024],
  [500, 64 * 1024],
] as const) {
  test(`an answer with ${code} is refused beyond ${bytesMax} bytes, and taken up to them`, { timeout }, async (t) => {
    const block = Buffer.alloc(64 * 1024, "x");
    const send = (response: ServerResponse, bytesLeft: number): void => {
      if (bytesLeft <= 0) response.end();
      else response.write(block.subarray(0, bytesLeft), () => send(response, bytesLeft - block.length));
    };
    const { get } = await setUp(t, (response, index) => {
      response.writeHead(code);
      send(response, bytesMax + index);
    });
    assert.equal((await get()).body.length, bytesMax);
    await assert.rejects(get(), (error) => isKubeError(error, "malformed") && error.message.includes(`${bytesMax}`));
  });
}

test("an answer is refused beyond the bytes that its request allows", { timeout }, async (t) => {
  const { get } = await setUp(t, (response, index) => void response.end("x".repeat(1_000 + index)));
  assert.equal((await get(1_000, 1_000)).body.length, 1_000);
  await assert.rejects(get(1_000, 1_000), (error) => isKubeError(error, "malformed") && error.message.includes("1000"));
});

test("a request that waits for a connection until its deadline is never sent", { timeout }, async (t) => {
  const held: ServerResponse[] = [];
  const { get, clock, server } = await setUp(t, (response) => void held.push(response));
  const first = get(10_000);
  const second = assert.rejects(get(1_000), (error) => error instanceof KubeError && error.kind === "timeout");
  while (held.length === 0) await clock.advance(0);
  await clock.advance(1_000);
  await second;
  held[0]?.end("late");
  assert.equal((await first).body.toString(), "late");
  const third = get();
  while (held.length === 1) await clock.advance(0);
  held[1]?.end("third");
  await third;
  assert.equal(server.requests.length, 2);
});

test("an answer that breaks off is an error, and so is a deadline in its middle", { timeout }, async (t) => {
  const begun: number[] = [];
  const { get, clock } = await setUp(t, (response, index) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("half", () => {
      begun.push(index);
      if (index === 0) response.destroy();
    });
  });
  await assert.rejects(get(), (error) => !isKubeError(error));
  const stalled = assert.rejects(get(1_000), (error) => isKubeError(error, "timeout"));
  while (begun.length < 2) await clock.advance(0);
  await clock.advance(1_000);
  await stalled;
  assert.equal(clock.pendingTimers, 0);
});

test("an answer without the header has no warnings", () => {
  assert.deepEqual(readWarnings(undefined), []);
});

test("the warnings of one header, of several, and of several in one are read", () => {
  assert.deepEqual(readWarnings('299 - "one"'), ["one"]);
  assert.deepEqual(readWarnings(['299 - "one"', '299 - "two, or three"']), ["one", "two, or three"]);
  assert.deepEqual(readWarnings('299 - "one, 299 - ", 299 agent/1.0 "two" "Sun, 22 Nov 2026 10:00:00 GMT"'), [
    "one, 299 - ",
    "two",
  ]);
});

test("what is escaped in a warning is read as it was meant", () => {
  assert.deepEqual(readWarnings(String.raw`299 - "a \"name\" and a \\"`), [String.raw`a "name" and a ` + "\\"]);
});

test("warnings of caches on the way, and what is no warning, are left out", () => {
  assert.deepEqual(readWarnings('110 proxy "Response is Stale", 299 - "ours"'), ["ours"]);
  assert.deepEqual(readWarnings("nonsense"), []);
  assert.deepEqual(readWarnings('299 - "unended'), []);
});

test("a burst goes at once, the rest in order at the rate, and a quiet time fills the bucket again", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 10, burst: 3 }, clock);
  const times: number[] = [];
  const take = (): void => void bucket.take(Number.POSITIVE_INFINITY).then(() => times.push(clock.monotonicMs()));
  for (let call = 0; call < 6; call++) take();
  await clock.advance(1_000);
  assert.deepEqual(times, [0, 0, 0, 100, 200, 300]);
  times.length = 0;
  for (let call = 0; call < 4; call++) take();
  await clock.advance(1_000);
  assert.deepEqual(times, [1_000, 1_000, 1_000, 1_100]);
});

test("a caller that cannot wait takes nothing, and an aborted one gives the token back", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 1, burst: 1 }, clock);
  assert.equal(await bucket.take(0), true);
  assert.equal(await bucket.take(999), false);
  const controller = new AbortController();
  const aborted = bucket.take(5_000, controller.signal);
  controller.abort();
  assert.equal(await aborted, false);
  assert.equal(await bucket.take(5_000, controller.signal), false);
  const taken = bucket.take(1_000);
  await clock.advance(1_000);
  assert.equal(await taken, true);
  assert.equal(clock.pendingTimers, 0);
});

test("an available token is taken at once, and never before callers that wait", async () => {
  const clock = createVirtualClock();
  const bucket = createTokenBucket({ qps: 10, burst: 2 }, clock);
  assert.deepEqual([bucket.takeNow(), bucket.takeNow(), bucket.takeNow()], [true, true, false]);
  const waiting = bucket.take(1_000);
  assert.equal(bucket.takeNow(), false);
  await clock.advance(100);
  assert.equal(await waiting, true);
  assert.equal(bucket.takeNow(), false, "the token of that moment is taken");
  await clock.advance(100);
  assert.equal(bucket.takeNow(), true);
});

test("a rate of 0 or less does not limit", async () => {
  const bucket = createTokenBucket({ qps: 0, burst: 0 }, createVirtualClock());
  for (let call = 0; call < 1_000; call++) assert.equal(await bucket.take(0), true);
  assert.equal(bucket.takeNow(), true);
});
