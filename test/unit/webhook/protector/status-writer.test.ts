/**
 * One compare-and-swap per batch, and what happens when it does not go through (docs/webhook.md#batching). What becomes
 * of some reviews is in told/status-writer.txt.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import { type Fault } from "../support/fake-core.ts";
import { cell, deleteReview, type Json, pod, type PodParts, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";
import { type Happening, roomy, tellsAll } from "../support/told.ts";

const deleted = (name = "p", parts: PodParts = {}) => deleteReview(pod(name, parts));
const unwatched: Happening = ({ core }) => void (core.watches = false);
/** The core refuses the first so many writes. */
const refusing =
  (count: number, refusal: Fault): Happening =>
  ({ core }) => {
    let refusals = count;
    core.script = ({ method }) => (method === "PUT" && refusals-- > 0 ? refusal : "none");
  };
const ofSize = (name: string, bytes: number): Json =>
  protector({
    name,
    selector: { matchLabels: { app: name } },
    cells: [cell("c1", 100)],
    annotations: { text: "x".repeat(bytes) },
  });
const forbidden: Fault = { refuse: "forbidden", code: 403 };

tellsAll(new URL("told/status-writer.txt", import.meta.url), {
  "status writes keep a repeated review of an admitted pod free of new quota": {
    of: [protector({ cells: [cell("c1", 81)] })],
    do: [deleted(), deleted("p", { resourceVersion: "501" }), deleted("q")],
  },
  "status writes take the own last write as base while the watch lags, so that they have no conflicts": {
    of: [roomy()],
    do: [unwatched, ...Array.from({ length: 5 }, (_, index) => deleted(`p${index}`))],
  },
  "status writes refuse what the state after a conflict no longer allows": {
    of: [roomy()],
    do: [unwatched, ({ core }) => core.update("ns/web", (status) => void (status.cells = [cell("c1", 80)])), deleted()],
  },
  "status writes survive a storm of conflicts until the deadline and then refuse": {
    of: [roomy()],
    do: [
      unwatched,
      refusing(Infinity, { refuse: "conflict", code: 409 }),
      ({ replica }) => replica.review(deleted(), { query: "?timeout=5s" }),
      ({ core }) => assert.ok(core.requests.length < 100, `${core.requests.length} requests`),
    ],
  },
  "status writes never assume that a write with a lost answer went through: read live and judge again": (
    ["network", "timeout", "serverError"] as const
  )
    .flatMap((kind): Fault[] => [{ loseAnswer: kind }, { refuse: kind }])
    .map((fault) => ({ of: [roomy()], do: [unwatched, refusing(1, fault), deleted()] })),
  "status writes answer a 404 with a refusal that can be repeated": {
    of: [roomy()],
    do: [
      ({ core }) => {
        core.watches = false;
        core.remove("ns/web");
      },
      deleted(),
      async ({ core, clock }) => {
        core.deliver();
        await clock.advance(20);
      },
      deleted(),
    ],
  },
  "status writes retry what the core answers with 429, not before it asked for": {
    of: [roomy()],
    do: [refusing(1, { refuse: "tooManyRequests", code: 429, retryAfterMs: 3_000 }), deleted()],
  },
  // Twice a second for the 10 MB, which take 5 s; the backoff is over by then.
  "status writes pay the pace only for what may be stored: a lost race does not delay an idle object": {
    of: [ofSize("web", 20_000), ofSize("large", 10_000_000)],
    do: [
      deleted("l", { labels: { app: "large" } }),
      unwatched,
      ({ core }) => core.update("ns/web", (status) => void status.cells.push(cell("c2", 0))),
      deleted(),
    ],
  },
  "a live object that is invalid refuses its pods and says so": {
    of: [roomy()],
    do: [unwatched, ({ core }) => core.put({ ...roomy(), spec: { minAvailable: "many" } }), deleted()],
  },
  "status writes that the core refuses are tried once more on the object as it is, and then given up": {
    of: [roomy()],
    do: [refusing(1, forbidden), deleted(), refusing(Infinity, forbidden), deleted("q")],
  },
});

test("status writes record a burst of deletions with two writes: the first alone, the others together", async () => {
  const { clock, core, replica } = world([roomy()]);
  const answers = Array.from({ length: 20 }, (_, index) => replica.send(deleteReview(pod(`p${index}`))));
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 20);
  assert.equal(core.buckets("ns/web").length, 20);
  assert.ok(core.writes <= 2, `${core.writes} writes`);
});

test("status writes never admit more than the floor allows within one batch", async () => {
  const { clock, core, replica } = world([roomy()]);
  const answers = Array.from({ length: 50 }, (_, index) => replica.send(deleteReview(pod(`p${index}`))));
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 20);
  assert.equal(core.buckets("ns/web").length, 20);
});

test("status writes give the same UID twice in a batch one bucket, with the higher version", async () => {
  const { clock, core, replica } = world([roomy()]);
  const blocker = replica.send(deleteReview(pod("blocker")));
  await drainMicrotasks();
  const answers = ["500", "501"].map((resourceVersion) => replica.send(deleteReview(pod("p", { resourceVersion }))));
  await settle(clock, Promise.all([blocker, ...answers]));
  const buckets = core.buckets("ns/web").filter((bucket) => bucket["podUID"] === "uid-p");
  assert.equal(buckets.length, 1);
  assert.equal(buckets[0]?.["podResourceVersion"], "501");
});

test("status writes let the newest win when quota is short: the oldest are closest to their timeout", async () => {
  const { clock, replica } = world([protector({ cells: [cell("c1", 82)] })]);
  const blocker = replica.send(deleteReview(pod("blocker")));
  await clock.advance(1);
  const older = replica.send(deleteReview(pod("older")));
  await clock.advance(1);
  const newer = replica.send(deleteReview(pod("newer")));
  const answers = await settle(clock, Promise.all([blocker, older, newer]));
  assert.deepEqual(
    answers.map(({ allowed }) => allowed),
    [true, false, true],
  );
});

