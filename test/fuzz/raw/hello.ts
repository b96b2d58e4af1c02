/** The first bytes of TLS connections that are none: hellos that are damaged, and what is no hello at all. */
import { type Draws } from "../../support/draws.ts";
import { damaged, randomBytes } from "./damage.ts";

/** A ClientHello as Node 26 sent it, for webhook.ns.svc, with TLS 1.2 and 1.3, X25519, and three ciphers. */
const recordedHello = Buffer.from(
  [
    "FgMBANABAADMAwOYqdkLcvPB3X8ty7QiWzpcCkxtwtC1Gf3XplOYW7UWayBZjI2Ui4DSuB9KGVcUr+IFE2AhobGeVnNwTYsJc0dJJwAGEwETAsAr",
    "AQAAff8BAAEAAAAAEwARAAAOd2ViaG9vay5ucy5zdmMACwAEAwABAgAKAAYABAAdABcAIwAAABYAAAAXAAAADQAGAAQEAwgEACsABQQDBAMDAC0A",
    "AgEBADMAJgAkAB0AIJGJKHM7fGfIAU18vxQd+py0h3KS0BZrUYgnwO5qzXwI",
  ].join(""),
  "base64",
);

/** Content types of records, and one that does not exist. */
const contentTypes: readonly number[] = [20, 21, 22, 23, 24, 99];
const recordVersions: readonly number[] = [0x0300, 0x0301, 0x0303, 0x0304, 0x7f00, 0xffff];
const recordHeaderBytes = 5;

function record(type: number, version: number, length: number, content: Buffer): Buffer {
  const head = Buffer.alloc(recordHeaderBytes);
  head.writeUInt8(type, 0);
  head.writeUInt16BE(version, 1);
  head.writeUInt16BE(length, 3);
  return Buffer.concat([head, content]);
}

export function drawHello(draw: Draws): Buffer {
  const content = recordedHello.subarray(recordHeaderBytes);
  return draw.weighted<Buffer>([
    [5, () => damaged(draw, recordedHello)],
    [2, () => recordedHello.subarray(0, draw.below(recordedHello.length))],
    [1, () => Buffer.concat([recordedHello, recordedHello])],
    [1, () => Buffer.concat([recordedHello, randomBytes(draw, draw.whole(1, 500))])],
    [2, () => record(draw.pick(contentTypes), draw.pick(recordVersions), content.length, content)],
    [1, () => record(22, 0x0301, draw.below(0x10000), content)],
    [2, () => inManyRecords(draw, content)],
    [2, () => record(21, 0x0303, 2, Buffer.from([draw.whole(0, 3), draw.below(256)]))],
    [2, () => randomBytes(draw, draw.whole(1, 600))],
    [1, () => Buffer.alloc(draw.whole(1, 20_000), draw.below(256))],
    [1, () => Buffer.from("GET /readyz HTTP/1.1\r\nHost: webhook\r\n\r\n")],
    // SSLv2, which OpenSSL once spoke.
    [1, () => Buffer.concat([Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10]), randomBytes(draw, 37)])],
  ]);
}

function inManyRecords(draw: Draws, content: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length;) {
    const size = draw.whole(0, 40);
    const part = content.subarray(at, at + size);
    parts.push(record(22, 0x0301, part.length, part));
    at += size;
  }
  return Buffer.concat(parts);
}
