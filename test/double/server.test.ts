import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { configMap, installWebhook, podBody } from "./cluster.ts";
import { type JsonObject, asArray, asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "./server.ts";

const timeout = 120_000;

async function serve(t: TestContext, options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options);
  t.after(() => server.close());
  return server;
}

interface Answer {
  readonly code: number;
  readonly body: JsonObject;
  readonly headers: Headers;
}

async function send(
  server: ApiServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    code: response.status,
    body: text.startsWith("{") ? (JSON.parse(text) as JsonObject) : { text },
    headers: response.headers,
  };
}

const pods = "/api/v1/namespaces/default/pods";

/** The events of a watch, one by one; ends when the connection does. */
async function* watch(server: ApiServer, path: string): AsyncGenerator<JsonObject> {
  const response = await fetch(`${server.url}${path}`);
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as JsonObject;
  }
}

test("whoever asks for the log of a pod is told that there is no container", { timeout }, async (t) => {
  const server = await serve(t);
  await send(server, "POST", pods, podBody("a"));
  const { code, body } = await send(server, "GET", `${pods}/a/log`);
  assert.equal(code, 501);
  assert.equal(body["message"], "the API double does not implement get of pods/log: its pods run no containers");
});

test("objects are created, read, listed and deleted over HTTP", { timeout }, async (t) => {
  const server = await serve(t);
  const created = await send(server, "POST", pods, podBody("a"));
  assert.equal(created.code, 201);
  assert.deepEqual((await send(server, "GET", `${pods}/a`)).body, created.body);
  const list = await send(server, "GET", "/api/v1/pods?labelSelector=app%3Dweb");
  assert.equal(list.body["kind"], "PodList");
  const [item] = asArray(list.body["items"]).map(asObject);
  assert.equal(asObject(item?.["metadata"])["name"], "a");
  assert.equal(item?.["kind"], undefined, "items of built-in types come without a kind");
  assert.equal((await send(server, "DELETE", `${pods}/a`)).code, 200);
  const gone = await send(server, "GET", `${pods}/a`);
  assert.deepEqual([gone.code, gone.body["reason"], gone.body["message"]], [404, "NotFound", 'pods "a" not found']);
});

test("a watch streams one JSON event per line, and a dropped one breaks", { timeout }, async (t) => {
  const server = await serve(t);
  await send(server, "POST", pods, podBody("a"));
  const events = watch(server, "/api/v1/pods?watch=true");
  const first = await events.next();
  assert.equal(asObject(first.value)["type"], "ADDED");
  await send(
    server,
    "PATCH",
    `${pods}/a`,
    { metadata: { labels: { x: "1" } } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal(asObject((await events.next()).value)["type"], "MODIFIED");
  assert.equal(server.openWatches, 1);
  server.dropWatches();
  await assert.rejects(events.next());
  assert.equal(server.openWatches, 0);
});

test("after a stop and a start the same state is served at the same address", { timeout }, async (t) => {
  const server = await serve(t);
  await send(server, "POST", pods, podBody("a"));
  await server.stop();
  await assert.rejects(send(server, "GET", `${pods}/a`));
  await server.start();
  assert.equal((await send(server, "GET", `${pods}/a`)).code, 200);
});

test("without an authorizer, requests without a known token get 401", { timeout }, async (t) => {
  const server = await serve(t, { tokens: { secret: { username: "jane", groups: [] } } });
  assert.equal((await send(server, "GET", pods)).code, 401);
  assert.equal((await send(server, "GET", pods, undefined, { authorization: "Bearer other" })).code, 401);
  assert.equal((await send(server, "GET", pods, undefined, { authorization: "Bearer secret" })).code, 200);
});

test("unknown tokens get 401, and the authorizer's no is a 403 in the server's words", { timeout }, async (t) => {
  const server = await serve(t, {
    tokens: { secret: { username: "jane", groups: [] } },
    authorizer: (user, verb, _group, resource, subresource) =>
      user.username === "jane" && !(verb === "patch" && resource === "pods" && subresource === "status"),
  });
  assert.equal((await send(server, "GET", pods, undefined, { authorization: "Bearer other" })).code, 401);
  const headers = { authorization: "Bearer secret", "content-type": "application/merge-patch+json" };
  assert.equal((await send(server, "GET", pods, undefined, headers)).code, 200);
  const refused = await send(server, "PATCH", `${pods}/a/status`, {}, headers);
  assert.equal(refused.code, 403);
  const message =
    'pods "a" is forbidden: User "jane" cannot patch resource "pods/status" in API group "" in the namespace "default"';
  assert.equal(refused.body["message"], message);
});

test(
  "a stored webhook is called over HTTP with a timeout, and its denial reaches the client",
  { timeout },
  async (t) => {
    const seen: { url: string; review: JsonObject }[] = [];
    const hook = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        const review = asObject(JSON.parse(text));
        seen.push({ url: request.url!, review });
        const status = { code: 429, reason: "TooManyRequests", message: "floor", details: { retryAfterSeconds: 3 } };
        response.end(
          JSON.stringify({ ...review, response: { uid: asObject(review["request"])["uid"], allowed: false, status } }),
        );
      });
    }).listen(0, "127.0.0.1");
    await once(hook, "listening");
    t.after(() => {
      hook.close();
      hook.closeAllConnections();
    });
    const server = await serve(t);
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/cell-1`;
    await installWebhook(server.engine, { clientConfig: { url }, timeoutSeconds: 7 });
    await send(server, "POST", pods, podBody("a"));
    const refused = await send(server, "DELETE", `${pods}/a`);
    assert.deepEqual([refused.code, refused.headers.get("retry-after")], [429, "3"]);
    assert.equal(refused.body["message"], 'admission webhook "pods.podseidon.test" denied the request: floor');
    assert.equal(seen[0]!.url, "/cell-1?timeout=7s");
    assert.equal(seen[0]!.review["kind"], "AdmissionReview");
    const evicted = await send(server, "POST", `${pods}/a/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "a" },
    });
    assert.equal(evicted.code, 429);
  },
);

