import assert from "node:assert/strict";
import test from "node:test";
import { isKubeError } from "../../../src/kube/kube-client.ts";
import { readFrames, splitLines } from "../../../src/kube/watch/watch-stream.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

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
