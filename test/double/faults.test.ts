import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import { type TestContext, test } from "node:test";
import { createSeededRng } from "../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";
import { configMap, mergePatch } from "./cluster.ts";
import { builtInResources as types } from "./engine/resources.ts";
import { type Fault } from "./http/faults.ts";
import { type ApiServer, startApiServer } from "./server.ts";

const timeout = 120_000;
const path = "/api/v1/namespaces/default/configmaps";
const initialEvents = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
const watchList = `${path}?watch=true&${initialEvents}&allowWatchBookmarks=true`;

interface Exchange {
  code: number | undefined;
  retryAfter: string | undefined;
  text: string;
  /** The answer is complete. */
  ended: boolean;
  failed: boolean;
}

interface Setup {
  readonly server: ApiServer;
  readonly clock: VirtualClock;
  readonly send: (target: string, method?: string, body?: unknown) => Exchange;
  /** Lets the event loop turn until `condition` holds. */
  readonly until: (condition: () => boolean) => Promise<void>;
}

/** A server with config maps a, b and c of the versions `first`, `first + 1` and `first + 2`. */
async function setUp(t: TestContext): Promise<Setup & { first: number }> {
  const clock = createVirtualClock();
  const server = await startApiServer({ clock, rng: createSeededRng(1), crds: [] });
  const agent = new Agent({ keepAlive: true });
  t.after(async () => {
    agent.destroy();
    await server.close();
  });
  for (const name of ["a", "b", "c"]) await server.engine.create(types.configMaps, "default", configMap(name));
  return {
    server,
    clock,
    first: server.engine.revision - 2,
    send(target, method = "GET", body) {
      const exchange: Exchange = { code: undefined, retryAfter: undefined, text: "", ended: false, failed: false };
      const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
      const sent = httpRequest(server.url + target, { method, agent, headers }, (response) => {
        exchange.code = response.statusCode;
        exchange.retryAfter = response.headers["retry-after"];
        response.on("data", (chunk: Buffer) => (exchange.text += chunk.toString()));
        response.on("end", () => (exchange.ended = true));
        response.on("error", () => (exchange.failed = true));
      });
      sent.on("error", () => (exchange.failed = true));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
      return exchange;
    },
    async until(condition) {
      while (!condition()) await clock.advance(0);
    },
  };
}

const value = (server: ApiServer): unknown => server.engine.get(types.configMaps, "default", "a")["data"];

test(
  "a script is told the number of request and connection, the method, path, query and whether it is a watch",
  { timeout },
  async (t) => {
    const { server, send, until } = await setUp(t);
    const seen: unknown[] = [];
    server.setFaults(({ query, ...request }) => {
      seen.push({ ...request, limit: query.get("limit") });
      return undefined;
    });
    const one = send(`${path}?limit=7`);
    await until(() => one.ended);
    const two = send(`${path}/a`, "PATCH", { data: { x: "1" } });
    await until(() => two.ended);
    const three = send(`${path}?watch=1`);
    await until(() => three.code !== undefined);
    const fourth = send(`${path}/a`);
    await until(() => fourth.ended);
    const common = { connection: 1, path, method: "GET", isWatch: false, limit: null };
    assert.deepEqual(seen, [
      { ...common, number: 1, numberOnConnection: 1, limit: "7" },
      { ...common, number: 2, numberOnConnection: 2, method: "PATCH", path: `${path}/a` },
      { ...common, number: 3, numberOnConnection: 3, isWatch: true },
      { ...common, number: 4, connection: 2, numberOnConnection: 1, path: `${path}/a` },
    ]);
    server.setFaults(undefined);
    const fifth = send(`${path}/a`);
    await until(() => fifth.ended);
    assert.equal(seen.length, 4);
  },
);

