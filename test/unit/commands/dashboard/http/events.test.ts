import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { beatMs, sendEvents } from "../../../../../src/commands/dashboard/http/events.ts";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import { createVirtualClock, drainMicrotasks } from "../../../../support/virtual-clock.ts";
import { decodeEvent } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { eventBody } from "../events.ts";
import { EventReader } from "./reader.ts";

function start() {
  const clock = createVirtualClock();
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  const stop = new AbortController();
  const ended = { count: 0 };
  const app = new Hono();
  app.get("/events", (context) =>
    sendEvents(context, { state, clock, run: "r1", signal: stop.signal }, () => ended.count++),
  );
  const open = async (query = "", headers: Record<string, string> = {}): Promise<EventReader> =>
    new EventReader(await app.request(`/events${query}`, { headers }));
  return { clock, state, stop, ended, app, open };
}

function happen(state: DashboardState, name: string) {
  const { metadata, ...others } = eventBody({ name }) as { metadata: object };
  state.timeline.set("core", decodeEvent({ ...others, metadata: { ...metadata, uid: name, resourceVersion: "1" } })!);
  state.changed();
}

test("the first event is whole and comes at once", async () => {
  const { app, open } = start();
  const answer = await app.request("/events");
  assert.match(answer.headers.get("Content-Type") ?? "", /^text\/event-stream/);
  await answer.body?.cancel();
  const first = await (await open()).next();
  assert.equal(first?.event, "update");
  assert.equal(first?.id, "r1.0");
  assert.equal(first?.update.isWhole, true);
});

test("what changes within a quarter of a second is one event", async () => {
  const { clock, state, open } = start();
  const reader = await open();
  await reader.next();
  for (let index = 0; index < 50; index++) happen(state, `e${index}`);
  const next = reader.next();
  let hasCome = false;
  void next.then(() => (hasCome = true));
  await clock.advance(249);
  assert.equal(hasCome, false);
  await clock.advance(1);
  assert.equal((await next)?.update.timeline?.entries.length, 50);
});

test("without a change something is said all the same, so that a lost connection is noticed", async () => {
  const { clock, open } = start();
  const reader = await open();
  await reader.next();
  await drainMicrotasks();
  const next = reader.next();
  await clock.advance(beatMs + 250);
  assert.deepEqual(Object.keys((await next)!.update), ["isWhole", "nowMs"]);
});

test("a browser that comes back gets only what is new of the timeline, unless the program is another", async () => {
  const { state, open } = start();
  happen(state, "a");
  const id = (await (await open()).next())!.id!;
  happen(state, "b");
  const namesOf = async (lastID: string): Promise<unknown> =>
    (await (await open("", { "Last-Event-ID": lastID })).next())?.update.timeline?.entries.map((entry) => entry.id);
  assert.deepEqual(await namesOf(id), ["core/b"]);
  assert.deepEqual(await namesOf("r0.1"), ["core/b", "core/a"]);
  assert.deepEqual(await namesOf("nonsense"), ["core/b", "core/a"]);
});

test("the stream ends with the program, and with the browser", async () => {
  const { clock, state, stop, ended, open } = start();
  const [first, second] = [await open(), await open()];
  await first.next();
  await second.next();
  await first.cancel();
  state.changed();
  await clock.advance(beatMs + 500);
  assert.equal(ended.count, 1);
  stop.abort();
  while ((await second.next()) !== undefined);
  assert.equal(ended.count, 2);
  assert.equal(clock.pendingTimers, 0);
});

test("values of the query that mean nothing are as if they were absent", async () => {
  const { open } = start();
  const { update } = (await (await open("?page=-1&entries=9999&state=nonsense")).next())!;
  assert.equal(update.list?.page, 1);
});
