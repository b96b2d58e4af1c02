import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { appThatNotes, bindingsOf } from "../support/noting-app.ts";
import { world, settle } from "../support/replica.ts";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const small = () => world([protector({ cells: [cell("c1", 100)] })]).replica;

test("the webhook never quotes a body that it cannot read", async () => {
  for (const body of ["<script>", '{"kind":<script>}', '{"request":{"uid":"<script>"']) {
    const answer = await small().review(body);
    assert.equal(answer.http, 400, body);
    assert.doesNotMatch(answer.message, /script/);
  }
});

test("a small review is answered while large ones wait for their turn", async () => {
  const { clock, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  const large = JSON.stringify(deleteReview(pod("p"), { options: { big: "x".repeat(300_000) } }));
  const waiting = Array.from({ length: 20 }, () => replica.send(large));
  const answer = await replica.send(deleteReview(pod("q", { labels: { app: "other" } })));
  assert.equal(answer.allowed, true);
  await clock.advance(1_000);
  for (const one of await Promise.all(waiting)) assert.equal(one.http, 200);
});

test("large reviews beyond those that may wait get a 429 that the API server can quote", async () => {
  const { clock, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  const large = JSON.stringify(deleteReview(pod("p"), { options: { big: "x".repeat(6 * 1024 * 1024) } }));
  const waiting = Array.from({ length: 8 }, () => replica.send(large));
  // Until all of them have been read.
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(1_000);
  const codes = (await Promise.all(waiting)).map(({ http, body }) => [http, body["kind"]].join(" "));
  assert.deepEqual([...new Set(codes)].sort(), ["200 AdmissionReview", "429 Status"]);
});

test("reviews of one address that hold too much while they are decided get a 429, until one of them ends", async () => {
  const { fetch, hold, contexts, clock } = appThatNotes();
  const labels = { app: "x".repeat(2_500_000) };
  const large = deleteReview(pod("p", { labels }));
  const post = async (): Promise<number> => {
    const answered = fetch(new Request("http://x/c1", { method: "POST" }), bindingsOf("POST", "/c1", large));
    while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
    return (await answered).status;
  };
  const release = hold();
  // 5 MB each, of 32.
  const held = [];
  for (let count = 1; count <= 6; count += 1) {
    held.push(post());
    while (contexts.length < count) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await post(), 429);
  release();
  assert.deepEqual(await Promise.all(held), Array(6).fill(200));
  assert.equal(await post(), 200);
});

test("reviews that cannot be decided fill neither the log nor a line of it", async () => {
  const { clock, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  const broken = deleteReview({}, { uid: "u".repeat(1_000) });
  const lines = () => replica.log.lines.filter(({ message }) => message === "HTTP error");
  for (let count = 0; count < 120; count += 1) assert.equal((await replica.send(broken)).http, 500);
  assert.equal(lines().length, 100);
  assert.equal(String(lines()[0]?.fields["requestUid"]).length, 128);
  await clock.advance(1_000);
  await replica.send(broken);
  assert.equal(lines().length, 101);
});

// What a review holds while it waits for the core: not the pod as it came, which takes ten times its bytes when it
// consists of small objects.

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heldMegabytes(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

test("a review that waits does not hold its pod as it came", { timeout: 60_000 }, async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  core.latencyMs = 1_000_000;
  const reviews = 10;
  const large = (name: string): string => {
    const text = JSON.stringify(deleteReview(pod(name)));
    return text.replace('"status":{', `"spec":[${"{},".repeat(250_000)}{}],"status":{`);
  };
  const before = heldMegabytes();
  const waiting = Array.from({ length: reviews }, (_, index) => replica.send(large(`p${index}`)));
  await clock.advance(100);
  // 750 kB each, and as many again in the Request of this test; parsed as they came 14 MB.
  const perReview = (heldMegabytes() - before) / reviews;
  assert.ok(perReview < 5, `${perReview} MB`);
  await settle(clock, Promise.all(waiting));
});
