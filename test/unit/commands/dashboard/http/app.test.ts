import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Hono } from "hono";
import { type PodQuestion } from "../../../../../src/commands/dashboard/explain-pod.ts";
import {
  beatMs,
  createApp,
  guard,
  joinPage,
  moduleNames,
  sendEvents,
} from "../../../../../src/commands/dashboard/http/app.ts";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import { decodeEvent } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { createVirtualClock, drainMicrotasks } from "../../../../support/virtual-clock.ts";
import { eventBody } from "../events.ts";
import { EventReader } from "./reader.ts";

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

const own = { Host: "127.0.0.1:4711" };

function appWith(code?: string): Hono {
  const app = new Hono();
  app.use(guard({ token: "secret", code, port: () => 4711, styleHash: "'sha256-a'", scriptHash: "'sha256-b'" }));
  app.get("/", (context) => context.text("the page"));
  return app;
}

function ask(headers: Record<string, string>, query = "?token=secret"): Response | Promise<Response> {
  return appWith().request(`/${query}`, { headers });
}

test("the page is for whoever has the secret", async () => {
  assert.equal((await ask(own)).status, 200);
  assert.equal((await ask({ Host: "localhost:4711" })).status, 200);
  for (const query of ["", "?token=", "?token=secre", "?token=secretx", "?Token=secret"]) {
    const answer = await ask(own, query);
    assert.equal(answer.status, 403, query);
    assert.match(await answer.text(), /^Open the whole URL/);
  }
});

test("a page of a stranger whose name leads here is not served, even with the secret", async () => {
  for (const host of ["evil.example:4711", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:4711"]) {
    assert.equal((await ask({ Host: host })).status, 421, host);
  }
});

test("requests that another site has made are refused", async () => {
  for (const site of ["cross-site", "same-site"]) {
    assert.equal((await ask({ ...own, "Sec-Fetch-Site": site })).status, 403, site);
  }
  for (const site of ["same-origin", "none"]) {
    assert.equal((await ask({ ...own, "Sec-Fetch-Site": site })).status, 200, site);
  }
});

test("every answer says that nothing else may be loaded, framed, kept or told", async () => {
  for (const answer of [await ask(own), await ask(own, "")]) {
    const policy = answer.headers.get("Content-Security-Policy") ?? "";
    assert.match(policy, /^default-src 'none'; style-src 'sha256-a'; script-src 'sha256-b'; connect-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'$/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(answer.headers.get("Referrer-Policy"), "no-referrer");
    assert.equal(answer.headers.get("Cache-Control"), "no-store");
  }
});

test("the code of a started browser leads to the page once", async () => {
  const app = appWith("code");
  const open = (code: string): Response | Promise<Response> => app.request(`/open/${code}`, { headers: own });
  assert.equal((await open("other")).status, 403);
  const first = await open("code");
  assert.deepEqual([first.status, first.headers.get("Location")], [302, "/?token=secret"]);
  assert.equal((await open("code")).status, 403);
  assert.equal((await appWith().request("/open/undefined", { headers: own })).status, 403);
  assert.equal((await appWith("code").request("/open/code", { headers: { Host: "evil.example" } })).status, 421);
});

function startUpdates() {
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
  const { app, open } = startUpdates();
  const answer = await app.request("/events");
  assert.match(answer.headers.get("Content-Type") ?? "", /^text\/event-stream/);
  await answer.body?.cancel();
  const first = await (await open()).next();
  assert.equal(first?.event, "update");
  assert.equal(first?.id, "r1.0");
  assert.equal(first?.update.isWhole, true);
});

test("what changes within a quarter of a second is one event", async () => {
  const { clock, state, open } = startUpdates();
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
  const { clock, open } = startUpdates();
  const reader = await open();
  await reader.next();
  await drainMicrotasks();
  const next = reader.next();
  await clock.advance(beatMs + 250);
  assert.deepEqual(Object.keys((await next)!.update), ["isWhole", "nowMs"]);
});

test("a browser that comes back gets only what is new of the timeline, unless the program is another", async () => {
  const { state, open } = startUpdates();
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
  const { clock, state, stop, ended, open } = startUpdates();
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
  const { open } = startUpdates();
  const { update } = (await (await open("?page=-1&entries=9999&state=nonsense")).next())!;
  assert.equal(update.list?.page, 1);
});

const folder = path.join(import.meta.dirname, "../../../../../assets/dashboard");

test("all files of the page are joined, and no other is named", () => {
  assert.deepEqual(["page.html", "page.css", ...moduleNames].sort(), readdirSync(folder).sort());
});

test("the page is one document without anything from elsewhere", () => {
  const { html } = joinPage();
  assert.doesNotMatch(html, /<!-- (?:style|script) -->/);
  assert.doesNotMatch(html, /<(?:script|link|img|iframe)[^>]*\s(?:src|href)="(?!data:)/);
  assert.doesNotMatch(html, /@import|url\(|\bimport\(/);
  // The one URL names what an SVG element is.
  assert.deepEqual(html.match(/https?:[^"'\s]*/g), ["http://www.w3.org/2000/svg"]);
});

test("style and script have the hashes that the policy names", () => {
  const { html, styleHash, scriptHash } = joinPage();
  const hashOf = (pattern: RegExp): string => `'sha256-${hash("sha256", pattern.exec(html)?.[1] ?? "", "base64")}'`;
  assert.equal(styleHash, hashOf(/<style>(.*?)<\/style>/s));
  assert.equal(scriptHash, hashOf(/<script type="module">(.*?)<\/script>/s));
});

test("names of objects are never written as markup", () => {
  const script = /<script type="module">(.*?)<\/script>/s.exec(joinPage().html)?.[1] ?? "";
  assert.doesNotMatch(script, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/);
});

test("modules lose their imports and exports, and stand after those that they import", () => {
  const sources: Record<string, string> = {
    "page.html": "<!-- style -->|<!-- script -->",
    "page.css": "a {}",
    "element.js": "export function a() {}\n",
    "main.js": 'import {\n  a,\n} from "./element.js";\nimport { b } from "./words.js";\na("$&");\n',
  };
  const { html } = joinPage((name) => sources[name] ?? "");
  const [style, script] = html.split("|");
  assert.equal(style, "<style>a {}</style>");
  assert.match(script ?? "", /^<script type="module">function a\(\) \{\}\n\n*a\("\$&"\);\n<\/script>$/);
});

test("each module stands after those that it imports", async () => {
  const { readFileSync } = await import("node:fs");
  for (const [index, name] of moduleNames.entries()) {
    const imported = readFileSync(path.join(folder, name), "utf8").matchAll(/^import [^;]* from "\.\/([^"]+)";/gm);
    for (const [, other = ""] of imported) assert(moduleNames.indexOf(other) < index, `${name} before ${other}`);
  }
});
