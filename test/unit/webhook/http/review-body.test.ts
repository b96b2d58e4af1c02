import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { bodyBytesMax, ReviewBodies, type ReviewBody } from "../../../../src/webhook/http/review-body.ts";

const chunk = (megabytes: number): Buffer => Buffer.alloc(megabytes * 1024 * 1024, 0x20);
const lengthOf = (body: ReviewBody): number | string => (body.ok ? body.bytes.length : body.problem);

test("bodies of reviews are put together from their chunks", async () => {
  const body = await new ReviewBodies().read(Readable.from([Buffer.from("ab"), Buffer.from("c")]), undefined);
  assert.ok(body.ok);
  assert.equal(body.bytes.toString(), "abc");
});

test("bodies of reviews that say they are too large are refused unread", async () => {
  const source = Readable.from([chunk(1)]);
  assert.equal(lengthOf(await new ReviewBodies().read(source, String(bodyBytesMax + 1))), "tooLarge");
  assert.equal(source.readableDidRead, false);
});

test("bodies of reviews that turn out too large are refused, and no longer read", async () => {
  let produced = 0;
  const endless = new Readable({
    read() {
      produced += 1;
      this.push(chunk(1));
    },
  });
  assert.equal(lengthOf(await new ReviewBodies().read(endless, undefined)), "tooLarge");
  const before = produced;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(produced - before <= 1, "the buffer of the stream may fill once more");
  endless.destroy();
});

test("bodies of reviews that break off are reported, by an error and by a close alike", async () => {
  for (const error of [new Error("ECONNRESET"), undefined]) {
    const source = new Readable({ read() {} });
    source.push("{");
    const read = new ReviewBodies().read(source, undefined);
    source.destroy(error);
    assert.equal(lengthOf(await read), "broken");
  }
});

test("bodies of reviews are refused while others hold 256 MiB, and taken again once those are released", async () => {
  const bodies = new ReviewBodies();
  const large = async (): Promise<number | string> => lengthOf(await bodies.read(Readable.from([chunk(7)]), undefined));
  for (let held = 7; held <= 256; held += 7) assert.equal(await large(), 7 * 1024 * 1024);
  // Refused ones hold nothing, however many there are.
  for (let turn = 0; turn < 3; turn += 1) assert.equal(await large(), "full");
  bodies.release(7 * 1024 * 1024);
  assert.equal(await large(), 7 * 1024 * 1024);
  assert.equal(await large(), "full");
});
