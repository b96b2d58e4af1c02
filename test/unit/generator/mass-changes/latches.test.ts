import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeLatches,
  encodeLatches,
  LatchBook,
  type Latches,
  LatchStore,
} from "../../../../src/generator/mass-changes/latches.ts";
import { after, noon } from "./samples.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createCore } from "../core-cluster.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

test("latches and approvals are read as they were written", () => {
  const latches = {
    latched: new Map([["core", noon]]),
    approvals: [{ cause: "*", at: noon, until: after(60), text: "{}" }],
  };
  assert.deepEqual(decodeLatches(encodeLatches(latches)), latches);
});

test("what is not understood is no latch and no approval", () => {
  const none = { latched: new Map(), approvals: [] };
  const odd = ['{"latched":[["x"],[5,"2026-01-01T00:00:00Z"],7],"approvals":[["x"],["x","a","b","c"],null]}'];
  for (const text of [undefined, "", "x", "[]", '{"latched":5}', ...odd]) assert.deepEqual(decodeLatches(text), none);
});

const { signal } = new AbortController();
const none = { latched: new Map(), approvals: [] };
const some = { latched: new Map([["core", noon]]), approvals: [] };

async function storeBench() {
  const { engine } = await createCore();
  const core = new EngineClient("core", engine);
  const logger = createRecordingLogger();
  const failures = createCountingMetrics().counter("failures", "", ["error"]);
  return { core, logger, store: new LatchStore({ core, namespace: "default", logger, failures }) };
}

test("latches are read as they were written, in a ConfigMap that is made when it is needed", async () => {
  const { store, core } = await storeBench();
  assert.ok(await store.write(none, signal));
  assert.deepEqual(core.writes, []);
  assert.ok(await store.write(some, signal));
  assert.ok(await store.write(some, signal));
  assert.equal(core.writes.length, 1);
  assert.deepEqual((await store.read(signal)).latches, some);
  assert.ok(await store.write(none, signal));
  assert.deepEqual((await store.read(signal)).latches, none);
  assert.equal(await store.annotation("x", signal), undefined);
});

test("whoever writes meanwhile wins, and the write is tried again", async () => {
  const { store, core } = await storeBench();
  await store.write(some, signal);
  core.onWrite = () => new KubeError("conflict", "changed");
  assert.equal(await store.write(none, signal), false);
});

test("what is forbidden is tried again, since that may last for a moment only, and said once", async () => {
  const { store, core, logger } = await storeBench();
  core.onRequest = () => new KubeError("forbidden", "no");
  await assert.rejects(store.read(signal), /no/);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.annotation("x", signal), undefined);
  assert.equal(logger.entries.length, 1);
  core.onRequest = () => undefined;
  assert.ok(await store.write(some, signal));
  assert.deepEqual((await store.read(signal)).latches, some);
});

test("without an answer reading fails, and writing is tried again", async () => {
  const { store, core } = await storeBench();
  core.onRequest = () => "before";
  await assert.rejects(store.read(signal), /refused/);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.annotation("x", signal), undefined);
});

function bench(left: Latches = { latched: new Map(), approvals: [] }) {
  const clock = createVirtualClock();
  const said: string[] = [];
  const written: Latches[] = [];
  const given: { text: string | undefined; isDown: boolean; readError: KubeError | undefined } = {
    text: undefined,
    isDown: false,
    readError: undefined,
  };
  const store = {
    async read() {
      if (given.readError !== undefined) throw given.readError;
      return { state: {}, latches: left };
    },
    annotation: async () => given.text,
    async write(latches: Latches) {
      written.push(latches);
      return !given.isDown;
    },
  };
  const announcements = {
    latched: (cause: string) => said.push(`+${cause}`),
    unlatched: (cause: string) => said.push(`-${cause}`),
    ignoredApproval: (text: string) => said.push(`?${text}`),
  };
  const book = new LatchBook({ store: store as never, announcements: announcements as never, clock });
  book.begin();
  const in60s = () => new Date(clock.epochMicros() / 1_000 + 60_000).toISOString();
  const approval = (cause: string) => JSON.stringify({ cause, until: in60s(), reason: "planned" });
  return { clock, said, written, given, book, approval };
}

test("a latched cause holds its changes, and all causes together hold any", () => {
  const { book, said } = bench();
  assert.equal(book.heldBy("a"), undefined);
  book.latch("a");
  book.latch("a");
  book.latch("core");
  assert.deepEqual([book.heldBy("a"), book.heldBy("b")], ["a", "core"]);
  assert.deepEqual(said, ["+a", "+core"]);
});

