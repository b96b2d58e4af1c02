import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { decodeObject } from "../../../../src/kube/protobuf/index.ts";
import { type MessageReader, readMessage } from "../../../../src/kube/protobuf/message-reader.ts";
import { envelope, field, message, varint } from "./writer.ts";

const malformed = (error: unknown): boolean => isKubeError(error, "malformed");

/** What is decoded of a pod with these bytes. */
function podOf(bytes: Buffer): { readonly metadata: Readonly<Record<string, unknown>>; readonly status?: unknown } {
  return decodeObject(envelope("Pod", bytes), "test") as ReturnType<typeof podOf>;
}

const tag = (number: number, type: number): Buffer => varint(number * 8 + type);
/** A field of a Pod that is read, behind something that may spoil it. */
const named = field(1, field(1, "a"));

/** `deletionGracePeriodSeconds` of a pod, as it stands in these bytes. */
function seconds(bytes: Buffer): unknown {
  return podOf(field(1, message(tag(10, 0), bytes))).metadata["deletionGracePeriodSeconds"];
}

test("integers of 64 bits are exact within the range of safe integers, negative ones too", () => {
  const safe = Number.MAX_SAFE_INTEGER;
  for (const value of [
    0,
    1,
    127,
    128,
    16_383,
    2 ** 31,
    2 ** 35 - 1,
    2 ** 49 - 1,
    2 ** 49,
    safe,
    -1,
    -30,
    -(2 ** 31),
    -safe,
  ]) {
    assert.equal(seconds(varint(value)), value, String(value));
  }
  assert.equal(seconds(varint(2n ** 63n - 1n)), 2 ** 63);
  assert.equal(seconds(varint(-(2n ** 63n))), -(2 ** 63));
});

test("a number that does not end within 64 bits is malformed", () => {
  assert.throws(() => seconds(Buffer.from(Array.from({ length: 11 }, () => 0xff))), malformed);
  assert.equal(seconds(Buffer.from([0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00])), 1);
});

test("a number that does not end in what is skipped is malformed, however long it is", () => {
  assert.throws(() => podOf(message(named, tag(7, 0), Buffer.alloc(1024 * 1024, 0xff))), malformed);
});

test("unknown fields of every wire type are skipped, groups with all that is in them", () => {
  const group = message(tag(20, 3), field(1, 5), tag(2, 3), field(1, "x"), tag(2, 4), tag(20, 4));
  const unknown = message(
    field(4, 2n ** 63n),
    message(tag(5, 1), Buffer.alloc(8)),
    field(6, "text"),
    group,
    message(tag(7, 5), Buffer.alloc(4)),
    field(2 ** 29 - 1, ""),
  );
  assert.deepEqual(podOf(message(unknown, named, unknown)).metadata, { name: "a" });
  assert.deepEqual(podOf(field(1, message(field(2, ""), group, field(1, "a")))).metadata, { name: "a" });
});

test("wire types that do not exist, groups without an end and field 0 are malformed", () => {
  const inputs = [[0x26], [0x27], [0x24], [0x23], [0x23, 0x23, 0x24], [0x23, 0x2c], [0x00, 0x00], [0x05]];
  for (const bytes of inputs) {
    assert.throws(() => podOf(message(named, Buffer.from(bytes))), malformed, String(bytes));
  }
  assert.throws(() => podOf(message(named, varint(2n ** 32n + 8n))), malformed);
  assert.throws(() => podOf(message(named, varint(-8))), malformed);
});

test("groups nest a hundred deep, and a hundred thousand of them are malformed and take no stack", () => {
  const nested = (depth: number): Buffer => message(Buffer.alloc(depth, tag(4, 3)), Buffer.alloc(depth, tag(4, 4)));
  assert.deepEqual(podOf(message(nested(100), named)).metadata, { name: "a" });
  assert.throws(() => podOf(message(nested(100_000), named)), malformed);
});

test("a length beyond the input is malformed, of what is read and of what is skipped", () => {
  for (const length of [5, 2 ** 31, 2 ** 32 - 1, 2 ** 32 + 1, 2 ** 40, -1]) {
    const text = message(varint(length), Buffer.from("four"));
    assert.throws(() => podOf(message(tag(1, 2), text)), malformed, `message ${length}`);
    assert.throws(() => podOf(message(named, tag(2, 2), text)), malformed, `skipped ${length}`);
    assert.throws(() => decodeObject(message(Buffer.from("k8s\0"), tag(2, 2), text), "test"), malformed, `${length}`);
    const status = message(tag(3, 2), text);
    assert.throws(() => decodeObject(envelope("Status", status), "test"), malformed, `text ${length}`);
  }
});

/** An ObjectMeta that says it has `length` bytes; what it reads goes on into the next field of the Pod. */
const shortMeta = (length: number, ...content: readonly Buffer[]): Buffer =>
  message(tag(1, 2), varint(length), ...content, field(2, "spec"), field(3, field(1, "Running")));

test("what fits into the input and not into the message that it is in is malformed", () => {
  assert.throws(() => podOf(shortMeta(3, tag(1, 2), varint(4), Buffer.from("text"))), malformed, "a text");
  assert.throws(() => podOf(shortMeta(3, tag(2, 2), varint(4), Buffer.from("text"))), malformed, "a skipped text");
  assert.throws(
    () => podOf(shortMeta(4, tag(11, 2), varint(9), field(1, "k"), field(2, "v"))),
    malformed,
    "a map entry",
  );
  assert.throws(() => podOf(shortMeta(2, tag(10, 0), varint(300))), malformed, "a number");
  assert.throws(() => podOf(shortMeta(2, tag(7, 0), varint(300))), malformed, "a skipped number");
  assert.throws(() => podOf(shortMeta(3, tag(7, 5), Buffer.alloc(4))), malformed, "32 bits");
  assert.throws(() => podOf(shortMeta(3, tag(7, 1), Buffer.alloc(8))), malformed, "64 bits");
  assert.throws(() => podOf(shortMeta(2, tag(7, 3), field(1, "x"), tag(7, 4))), malformed, "a group");
  assert.throws(() => podOf(shortMeta(1, varint(17 * 8 + 2), field(4, ""))), malformed, "a field's own tag");
});

test("a message goes on behind an inner one, and fields that come twice have their last value", () => {
  assert.deepEqual(podOf(message(field(1, field(1, "ü")), field(3, field(1, "Pending")), field(3, ""), named)), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a" },
    status: {},
  });
});

test("a known field of another wire type is malformed, and the error names the input, the byte and the field", () => {
  const at = (bytes: Buffer, read: (reader: MessageReader) => unknown): unknown =>
    readMessage(bytes, "GET /pods", (reader) => reader.next() && read(reader));
  assert.throws(() => at(field(1, 7), (reader) => reader.text()), malformed);
  assert.throws(() => at(field(1, 7), (reader) => reader.bytes()), malformed);
  assert.throws(() => at(field(1, 7), (reader) => reader.enter()), malformed);
  assert.throws(
    () => at(field(1, "7"), (reader) => reader.integer()),
    /^KubeError: GET \/pods: corrupt protobuf at byte 1: field 1 has wire type 2$/,
  );
});

test("a mistake of the program is not taken for corrupt input", () => {
  const mistake = new TypeError("undefined is not a function");
  const read = (): never => {
    throw mistake;
  };
  assert.throws(() => readMessage(Buffer.alloc(0), "test", read), mistake);
});
