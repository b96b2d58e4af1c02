/**
 * A watch that has lost its connection silently must not refuse for minutes what would be admitted; an admission needs
 * a write anyway.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

const full = () => protector({ cells: [cell("c1", 80)] });

/**
 * A replica that was told of a full budget; the aggregator has counted more pods since, but the watch does not deliver
 * it.
 */
function behind(silentMs: number) {
  const made = world([full()]);
  made.core.watches = false;
  made.core.update("ns/web", (status) => void (status.cells = [cell("c1", 90)]));
  made.replica.informers[0]!.silence = silentMs;
  const methods = () => made.core.requests.map(({ method }) => method);
  return { ...made, methods };
}

test("before a refusal by a possibly old state, the PodProtector is read live once and judged by that", async () => {
  const { replica, methods } = behind(5_001);
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  assert.deepEqual(methods(), ["GET", "PUT"]);
});

test("before a refusal by a possibly old state, a broken watch is noticed at once", async () => {
  const { replica, methods } = behind(0);
  replica.informers[0]!.error = "cannot watch podprotectors: connection refused";
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  assert.deepEqual(methods(), ["GET", "PUT"]);
});

test("before a refusal by a possibly old state, nothing is read while the watch delivers", async () => {
  const { replica, methods } = behind(5_000);
  assert.equal((await replica.review(deleteReview(pod("p")))).code, 429);
  assert.deepEqual(methods(), []);
});

test("before a refusal by a possibly old state, many reviews cost one GET, and more within a second none", async () => {
  const { clock, core, replica, methods } = behind(60_000);
  core.update("ns/web", (status) => void (status.cells = [cell("c1", 80)]));
  const answers = Array.from({ length: 200 }, (_, index) => replica.send(deleteReview(pod(`p${index}`))));
  const settled = await settle(clock, Promise.all(answers));
  assert.ok(settled.every(({ code }) => code === 429));
  assert.equal((await replica.review(deleteReview(pod("q")))).code, 429);
  assert.deepEqual(methods(), ["GET"]);
  await clock.advance(1_000);
  assert.equal((await replica.review(deleteReview(pod("q")))).code, 429);
  assert.deepEqual(methods(), ["GET", "GET"]);
});

test("before a refusal by a possibly old state, a core that hangs delays the refusal by a second at most", async () => {
  const { core, replica } = behind(60_000);
  core.script = ({ timeoutMs }) => {
    assert.equal(timeoutMs, 1_000);
    core.latencyMs = timeoutMs;
    return { refuse: "timeout" };
  };
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.code, 429);
  assert.match(answer.message, /too few available replicas/);
  assert.ok(answer.elapsedMs >= 1_000 && answer.elapsedMs < 1_010, `${answer.elapsedMs}`);
});

test("before a refusal by a possibly old state, a dry run reads nothing", async () => {
  const { replica, methods } = behind(60_000);
  assert.equal((await replica.review(deleteReview(pod("p"), { dryRun: true }))).code, 429);
  assert.deepEqual(methods(), []);
});
