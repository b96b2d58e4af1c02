import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { decodeObject, isProtobuf, decodeWatchEvent, splitFrames } from "../../../../src/kube/protobuf/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { envelope, field, message, pod, podList, bookmark, frame, watchEvent } from "./writer.ts";
import { readStatus } from "../../../../src/kube/protobuf/envelope.ts";
import { readMessage } from "../../../../src/kube/protobuf/message-reader.ts";

const malformed = (error: unknown): boolean => isKubeError(error, "malformed");

test("only the content type distinguishes protobuf from JSON", () => {
  assert.equal(isProtobuf("application/vnd.kubernetes.protobuf"), true);
  assert.equal(isProtobuf("Application/vnd.kubernetes.protobuf; stream=watch"), true);
  for (const other of [
    "application/json",
    "application/vnd.kubernetes.protobuf2",
    "",
    undefined,
    ["application/json"],
  ]) {
    assert.equal(isProtobuf(other), false, String(other));
  }
});

test("the envelope says what is inside, and fields that it does not know are skipped", () => {
  assert.deepEqual(decodeObject(envelope("PodList", podList("5", "", [])), "test"), {
    apiVersion: "v1",
    kind: "PodList",
    metadata: { resourceVersion: "5", continue: "" },
    items: [],
  });
  const padded = Buffer.concat([envelope("Pod", Buffer.alloc(0)), field(9, "new"), field(10, 7)]);
  assert.deepEqual(decodeObject(padded, "test"), { apiVersion: "v1", kind: "Pod", metadata: {} });
});

test("input without an envelope, of another kind or encoded is malformed, and the error names the request", () => {
  const empty = Buffer.alloc(0);
  const inputs: readonly (readonly [Buffer, RegExp])[] = [
    [empty, /GET \/pods: protobuf without its first bytes/],
    [Buffer.from('{"kind":"PodList"}'), /without its first bytes/],
    [envelope("Pod", empty).subarray(4), /without its first bytes/],
    [envelope("Deployment", empty, "apps/v1"), /GET \/pods, Deployment: .*"apps\/v1 Deployment" is not known here/],
    [envelope("PodList", empty, "metrics.k8s.io/v1beta1"), /is not known here/],
    [envelope("x".repeat(100_000), empty), /is not known here/],
    [Buffer.from("k8s\0"), /an envelope without an object/],
    [Buffer.concat([Buffer.from("k8s\0"), field(1, message(field(1, "v1"), field(2, "Pod")))]), /without an object/],
    [Buffer.concat([envelope("Pod", empty), field(3, "gzip")]), /an encoded object/],
  ];
  for (const [bytes, text] of inputs) {
    assert.throws(
      () => decodeObject(bytes, "GET /pods"),
      (error) => malformed(error) && text.test(String(error)),
      String(text),
    );
  }
});

const labels = { app: "web", tier: "a" };
const list = envelope(
  "PodList",
  podList("7", "next", [pod({ name: "a", version: "5", labels }), pod({ name: "b", version: "6" })]),
);

test("a list that is cut anywhere is malformed", () => {
  // The last fields of the envelope are empty: without them nothing is missing.
  const complete = list.length - 4;
  for (let length = 0; length < complete; length++) {
    assert.throws(() => decodeObject(list.subarray(0, length), "test"), malformed, String(length));
  }
  assert.deepEqual(decodeObject(list.subarray(0, complete), "test"), decodeObject(list, "test"));
});

test("flipped bytes give an object or a malformed error, never anything else", () => {
  const rng = createSeededRng(11);
  const outcomes = { decoded: 0, malformed: 0 };
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(list);
    for (let flips = 1 + Math.floor(rng.next() * 4); flips > 0; flips--) {
      bytes[Math.floor(rng.next() * bytes.length)]! ^= 1 << Math.floor(rng.next() * 8);
    }
    try {
      assert.equal(typeof decodeObject(bytes, "test"), "object");
      outcomes.decoded++;
    } catch (error) {
      assert.ok(malformed(error), String(error));
      outcomes.malformed++;
    }
  }
  assert.ok(outcomes.decoded > 1_000 && outcomes.malformed > 1_000, JSON.stringify(outcomes));
});

test("random bytes behind the envelope give an object or a malformed error", () => {
  const rng = createSeededRng(12);
  for (let round = 0; round < 20_000; round++) {
    const raw = Buffer.from(Array.from({ length: Math.floor(rng.next() * 60) }, () => Math.floor(rng.next() * 256)));
    const kind = ["Pod", "PodList", "Status"][round % 3]!;
    try {
      decodeObject(envelope(kind, raw), "test");
    } catch (error) {
      assert.ok(malformed(error), String(error));
    }
  }
});

test("a Status has its code, reason, message, causes and delay", () => {
  const bytes = message(
    field(1, field(2, "")),
    field(2, "Failure"),
    field(3, "Too large resource version: 9, current: 8"),
    field(4, "Timeout"),
    field(
      5,
      message(
        field(1, "name"),
        field(4, message(field(1, "ResourceVersionTooLarge"), field(2, "Too large"), field(3, "version"))),
        field(4, field(9, "unknown")),
        field(5, 1),
      ),
    ),
    field(6, 504),
  );
  assert.deepEqual(readMessage(bytes, "test", readStatus), {
    status: "Failure",
    message: "Too large resource version: 9, current: 8",
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large", field: "version" }, {}],
      retryAfterSeconds: 1,
    },
    code: 504,
  });
});

test("a delay of 0 seconds, which the server writes into every Status with details, is none", () => {
  const bytes = field(5, message(field(1, "pod"), field(5, 0)));
  assert.deepEqual(readMessage(bytes, "test", readStatus), { details: {} });
});

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
