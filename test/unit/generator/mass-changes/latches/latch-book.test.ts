import assert from "node:assert/strict";
import { test } from "node:test";
import { LatchBook } from "../../../../../src/generator/mass-changes/latches/latch-book.ts";
import { type Latches } from "../../../../../src/generator/mass-changes/latches/latches.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { type EpochMicros } from "../../../../../src/util/clock.ts";

const { signal } = new AbortController();

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
