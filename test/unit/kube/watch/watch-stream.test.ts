import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { readFrames, splitLines } from "../../../../src/kube/watch/watch-stream.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { bookmark, envelope, field, frame, message, pod, watchEvent } from "../protobuf/writer.ts";
import { listAll, listBarrier } from "../../../../src/kube/watch/index.ts";
import { createScriptedKubeClient } from "../scripted-kube-client.ts";

async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test("lines are found wherever the chunks are cut, also within a character of several bytes", async () => {
  const lines = ["", "a", "ü€𝄞", "x".repeat(100), "", "last"];
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const rng = createSeededRng(3);
  for (let round = 0; round < 200; round++) {
    const chunks: Uint8Array[] = [];
    for (let start = 0; start < bytes.length;) {
      const end = start + 1 + Math.floor(rng.next() * 12);
      chunks.push(bytes.subarray(start, end));
      start = end;
    }
    assert.deepEqual(await collect(splitLines(chunksOf(...chunks), "test")), lines);
  }
});

test("a line beyond the limit is a corrupt stream, however small its chunks", async () => {
  const endless = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) yield Buffer.from("x".repeat(10));
  };
  await assert.rejects(collect(splitLines(endless(), "test", 1_000)), (error) => isKubeError(error, "malformed"));
  await assert.doesNotReject(collect(splitLines(chunksOf("x".repeat(900), "\n", "y".repeat(900)), "test", 1_000)));
});

test("an ERROR event is thrown as the KubeError that its Status says", async () => {
  const frame = (object: unknown): string => `${JSON.stringify({ type: "ERROR", object })}\n`;
  const kinds: readonly [unknown, string][] = [
    [{ kind: "Status", code: 410, reason: "Expired" }, "gone"],
    [{ kind: "Status", code: 410, reason: "Gone" }, "gone"],
    [{ kind: "Status", code: 500, reason: "InternalError" }, "serverError"],
    [{ kind: "Status", code: 403, reason: "Forbidden" }, "forbidden"],
    [{ kind: "Pod" }, "malformed"],
    [null, "malformed"],
  ];
  for (const [object, kind] of kinds) {
    const error = await collect(readFrames(chunksOf(frame(object)), "test")).catch((thrown: unknown) => thrown);
    assert.ok(isKubeError(error), String(error));
    assert.equal(error.kind, kind);
  }
});

const podEnvelope = (name: string, version: string): Buffer => envelope("Pod", pod({ name, version }));

test("frames of protobuf and lines of JSON are read alike", async () => {
  const frames = Buffer.concat([
    frame(watchEvent("ADDED", podEnvelope("a", "5"))),
    frame(watchEvent("BOOKMARK", bookmark("9", true))),
    frame(watchEvent("DELETED", podEnvelope("a", "10"))),
  ]);
  const stream = Object.assign(chunksOf(frames), { encoding: "protobuf" as const });
  const read = await collect(readFrames(stream, "test"));
  assert.deepEqual(
    read.map((one) => [one.type, one.version]),
    [
      ["added", "5"],
      ["bookmark", "9"],
      ["deleted", "10"],
    ],
  );
  const lines = [
    { type: "ADDED", object: { metadata: { resourceVersion: "5" } } },
    {
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } } },
    },
  ];
  const [, mark] = await collect(
    readFrames(chunksOf(lines.map((line) => `${JSON.stringify(line)}\n`).join("")), "test"),
  );
  assert.deepEqual(mark, read[1]);
});

test("a protobuf watch with flipped bytes or a cut gives frames or a KubeError, never anything else", async () => {
  const status = message(field(2, "Failure"), field(4, "Expired"), field(6, 410));
  const whole = Buffer.concat([
    frame(watchEvent("ADDED", podEnvelope("a", "5"))),
    frame(watchEvent("MODIFIED", podEnvelope("a", "6"))),
    frame(watchEvent("BOOKMARK", bookmark("9", true))),
    frame(watchEvent("ERROR", envelope("Status", status))),
  ]);
  const rng = createSeededRng(21);
  const kinds = new Map<string, number>();
  for (let round = 0; round < 10_000; round++) {
    const bytes = Buffer.from(
      whole.subarray(0, rng.next() < 0.5 ? whole.length : Math.floor(rng.next() * whole.length)),
    );
    for (let flips = Math.floor(rng.next() * 3); flips > 0 && bytes.length > 0; flips--) {
      bytes[Math.floor(rng.next() * bytes.length)]! ^= 1 << Math.floor(rng.next() * 8);
    }
    const stream = Object.assign(chunksOf(bytes), { encoding: "protobuf" as const });
    const kind = await collect(readFrames(stream, "test")).then(
      () => "frames",
      (error: unknown) => (isKubeError(error) ? error.kind : assert.fail(String(error))),
    );
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  for (const kind of ["frames", "malformed", "gone"])
    assert.ok((kinds.get(kind) ?? 0) > 500, `${kind}: ${kinds.get(kind)}`);
});

const pods = { group: "", version: "v1", resource: "pods" };

test("a barrier is a list of one object with resourceVersion unset", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "77", continue: "x" }, items: [{}] });
  assert.equal(await listBarrier(client, pods), "77");
  assert.equal(await listBarrier(client, pods, "team-a"), "77");
  assert.deepEqual(
    client.requests.map(({ method, path, query }) => [method, path, query]),
    [
      ["GET", "/api/v1/pods", { limit: 1 }],
      ["GET", "/api/v1/namespaces/team-a/pods", { limit: 1 }],
    ],
  );
});

test("the version of a paged list is that of its first page", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = ({ query }) =>
    query?.["continue"] === undefined
      ? { metadata: { resourceVersion: "5", continue: "c" }, items: [1, 2] }
      : { metadata: { resourceVersion: "9" }, items: [3] };
  const items: unknown[] = [];
  assert.equal(await listAll(client, { resource: pods, fieldSelector: "a=b" }, (raw) => items.push(raw)), "5");
  assert.deepEqual(items, [1, 2, 3]);
  assert.ok(
    client.requests.every(
      ({ query }) => query?.["resourceVersion"] === undefined && query?.["fieldSelector"] === "a=b",
    ),
  );
});

test("an answer that is no list is malformed", async () => {
  const client = createScriptedKubeClient();
  for (const answer of [
    null,
    7,
    {},
    { metadata: { resourceVersion: "0" }, items: [] },
    { metadata: { resourceVersion: "1" }, items: {} },
  ]) {
    client.onRequest = () => answer;
    await assert.rejects(listBarrier(client, pods), (error) => isKubeError(error, "malformed"), JSON.stringify(answer));
  }
});

test("a server that always says continue does not hold us for ever", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "5", continue: "again" }, items: [] });
  await assert.rejects(
    listAll(client, { resource: pods }, () => undefined),
    (error) => isKubeError(error, "malformed"),
  );
  assert.equal(client.requests.length, 10_000);
});