const refusals: readonly [Fault, number, string | undefined][] = [
  [{ type: "tooManyRequests", retryAfterSeconds: 3 }, 429, "3"],
  [{ type: "tooManyRequests" }, 429, undefined],
  [{ type: "serverError" }, 500, undefined],
  [{ type: "conflict" }, 409, undefined],
];
for (const [fault, code, retryAfter] of refusals) {
  test(`${fault.type} ${retryAfter ?? "alone"} is answered with a Status and not executed`, { timeout }, async (t) => {
    const { server, send, until } = await setUp(t);
    server.setFaults(({ number }) => (number === 1 ? fault : undefined));
    const refused = send(`${path}/a`, "PATCH", { data: { x: "1" } });
    await until(() => refused.ended);
    assert.deepEqual([refused.code, refused.retryAfter], [code, retryAfter]);
    assert.equal((JSON.parse(refused.text) as { kind: string }).kind, "Status");
    assert.equal(value(server), undefined);
    const next = send(`${path}/a`, "PATCH", { data: { x: "1" } });
    await until(() => next.ended);
    assert.equal(next.code, 200);
  });
}

test("a conflict concerns writes only", { timeout }, async (t) => {
  const { server, send, until } = await setUp(t);
  server.setFaults(() => ({ type: "conflict" }));
  const read = send(`${path}/a`);
  await until(() => read.ended);
  assert.equal(read.code, 200);
});

test("a lost response is one of a request that was executed, a reset one was not", { timeout }, async (t) => {
  const { server, send, until } = await setUp(t);
  server.setFaults(({ number }) => ({ type: number === 1 ? "reset" : "loseResponse" }));
  const reset = send(`${path}/a`, "PATCH", { data: { x: "1" } });
  await until(() => reset.failed);
  assert.equal(value(server), undefined);
  const lost = send(`${path}/a`, "PATCH", { data: { x: "1" } });
  await until(() => lost.failed);
  assert.deepEqual(value(server), { x: "1" });
});

test("a delayed request is handled when the time has passed, a stalled one never", { timeout }, async (t) => {
  const { server, clock, send, until } = await setUp(t);
  server.setFaults(({ number }) => (number === 1 ? { type: "delay", delayMs: 5_000 } : { type: "stall" }));
  const delayed = send(`${path}/a`, "PATCH", { data: { x: "1" } });
  await until(() => clock.pendingTimers === 1);
  await clock.advance(4_999);
  assert.equal(value(server), undefined);
  await clock.advance(1);
  await until(() => delayed.ended);
  const before = server.openConnections;
  const stalled = send(`${path}/b`, "DELETE");
  await clock.advance(3_600_000);
  assert.deepEqual([stalled.code, stalled.failed, server.openConnections], [undefined, false, before]);
  assert.equal(server.engine.list(types.configMaps, "default").items.length, 3);
});

test("an answer that is cut short or garbled ends in good order and is not JSON", { timeout }, async (t) => {
  const { server, send, until } = await setUp(t);
  server.setFaults(({ number }) => ({ type: number === 1 ? "truncate" : "corrupt" }));
  for (const exchange of [send(`${path}/a`), send(`${path}/a`)]) {
    await until(() => exchange.ended);
    assert.equal(exchange.code, 200);
    assert.throws(() => JSON.parse(exchange.text), SyntaxError);
  }
});

/** The lines that are JSON, as `TYPE name@version`. */
function lines({ text }: Exchange): string[] {
  return text.split("\n").map((line) => {
    try {
      const { type, object } = JSON.parse(line) as {
        type: string;
        object: { metadata: { name?: string; resourceVersion: string }; reason?: string };
      };
      return `${type} ${object.metadata.name ?? object.reason ?? "-"}@${object.metadata.resourceVersion}`;
    } catch {
      return line === "" ? "" : "garbage";
    }
  });
}