test("status writes read the object live when the watch does not deliver a conflict, then judge again", async () => {
  const { core, replica } = world([roomy()]);
  core.watches = false;
  core.update("ns/web", (status) => void status.cells.push(cell("c2", 0)));
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.deepEqual(
    core.requests.map(({ method }) => method),
    ["PUT", "GET", "PUT"],
  );
  // A PUT takes 5 ms until it fails, the watch has 10 ms to show why, then GET and PUT take 10 ms each.
  assert.ok(answer.elapsedMs >= 35 && answer.elapsedMs <= 38, `${answer.elapsedMs}`);
});

test("status writes write on top of what the watch delivers after a conflict, without reading it", async () => {
  const { core, clock, replica } = world([roomy()]);
  await replica.review(deleteReview(pod("p1")));
  // Others have had their time after the first write.
  await clock.advance(10);
  core.watches = false;
  core.update("ns/web", (status) => void status.cells.push(cell("c2", 0)));
  // The conflict is known after 5 ms; the time of a write, 10 ms, is what it waits for the watch.
  clock.setTimer(12, () => core.deliver());
  const answer = await replica.review(deleteReview(pod("p2")));
  assert.equal(answer.allowed, true);
  assert.ok(answer.elapsedMs >= 22 && answer.elapsedMs <= 24, `${answer.elapsedMs}`);
  assert.deepEqual(
    core.requests.map(({ method }) => method),
    ["PUT", "PUT", "PUT"],
  );
});

test("status writes wait longer from conflict to conflict, up to the backoff of the flags", async () => {
  const { core, clock, replica } = world([roomy()]);
  const sentMs: number[] = [];
  core.script = ({ method }) => {
    if (method !== "PUT") return "none";
    sentMs.push(clock.monotonicMs());
    return sentMs.length <= 8 ? { refuse: "conflict", code: 409 } : "none";
  };
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  const waits = sentMs.slice(1).map((ms, index) => ms - (sentMs[index] ?? 0));
  for (const [index, ms] of waits.entries()) {
    // As soon as the watch had 10 ms three times, then from 100 to 200 ms, halved three times at first; besides, two
    // requests.
    const share = index < 3 ? 0 : 1 / 2 ** Math.max(0, 6 - index);
    assert.ok(ms >= 100 * share && ms <= 200 * share + 31, `wait ${index + 1}: ${ms} ms`);
  }
});

test("status writes leave a PodProtector out that was released while the review waited", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 81)] })]);
  const answers = ["p", "q"].map((name) => replica.send(deleteReview(pod(name))));
  await clock.advance(1);
  core.put(protector({ cells: [cell("c1", 81)], annotations: { "podseidon.kubewharf.io/released": "" } }));
  const settled = await settle(clock, Promise.all(answers));
  assert.deepEqual(
    settled.map(({ allowed }) => allowed),
    [true, true],
  );
  assert.equal(core.writes, 0);
});

test("status writes write nothing when nothing is to be recorded", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 81)] })]);
  const answers = ["a", "b", "c"].map((name) => replica.send(deleteReview(pod(name))));
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 1);
  assert.equal(core.writes, 1);
});

test("status writes keep fields of the object and the status that this version does not know", async () => {
  const object = roomy();
  (object["status"] as Json)["future"] = { kept: true };
  const { core, replica } = world([object]);
  await replica.review(deleteReview(pod("p")));
  assert.deepEqual((core.object("ns/web")["status"] as Json)["future"], { kept: true });
});

test("status writes recompute the summary", async () => {
  const { core, replica } = world([roomy()]);
  await replica.review(deleteReview(pod("p")));
  const summary = (core.object("ns/web")["status"] as Json)["summary"] as Json;
  assert.equal(summary["aggregatedAvailableReplicas"], 100);
  assert.equal(summary["estimatedAvailableReplicas"], 99);
});

test("a status write notices a CRD that drops extension fields: metric each time, one log line", async () => {
  const { core, replica } = world([roomy()]);
  core.prunes = true;
  for (const name of ["p", "q"]) assert.equal((await replica.review(deleteReview(pod(name)))).allowed, true);
  assert.equal(replica.metrics.count('extension_fields_pruned_total{role="webhook",core="core"}'), 2);
  assert.equal(replica.log.lines.filter(({ message }) => message.includes("drops extension fields")).length, 1);
});

test("status writes do not complain about pruning when the core keeps the fields", async () => {
  const { replica } = world([roomy()]);
  await replica.review(deleteReview(pod("p")));
  assert.equal(replica.metrics.count("extension_fields_pruned_total"), 0);
});

test("status writes with an answer that nobody can read, or without one, are tried again on a live read", async () => {
  for (const refuse of ["malformed", "aborted"] as const) {
    const { core, replica } = world([roomy()]);
    let failures = 1;
    core.script = ({ method }) => (method === "PUT" && failures-- > 0 ? { refuse } : "none");
    assert.equal((await replica.review(deleted())).allowed, true);
    assert.deepEqual(
      core.requests.map(({ method }) => method),
      ["PUT", "GET", "PUT"],
    );
  }
});

test("a refusal by a state that may be old holds when the core no longer has the object", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 80)] })]);
  core.watches = false;
  core.remove("ns/web");
  replica.informers[0]!.silence = 60_000;
  const { allowed, message } = await replica.review(deleted());
  assert.equal(allowed, false);
  assert.match(message, /too few/);
  assert.deepEqual(
    core.requests.map(({ method }) => method),
    ["GET"],
  );
});