test("what is not imitated is a clear 501, what does not exist a 404", { timeout }, async (t) => {
  const server = await serve(t, { crds: [] });
  assert.equal((await send(server, "GET", `${pods}/a/log`)).code, 501);
  assert.equal((await send(server, "GET", "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors")).code, 404);
  assert.equal((await send(server, "PUT", pods, {})).code, 405);
  assert.equal((await send(server, "POST", pods, undefined)).code, 400);
});

test("health, version and discovery answer", { timeout }, async (t) => {
  const server = await serve(t);
  for (const path of ["/healthz", "/readyz", "/livez"])
    assert.deepEqual((await send(server, "GET", path)).body, { text: "ok" });
  assert.equal((await send(server, "GET", "/version")).body["major"], "1");
  const group = await send(server, "GET", "/apis/podseidon.kubewharf.io/v1alpha1");
  const names = asArray(group.body["resources"]).map((entry) => asObject(entry)["name"]);
  assert.deepEqual(names, ["podprotectors", "podprotectors/status"]);
  const core = await send(server, "GET", "/api/v1");
  assert.ok(asArray(core.body["resources"]).some((entry) => asObject(entry)["name"] === "pods/eviction"));
});

test("deletecollection answers the list that it deleted", { timeout }, async (t) => {
  const server = await serve(t);
  const path = "/api/v1/namespaces/default/configmaps";
  for (const name of ["a", "b"]) await send(server, "POST", path, configMap(name));
  const answer = await send(server, "DELETE", path);
  assert.equal(asArray(answer.body["items"]).length, 2);
  assert.equal(server.engine.list(types.configMaps).items.length, 0);
});

test("a kubeconfig leads to the server", { timeout }, async (t) => {
  const server = await serve(t);
  const directory = mkdtempSync(join(tmpdir(), "double-"));
  t.after(() => rmSync(directory, { recursive: true }));
  server.writeKubeconfig(join(directory, "config"), "secret");
  const text = readFileSync(join(directory, "config"), "utf8");
  assert.ok(text.includes(server.url) && text.includes('"token": "secret"'));
});

test("a path of a group that nobody serves is a plain 404, as the real server answers", { timeout }, async (t) => {
  const server = await serve(t, { crds: [] });
  const answer = await send(server, "GET", "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors");
  assert.deepEqual([answer.code, answer.body], [404, { text: "404 page not found\n" }]);
});