test(
  "a stream is broken at the line that is said: by a reset, silence, half a line or garbage",
  { timeout },
  async (t) => {
    const { server, clock, send, until, first } = await setUp(t);
    const good = [`ADDED a@${first}`, `ADDED b@${first + 1}`];
    const watch = async (fault: Fault, isOver: (watch: Exchange) => boolean): Promise<Exchange> => {
      server.setFaults(() => fault);
      const exchange = send(watchList);
      await until(() => isOver(exchange));
      await clock.advance(120_000);
      return exchange;
    };
    const isSilent = (exchange: Exchange): boolean => lines(exchange).length === 3;
    const stalled = await watch({ type: "stall", afterEvents: 2 }, isSilent);
    assert.deepEqual([lines(stalled), stalled.ended, stalled.failed], [[...good, ""], false, false]);
    const truncated = await watch({ type: "truncate", afterEvents: 2 }, ({ ended }) => ended);
    assert.deepEqual(lines(truncated), [...good, "garbage"]);
    const corrupt = await watch({ type: "corrupt", afterEvents: 2 }, (exchange) => lines(exchange).length === 5);
    assert.deepEqual(lines(corrupt).slice(0, 4), [...good, "garbage", `BOOKMARK -@${first + 2}`]);
    const reset = await watch({ type: "reset", afterEvents: 2 }, ({ failed }) => failed);
    assert.ok(
      good.join("\n").startsWith(lines(reset).join("\n").trim()),
      "a reset may swallow what was sent before it",
    );
  },
);

test("a proxy that drops bookmarks drops the end mark, too, and nothing else", { timeout }, async (t) => {
  const { server, clock, send, until, first } = await setUp(t);
  server.setFaults(() => ({ type: "noBookmarks" }));
  const watch = send(watchList);
  await until(() => lines(watch).length === 4);
  await clock.advance(120_000);
  await server.engine.patch(types.configMaps, "default", "a", mergePatch({ data: { x: "1" } }));
  await until(() => lines(watch).length === 5);
  const good = ["a", "b", "c"].map((name, index) => `ADDED ${name}@${first + index}`);
  assert.deepEqual(lines(watch), [...good, `MODIFIED a@${first + 3}`, ""]);
});

test("a lagging watch is late with each event", { timeout }, async (t) => {
  const { server, clock, send, until, first } = await setUp(t);
  server.setFaults(() => ({ type: "watchLag", lagMs: 7_000 }));
  const watch = send(`${path}?watch=true&resourceVersion=${first + 2}`);
  await until(() => server.openWatches === 1);
  await server.engine.patch(types.configMaps, "default", "a", mergePatch({ data: { x: "1" } }));
  await clock.advance(6_999);
  assert.equal(watch.text, "");
  await clock.advance(1);
  await until(() => lines(watch).length === 2);
});

test("a stale replica lists an earlier state, and its watch catches up from there", { timeout }, async (t) => {
  const { server, send, until, first } = await setUp(t);
  server.setFaults(() => ({ type: "staleReplica", revisions: 1 }));
  const list = send(path);
  await until(() => list.ended);
  const { metadata, items } = JSON.parse(list.text) as { metadata: { resourceVersion: string }; items: unknown[] };
  assert.deepEqual([metadata.resourceVersion, items.length], [String(first + 1), 2]);
  const watch = send(watchList);
  await until(() => lines(watch).length === 5);
  assert.deepEqual(lines(watch).slice(0, 4), [
    `ADDED a@${first}`,
    `ADDED b@${first + 1}`,
    `BOOKMARK -@${first + 1}`,
    `ADDED c@${first + 2}`,
  ]);
});

test(
  "duplicates come before what is new, and lost history is a 410 for watches and further pages",
  { timeout },
  async (t) => {
    const { server, send, until, first } = await setUp(t);
    server.setFaults(({ number }) => (number === 1 ? { type: "duplicate", revisions: 1 } : { type: "historyLoss" }));
    const repeated = send(`${path}?watch=true&resourceVersion=${first + 1}`);
    await until(() => lines(repeated).length === 3);
    assert.deepEqual(lines(repeated).slice(0, 2), [`ADDED b@${first + 1}`, `ADDED c@${first + 2}`]);
    const expired = send(`${path}?watch=true&resourceVersion=${first + 1}`);
    await until(() => expired.ended);
    assert.deepEqual(lines(expired)[0], "ERROR Expired@undefined");
    const page = send(`${path}?limit=1`);
    await until(() => page.ended);
    const { metadata } = JSON.parse(page.text) as { metadata: { continue: string } };
    const next = send(`${path}?limit=1&continue=${metadata.continue}`);
    await until(() => next.ended);
    assert.equal(next.code, 410);
  },
);
