import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { decodeObject, isProtobuf } from "../../../../src/kube/protobuf/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { envelope, field, message, pod, podList } from "./writer.ts";

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