test("a latch that holds nothing ends, but not before its changes can have been seen", async () => {
  const { book, clock, said } = bench();
  await clock.advance(60_000);
  book.latch("a");
  book.latch("b");
  book.endWithout(new Set(["b"]));
  assert.equal(book.heldBy("a"), "a");
  await clock.advance(30_000);
  book.endWithout(new Set(["b"]));
  assert.deepEqual([book.heldBy("a"), book.heldBy("b")], [undefined, "b"]);
  assert.deepEqual(said, ["+a", "+b", "-a"]);
});

test("what has changed is written until that succeeds", async () => {
  const { book, clock, given, written } = bench();
  await book.round(signal);
  assert.equal(written.length, 0);
  book.latch("a");
  given.isDown = true;
  await book.round(signal);
  given.isDown = false;
  await book.round(signal);
  assert.equal(written.length, 2);
  await book.round(signal);
  assert.equal(written.length, 3, "what is latched may have been lost meanwhile");
  await clock.advance(30_000);
  book.endWithout(new Set());
  await book.round(signal);
  await book.round(signal);
  assert.equal(written.length, 4);
});

test("a new leader has the latches of the former one, and looks at approvals once it knows what is held", async () => {
  const { book, clock, given, approval } = bench({ latched: new Map([["a", 1 as EpochMicros]]), approvals: [] });
  await book.load(signal);
  assert.equal(book.heldBy("a"), "a");
  given.text = approval("a");
  assert.equal(await book.round(signal), undefined);
  await clock.advance(30_000);
  const found = await book.round(signal);
  assert.ok(found !== undefined);
  assert.equal(found.approval.cause, "a");
  assert.equal(await book.round(signal), undefined, "each text once");
  book.carriedOut(found);
  assert.equal(book.heldBy("a"), undefined);
});

test("an approval that was carried out covers what happened before it, until it ends", async () => {
  const { book, clock, given, approval, said } = bench();
  await clock.advance(30_000);
  book.latch("a");
  book.latch("b");
  const before = clock.epochMicros();
  given.text = approval("*");
  book.carriedOut((await book.round(signal))!);
  assert.equal(book.heldBy("b"), undefined);
  assert.ok(book.hasApproved("a", before));
  assert.ok(!book.hasApproved("a", (before + 1) as EpochMicros));
  await clock.advance(60_000);
  assert.ok(!book.hasApproved("a", before));
  given.text = "nonsense";
  await book.round(signal);
  assert.ok(said.includes("?nonsense"));
});

test("the approval of all causes together does not cover a cause that is latched itself", async () => {
  const { book, clock, given, approval } = bench();
  await clock.advance(30_000);
  book.latch("core");
  book.latch("a");
  given.text = approval("core");
  book.carriedOut((await book.round(signal))!);
  assert.ok(!book.hasApproved("a", clock.epochMicros()));
  assert.ok(book.hasApproved("b", clock.epochMicros()));
});

test("what is forbidden to read may be so for a moment only: for ten seconds nothing goes on without it", async () => {
  const { book, clock, given } = bench({ latched: new Map([["a", 1 as EpochMicros]]), approvals: [] });
  given.readError = new KubeError("forbidden", "no");
  await assert.rejects(book.load(signal), /no/);
  await clock.advance(9_000);
  await assert.rejects(book.load(signal), /no/);
  given.readError = undefined;
  assert.ok((await book.load(signal)) !== undefined);
  assert.equal(book.heldBy("a"), "a");
});

test("what is forbidden for ten seconds is waited for no longer, not written over, used once read", async () => {
  const text = "carried out before";
  const former = { cause: "b", at: 1 as EpochMicros, until: Number.MAX_SAFE_INTEGER as EpochMicros, text };
  const { book, clock, given, said, written } = bench({
    latched: new Map([["a", 1 as EpochMicros]]),
    approvals: [former],
  });
  given.readError = new KubeError("forbidden", "no");
  await assert.rejects(book.load(signal));
  await clock.advance(10_000);
  assert.equal(await book.load(signal), undefined);
  assert.ok(book.isUnread);
  book.latch("c");
  given.text = text;
  assert.equal(await book.round(signal), undefined);
  assert.equal(written.length, 0);
  given.readError = undefined;
  await book.load(signal);
  assert.ok(!book.isUnread);
  assert.deepEqual([book.heldBy("a"), book.heldBy("c")], ["a", "c"]);
  assert.ok(book.hasApproved("b", 1 as EpochMicros));
  await clock.advance(30_000);
  assert.equal(await book.round(signal), undefined);
  assert.deepEqual(
    written.map(({ latched }) => [...latched.keys()]),
    [["a", "c"]],
  );
  assert.deepEqual(said, ["+c"]);
});

test("an answer that cannot be read is waited for as long as it takes", async () => {
  const { book, clock, given } = bench();
  given.readError = new KubeError("malformed", "not the ConfigMap");
  await assert.rejects(book.load(signal));
  await clock.advance(600_000);
  await assert.rejects(book.load(signal), /not the ConfigMap/);
});
