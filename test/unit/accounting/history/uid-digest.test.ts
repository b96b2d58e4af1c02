import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests, unpackDigests } from "../../../../src/accounting/history/uid-digest.ts";

test("a digest is the first 64 bits of the SHA-256", () => {
  assert.equal(digestOfUID("abc"), "ba7816bf8f01cfea");
});

test("packing and unpacking are inverse", () => {
  for (const count of [1, 2, 3, 2000]) {
    const digests = Array.from({ length: count }, (_, index) => digestOfUID(String(index)));
    const text = packDigests(digests);
    assert.ok(text.length <= Math.ceil((count * 8) / 3) * 4);
    const packed = unpackDigests(text);
    assert.equal(packed?.size, count);
    assert.deepEqual(packed?.list(), digests);
    assert.ok(digests.every((digest) => packed?.has(digest)));
    assert.equal(packed?.has(digestOfUID("other")), false);
  }
});

test("bytes across the border of two digests are no digest", () => {
  const packed = unpackDigests(packDigests(["0011223344556677", "8899aabbccddeeff", "2233445566778899"]));
  assert.equal(packed?.has("2233445566778899"), true);
  assert.equal(unpackDigests(packDigests(["0011223344556677", "8899aabbccddeeff"]))?.has("2233445566778899"), false);
});

test("what is not base64 of whole digests is nothing", () => {
  for (const text of [
    "",
    "=",
    "AAAA",
    "not base64!",
    packDigests([digestOfUID("x")]).slice(0, -1),
    `${packDigests([digestOfUID("x")])}\n`,
  ]) {
    assert.equal(unpackDigests(text), undefined, JSON.stringify(text));
  }
});
