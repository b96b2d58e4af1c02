import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { decodeWatchEvent, splitFrames } from "../../../../src/kube/protobuf/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { bookmark, envelope, field, frame, message, pod, watchEvent } from "./writer.ts";

const malformed = (error: unknown): boolean => isKubeError(error, "malformed");

/** The bytes in chunks of 1 to `bytesMax` bytes. */
async function* cut(bytes: Buffer, bytesMax: number, seed = 1): AsyncGenerator<Uint8Array, void, undefined> {
  const rng = createSeededRng(seed);
  for (let start = 0; start < bytes.length;) {
    const end = start + 1 + Math.floor(rng.next() * bytesMax);
    yield new Uint8Array(bytes.subarray(start, end));
    start = end;
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test("frames are found wherever the chunks are cut, empty ones too", async () => {
  const texts = ["", "a", "x".repeat(300), "", "last"];
  const bytes = Buffer.concat(texts.map((text) => frame(Buffer.from(text))));
  for (let round = 1; round <= 300; round++) {
    const frames = await collect(splitFrames(cut(bytes, round, round), "test"));
    assert.deepEqual(frames.map(String), texts, String(round));
  }
});

test("a frame that the connection broke is dropped", async () => {
  const bytes = Buffer.concat([frame(Buffer.from("whole")), frame(Buffer.from("broken"))]);
  for (let length = 9; length < bytes.length; length++) {
    assert.deepEqual((await collect(splitFrames(cut(bytes.subarray(0, length), 4), "test"))).map(String), ["whole"]);
  }
});

test("a frame beyond the limit is refused by its length, before it is kept", async () => {
  const long = Buffer.alloc(1_001);
  await assert.rejects(collect(splitFrames(cut(frame(long).subarray(0, 4), 4), "test", 1_000)), malformed);
  assert.equal((await collect(splitFrames(cut(frame(long.subarray(1)), 100), "test", 1_000))).length, 1);
  const nonsense = Buffer.from("<html>not a watch</html>");
  await assert.rejects(collect(splitFrames(cut(nonsense, 100), "WATCH /pods")), /WATCH \/pods: a frame of more than/);
});

test("a large frame in small chunks is put together once", async () => {
  const bytes = frame(Buffer.alloc(8 * 1024 * 1024, 7));
  const [whole] = await collect(splitFrames(cut(bytes, 2_000), "test"));
  assert.equal(whole?.equals(bytes.subarray(4)), true);
});

test("an event has its type and its object, a bookmark its end mark", () => {
  const added = decodeWatchEvent(watchEvent("ADDED", envelope("Pod", pod({ name: "a", version: "5" }))), "test");
  assert.equal(added.type, "ADDED");
  assert.equal((added.object as { metadata: { name: string } }).metadata.name, "a");
  assert.deepEqual(decodeWatchEvent(watchEvent("BOOKMARK", bookmark("9", true)), "test"), {
    type: "BOOKMARK",
    object: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "", resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } },
    },
  });
  const status = message(field(2, "Failure"), field(6, 410));
  assert.deepEqual(
    decodeWatchEvent(message(watchEvent("ERROR", envelope("Status", status)), field(3, "new")), "test"),
    {
      type: "ERROR",
      object: { apiVersion: "v1", kind: "Status", status: "Failure", code: 410 },
    },
  );
});

test("an event without an object has none, and one whose object is empty is malformed", () => {
  assert.deepEqual(decodeWatchEvent(Buffer.alloc(0), "test"), { type: "", object: undefined });
  assert.throws(() => decodeWatchEvent(watchEvent("ADDED", Buffer.alloc(0)), "test"), malformed);
  assert.throws(() => decodeWatchEvent(message(field(1, "ADDED"), field(2, "")), "test"), malformed);
});
