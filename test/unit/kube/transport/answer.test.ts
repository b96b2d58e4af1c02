import assert from "node:assert/strict";
import { type ServerResponse } from "node:http";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { envelope, field, frame, mediaType, message, pod, podList, watchEvent } from "../protobuf/writer.ts";
import { connect, sendJson, startLoopbackServer } from "./loopback-server.ts";

function sendProtobuf(response: ServerResponse, code: number, bytes: Buffer): void {
  response.writeHead(code, { "content-type": mediaType, "retry-after": "7" }).end(bytes);
}

const podsRequest = { method: "GET", path: "/api/v1/pods", preferProtobuf: true } as const;
const list = envelope("PodList", podList("7", "", [pod({ name: "a", version: "5" })]));
const refused = envelope(
  "Status",
  message(field(2, "Failure"), field(3, "no pods"), field(4, "NotFound"), field(6, 404)),
);

test("protobuf is asked for with JSON as the second choice, and only where it is wanted", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { kind: "PodList" }));
  const { client } = await connect(t, server.port);
  // A server may send JSON anyway.
  assert.deepEqual(await client.request(podsRequest), { kind: "PodList" });
  const stream = await client.stream(podsRequest, 1_000);
  assert.equal(stream.encoding, undefined);
  for await (const chunk of stream) assert.equal(String(chunk), '{"kind":"PodList"}');
  await client.request({ method: "GET", path: "/api/v1/pods" });
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.accept),
    [`${mediaType},application/json`, `${mediaType},application/json`, "application/json"],
  );
});

test("metadata alone are asked for with whole objects as the second choice", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { kind: "PodList" }));
  const { client } = await connect(t, server.port);
  await client.request({ method: "GET", path: "/api/v1/pods", preferMetadata: true });
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.accept),
    ["application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"],
  );
});

test("the content type of the answer decides how it is read, whatever was asked for", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendProtobuf(response, 200, list));
  const { client } = await connect(t, server.port);
  const decoded = (await client.request({ method: "GET", path: "/api/v1/pods" })) as { items: unknown[] };
  assert.equal(decoded.items.length, 1);
});

test("a watch says that its frames are protobuf", async (t) => {
  const bytes = frame(watchEvent("ADDED", envelope("Pod", pod({ name: "a", version: "5" }))));
  const server = await startLoopbackServer(t, (_request, response) => {
    response.writeHead(200, { "content-type": `${mediaType};stream=watch` }).end(bytes);
  });
  const { client } = await connect(t, server.port);
  const stream = await client.stream(podsRequest, 1_000);
  assert.equal(stream.encoding, "protobuf");
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).equals(bytes), true);
});

test("a corrupt answer is malformed, a Status in protobuf is classified, a corrupt one keeps its code", async (t) => {
  const answers = [
    [200, list.subarray(0, 90)],
    [404, refused],
    [503, Buffer.from("k8s\0nonsense")],
  ] as const;
  const server = await startLoopbackServer(t, (request, response) => {
    const [code, bytes] = answers[Number(request.url?.slice(1))]!;
    sendProtobuf(response, code, bytes);
  });
  const { client } = await connect(t, server.port);
  const failure = async (path: string): Promise<unknown> =>
    client.request({ ...podsRequest, path }).catch((error: unknown) => error);
  const [corrupt, missing, broken] = [await failure("/0"), await failure("/1"), await failure("/2")];
  assert.ok(isKubeError(corrupt, "malformed"));
  assert.match(corrupt.message, /^GET \/0.*: corrupt protobuf at byte \d+: truncated$/);
  assert.ok(isKubeError(missing, "notFound"));
  assert.equal(missing.message, "GET /1: 404 NotFound: no pods");
  assert.equal(missing.retryAfterMs, 7_000);
  assert.ok(isKubeError(broken, "serverError"));
  assert.equal(broken.code, 503);
});

for (const code of [406, 415]) {
  test(`a server that refuses protobuf with ${code} is asked for JSON from then on`, async (t) => {
    const server = await startLoopbackServer(t, (request, response) => {
      const strict = request.headers.accept?.includes("protobuf") === true;
      if (strict) sendJson(response, code, { kind: "Status", code, reason: "NotAcceptable" });
      else sendJson(response, 200, { kind: "PodList" });
    });
    const { client } = await connect(t, server.port);
    // Two at once: both are refused and both are sent again.
    assert.deepEqual(await Promise.all([client.request(podsRequest), client.request(podsRequest)]), [
      { kind: "PodList" },
      { kind: "PodList" },
    ]);
    const before = server.requests.length;
    await client.request(podsRequest);
    await client.stream(podsRequest, 1_000).then((stream) => stream[Symbol.asyncIterator]().return?.());
    assert.deepEqual(
      server.requests.slice(before).map(({ headers }) => headers.accept),
      ["application/json", "application/json"],
    );
  });

  test(`${code} to a request for JSON is an error, not asked for again`, async (t) => {
    const server = await startLoopbackServer(t, (_request, response) => sendJson(response, code, { kind: "Status" }));
    const { client } = await connect(t, server.port);
    const error = await client.request(podsRequest).catch((thrown: unknown) => thrown);
    assert.ok(isKubeError(error, "invalid"));
    assert.equal(server.requests.length, 2);
  });
}

test("a request reads its answer itself where it has a way to, and what it cannot read is malformed", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { kind: "Pod" }));
  const { client } = await connect(t, server.port);
  const get = (parse: (body: Buffer) => unknown) => client.request({ method: "GET", path: "/api/v1/pods/p", parse });
  assert.equal(await get((body) => body.toString("utf8").length), 14);
  await assert.rejects(
    get(() => undefined),
    (error) => isKubeError(error, "malformed"),
  );
});
