import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodQuestion } from "../../../../../src/commands/dashboard/explain-pod.ts";
import { createApp } from "../../../../../src/commands/dashboard/http/app.ts";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";

function start() {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const asked: PodQuestion[] = [];
  const app = createApp({
    state: new DashboardState(clock, { cores: ["core"], namespace: undefined }),
    clock,
    run: "r1",
    signal: stop.signal,
    access: { token: "secret", code: undefined, port: () => 4711 },
    page: { html: "<p>page</p>", styleHash: "'sha256-a'", scriptHash: "'sha256-b'" },
    explain: async (question) => {
      asked.push(question);
      return { text: "it may go" };
    },
  });
  const get = async (path: string, method = "GET"): Promise<Response> =>
    app.request(`${path}${path.includes("?") ? "&" : "?"}token=secret`, {
      method,
      headers: { Host: "127.0.0.1:4711" },
    });
  return { app, get, asked, stop };
}

test("the page is served, and nothing without the secret", async () => {
  const { app, get } = start();
  assert.equal(await (await get("/")).text(), "<p>page</p>");
  for (const path of ["/", "/events", "/explain", "/nothing"]) {
    assert.equal((await app.request(path, { headers: { Host: "127.0.0.1:4711" } })).status, 403, path);
  }
});

test("nothing can be written", async () => {
  const { get } = start();
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) assert.equal((await get("/explain", method)).status, 404);
});

test("a pod is explained by its cell, namespace and name", async () => {
  const { get, asked } = start();
  const answer = await get("/explain?cell=w1&namespace=shop&pod=%20web-1%20");
  assert.deepEqual(await answer.json(), { text: "it may go" });
  assert.deepEqual(asked, [{ cell: "w1", namespace: "shop", pod: "web-1", columns: 36 }]);
});

test("the lines of an explanation are as long as the page can show", async () => {
  const { get, asked } = start();
  for (const columns of ["52.7", "5", "9999", "-1", "many"]) {
    await get(`/explain?namespace=shop&pod=web-1&columns=${columns}`);
  }
  assert.deepEqual(
    asked.map(({ columns }) => columns),
    [52, 36, 100, 36, 36],
  );
});

test("a question without a namespace or a pod is answered with what is missing", async () => {
  const { get, asked } = start();
  for (const query of ["namespace=shop", "pod=web-1", "namespace=%20&pod=web-1"]) {
    assert.match(JSON.stringify(await (await get(`/explain?${query}`)).json()), /"problem":"Give the namespace/);
  }
  assert.deepEqual(asked, []);
});

test("at most 20 pages are open at once, and one that is closed makes room", async () => {
  const { get } = start();
  const open = await Promise.all(Array.from({ length: 20 }, () => get("/events")));
  assert(open.every(({ status }) => status === 200));
  assert.equal((await get("/events")).status, 503);
  await open[0]!.body?.cancel();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await get("/events")).status, 200);
});
