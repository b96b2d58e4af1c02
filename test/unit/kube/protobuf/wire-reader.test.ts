import assert from "node:assert/strict";
import test from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { WireReader } from "../../../../src/kube/protobuf/wire-reader.ts";
import { field, message, varint } from "./writer.ts";

const malformed = (error: unknown): boolean => isKubeError(error, "malformed");

/** The field numbers of a message whose fields are all skipped. */
function skipAll(bytes: Buffer): number[] {
  const reader = new WireReader(bytes, "test");
  const found: number[] = [];
  while (reader.next()) {
    found.push(reader.field);
    reader.skip();
  }
  return found;
}

function integer(bytes: Buffer): number {
  const reader = new WireReader(Buffer.concat([varint(8), bytes]), "test");
  assert.equal(reader.next(), true);
  const value = reader.integer();
  assert.equal(reader.next(), false);
  return value;
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
    assert.equal(integer(varint(value)), value, String(value));
  }
  assert.equal(integer(varint(2n ** 63n - 1n)), 2 ** 63);
  assert.equal(integer(varint(-(2n ** 63n))), -(2 ** 63));
});

test("a number that does not end within 64 bits is malformed", () => {
  assert.throws(() => integer(Buffer.from(Array.from({ length: 11 }, () => 0xff))), malformed);
  assert.equal(integer(Buffer.from([0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00])), 1);
});

test("fields of every wire type are skipped, groups with all that is in them", () => {
  const tag = (number: number, type: number): Buffer => varint(number * 8 + type);
  const group = message(tag(9, 3), field(1, 5), tag(2, 3), field(1, "x"), tag(2, 4), tag(9, 4));
  const bytes = message(
    field(1, 2n ** 63n),
    message(tag(2, 1), Buffer.alloc(8)),
    field(3, "text"),
    group,
    message(tag(5, 5), Buffer.alloc(4)),
    field(2 ** 29 - 1, ""),
  );
  assert.deepEqual(skipAll(bytes), [1, 2, 3, 9, 5, 2 ** 29 - 1]);
});

test("wire types that do not exist, groups without an end and field 0 are malformed", () => {
  for (const bytes of [[0x0e], [0x0f], [0x0c], [0x0b], [0x0b, 0x0b, 0x0c], [0x00, 0x00], [0x05]]) {
    assert.throws(() => skipAll(Buffer.from(bytes)), malformed, String(bytes));
  }
  assert.throws(() => skipAll(varint(2n ** 32n + 8n)), malformed);
  assert.throws(() => skipAll(varint(-8)), malformed);
});

test("a hundred thousand nested groups take no stack", () => {
  const depth = 100_000;
  assert.deepEqual(skipAll(Buffer.concat([Buffer.alloc(depth, 0x0b), Buffer.alloc(depth, 0x0c)])), [1]);
});

test("a length beyond the message, its own or the outer one's, is malformed", () => {
  for (const length of [5, 2 ** 31, 2 ** 40, -1]) {
    assert.throws(() => skipAll(message(varint(10), varint(length), Buffer.from("four"))), malformed, String(length));
  }
  // The text fits into the input, and not into the message that it is in.
  const reader = new WireReader(message(varint(10), varint(3), varint(10), varint(4), Buffer.from("text")), "test");
  assert.equal(reader.next(), true);
  reader.enter();
  assert.equal(reader.next(), true);
  assert.throws(() => reader.text(), malformed);
});

test("a known field of another wire type is malformed", () => {
  const at = (bytes: Buffer): WireReader => {
    const reader = new WireReader(bytes, "GET /pods");
    assert.equal(reader.next(), true);
    return reader;
  };
  assert.throws(() => at(field(1, 7)).text(), malformed);
  assert.throws(() => at(field(1, 7)).bytes(), malformed);
  assert.throws(() => at(field(1, 7)).enter(), malformed);
  assert.throws(
    () => at(field(1, "7")).integer(),
    /^KubeError: GET \/pods: corrupt protobuf at byte 1: field 1 has wire type 2$/,
  );
});

test("a message goes on behind an inner one", () => {
  const reader = new WireReader(
    message(field(1, message(field(4, "ü"), field(5, 6))), field(2, Buffer.from([1]))),
    "test",
  );
  assert.equal(reader.next(), true);
  const outer = reader.enter();
  assert.equal(reader.next(), true);
  assert.equal(reader.text(), "ü");
  assert.equal(reader.next(), true);
  assert.equal(reader.integer(), 6);
  assert.equal(reader.next(), false);
  reader.leave(outer);
  assert.equal(reader.next(), true);
  assert.deepEqual([reader.field, [...reader.bytes()]], [2, [1]]);
  assert.equal(reader.next(), false);
});
