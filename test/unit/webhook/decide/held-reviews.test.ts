import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { type FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";
import { fullWorld, heldOf, ownedReview, sent, settled, timeOf } from "../support/held.ts";

test("a review that promised deletions stand in the way of is held, and admitted when they have settled", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  assert.equal(state.done, undefined);
  // It takes the quota of nobody, and nobody asks the core meanwhile.
  assert.equal(core.requests.length, 1);
  settled(core, 81);
  const { allowed, elapsedMs } = await settle(clock, answer);
  assert.equal(allowed, true);
  assert.ok(elapsedMs < 120, `${elapsedMs}`);
  assert.deepEqual(
    core.buckets("ns/web").map((bucket) => bucket["podUID"]),
    ["uid-p"],
  );
  assert.equal(heldOf(replica, "promised", "admitted"), 1);
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="AdmittedAll"'), 2);
  assert.equal(clock.pendingTimers, 0);
});

test("a held review is refused after a second, by what is true then", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(500);
  core.update("ns/web", ({ cells }) => {
    cells.push(cell("c2", 0));
  });
  await clock.advance(499);
  assert.equal(state.done, undefined);
  const { allowed, code, message, elapsedMs } = await settle(clock, answer);
  assert.deepEqual({ allowed, code, elapsedMs }, { allowed: false, code: 429, elapsedMs: 1_000 });
  assert.match(message, /Must stay 80, available 81, promised 1, free 0; by cell: "c1" 81 - 1, "c2" 0/);
  assert.equal(heldOf(replica, "promised", "refused"), 1);
  assert.equal(core.buckets("ns/web").length, 1);
  assert.equal(clock.pendingTimers, 0);
});

test("a review is held for half of the time that its caller has left, so that the record can be written", async () => {
  for (const [query, heldMs] of [
    ["?timeout=1s", 250],
    ["?timeout=2s", 500],
    ["?timeout=30s", 1_000],
  ] as const) {
    const made = await fullWorld();
    assert.deepEqual(await timeOf(made, ownedReview("p"), { query }), { allowed: false, elapsedMs: heldMs });
  }
});

test("a review is held for as long as the flag says, and for no time with 0", async () => {
  for (const refusalHoldMs of [0, 300]) {
    const made = await fullWorld({ refusalHoldMs });
    assert.deepEqual(await timeOf(made, ownedReview("p")), { allowed: false, elapsedMs: refusalHoldMs });
    assert.equal(made.replica.metrics.count("webhook_held_review"), refusalHoldMs > 0 ? 1 : 0);
  }
});

test("a review is also held while maxConcurrentLag stands in its way", async () => {
  const { clock, core, replica } = world([
    protector({ cells: [cell("c1", 100)], admissionHistoryConfig: { maxConcurrentLag: 1 } }),
  ]);
  await replica.review(deleteReview(pod("first")));
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(50);
  assert.equal(state.done, undefined);
  settled(core, 99);
  assert.equal((await settle(clock, answer)).allowed, true);
});

test("what no settlement can change is refused at once", async () => {
  const cases: readonly (readonly [string, readonly Json[]])[] = [
    ["too few replicas", [protector({ cells: [cell("c1", 80)] })]],
    ["an invalid PodProtector", [protector({ selector: { matchExpressions: [{ key: "app", operator: "Near" }] } })]],
    ["no counts", [protector()]],
    ["one of two", [protector({ cells: [cell("c1", 80)] }), protector({ name: "zone", cells: [cell("c1", 81)] })]],
  ];
  for (const [what, objects] of cases) {
    const made = world(objects);
    assert.deepEqual(await timeOf(made, ownedReview("p")), { allowed: false, elapsedMs: 0 }, what);
  }
});

test("a review under several PodProtectors is held once, and admitted when all have room", async () => {
  const zone = protector({ name: "zone", minAvailable: 10, cells: [cell("c1", 11)] });
  const { clock, core, replica } = await fullWorld({}, [zone]);
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  settled(core, 81);
  await clock.advance(100);
  assert.equal(state.done, undefined);
  assert.equal(core.buckets("ns/web").length, 0);
  settled(core, 11, "zone");
  assert.equal((await settle(clock, answer)).allowed, true);
  for (const name of ["web", "zone"]) assert.equal(core.buckets(`ns/${name}`).length, 1, name);
  assert.equal(heldOf(replica, "promised", "admitted"), 1);
});

test("a held review is answered at once when its PodProtector lets go of the pod, or turns invalid", async () => {
  const released = {
    metadata: { namespace: "ns", name: "web", uid: "uid-of-web", annotations: { [annotations.released]: "" } },
  };
  for (const [change, allowed] of [
    [released, true],
    [{ spec: { minAvailable: 80, minReadySeconds: 0, selector: { matchLabels: { app: "other" } } } }, true],
    [{ spec: { minAvailable: 80, minReadySeconds: 0, selector: { matchLabels: 7 } } }, false],
    [{ spec: { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } } }, true],
  ] as const) {
    const { clock, core, replica } = await fullWorld();
    const { answer } = sent(replica, ownedReview("p"));
    await clock.advance(100);
    core.put({ ...core.object("ns/web"), ...change });
    const { elapsedMs, ...answered } = await settle(clock, answer);
    assert.equal(answered.allowed, allowed, JSON.stringify(change));
    assert.ok(elapsedMs < 150, `${elapsedMs}`);
  }
});

test("a held review is answered at once when its PodProtector vanishes, is made again, or is dropped", async () => {
  const web = protector({ cells: [cell("c1", 90)] });
  const metadata = web["metadata"] as Json;
  for (const [object, allowed, text] of [
    [undefined, false, /is gone from the core cluster/],
    [{ ...web, metadata: { ...metadata, uid: "another" } }, false, /was made again a moment ago/],
    [{ ...web, metadata: { ...metadata, annotations: { [annotations.released]: "" } }, spec: {} }, true, /^$/],
  ] as const) {
    const { clock, core, replica } = await fullWorld();
    const { answer } = sent(replica, ownedReview("p"));
    await clock.advance(100);
    if (object === undefined) core.remove("ns/web");
    else core.put(object);
    const { elapsedMs, ...answered } = await settle(clock, answer);
    assert.equal(answered.allowed, allowed, answered.message);
    assert.match(answered.message, text);
    assert.ok(elapsedMs < 150, `${elapsedMs}`);
  }
});

test("a held review is judged by a PodProtector that has come to count the pod meanwhile", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  core.put(protector({ name: "zone", minAvailable: 10, cells: [cell("c1", 10)] }));
  settled(core, 81);
  const { allowed, message } = await settle(clock, answer);
  assert.equal(allowed, false);
  assert.match(message, /core\/ns\/zone reports too few/);
  assert.equal(core.buckets("ns/web").length, 0);
});

test("a change that comes while a review is judged wakes it as well", async () => {
  const { clock, core, replica } = await fullWorld();
  core.latencyMs = 50;
  settled(core, 81);
  // Both are judged in one batch; the newer one wins.
  const loser = sent(replica, ownedReview("p"));
  const winner = sent(replica, ownedReview("q"));
  await clock.advance(10);
  core.watches = false;
  await clock.advance(60);
  // The watch shows the record and its settlement before the answer of the write comes.
  settled(core, 81);
  core.deliver();
  core.watches = true;
  await clock.advance(400);
  assert.equal(winner.state.done?.allowed, true);
  assert.equal(loser.state.done?.allowed, true);
});

test("a review of a silent cell is not held", async () => {
  const cells = {
    stateOf: () => ({ kind: "silent", since: 0 }) as never,
    lateForMs: () => undefined,
    unwrittenForMs: () => undefined,
    isForgotten: () => false,
    countedByOther() {},
  };
  const made = world([protector({ cells: [cell("c1", 81)] })], { cells });
  assert.deepEqual(await timeOf(made, ownedReview("p")), { allowed: false, elapsedMs: 0 });
});

test("a caller that leaves is held no longer, and takes no quota", async () => {
  const { clock, core, replica } = await fullWorld();
  const gone = new AbortController();
  const leaver = sent(replica, ownedReview("p"), { signal: gone.signal });
  await clock.advance(100);
  gone.abort();
  await clock.advance(0);
  assert.equal(leaver.state.done?.allowed, false);
  assert.equal(heldOf(replica, "promised", "gone"), 1);
  assert.equal(clock.pendingTimers, 0);
  settled(core, 81);
  await clock.advance(100);
  assert.deepEqual(core.buckets("ns/web"), []);
});

test("when the replica drains, those that are held are refused at once, and nobody is held any more", async () => {
  const { clock, replica } = await fullWorld();
  const held = sent(replica, ownedReview("p"));
  await clock.advance(100);
  await replica.webhook.drain();
  await clock.advance(0);
  assert.equal(held.state.done?.allowed, false);
  assert.match(held.state.done?.message ?? "", /promised 1, free 0/);
  const late = await replica.review(ownedReview("q"));
  assert.deepEqual([late.allowed, late.elapsedMs], [false, 0]);
  assert.equal(clock.pendingTimers, 0);
});

/** All must stay, by the word of a Deployment. */
function generated(minAvailable: number, parts: Json = {}): Json {
  const made = protector({ minAvailable, cells: [cell("c1", minAvailable)] });
  const metadata = {
    ...(made["metadata"] as Json),
    finalizers: [finalizer],
    labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
  };
  return { ...made, metadata, ...parts };
}

function lower(core: FakeCore, minAvailable: number): void {
  const found = core.object("ns/web");
  core.put({ ...found, spec: { ...(found["spec"] as Json), minAvailable } });
}

test("a deletion at a generated floor is held for as long as it takes until a deep fall of it is judged", async () => {
  const { clock, core, replica } = world([generated(80)]);
  const { answer } = sent(replica, ownedReview("p"));
  await clock.advance(2_100);
  lower(core, 30);
  const { allowed, elapsedMs } = await settle(clock, answer);
  assert.equal(allowed, true);
  assert.ok(elapsedMs < 2_120, `${elapsedMs}`);
  assert.equal(heldOf(replica, "floor", "admitted"), 1);
});

test("where a floor does not fall, a deletion is held for 250 ms only, for a minute", async () => {
  const { clock, core, replica } = world([generated(80)]);
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(2_249);
  assert.equal(state.done, undefined);
  const late = await settle(clock, answer);
  assert.deepEqual([late.allowed, late.elapsedMs], [false, 2_250]);
  assert.match(late.message, /too few available replicas/);
  assert.equal(heldOf(replica, "floor", "refused"), 1);

  for (let waited = 0; waited < 60_000; waited += 20_000) {
    const again = await settle(clock, sent(replica, ownedReview("p")).answer);
    assert.deepEqual([again.allowed, again.elapsedMs], [false, 250]);
    await clock.advance(20_000);
  }
  assert.equal((await settle(clock, sent(replica, ownedReview("p")).answer)).elapsedMs, 2_250);

  const scaled = sent(replica, ownedReview("q"));
  await clock.advance(50);
  lower(core, 40);
  const { allowed, elapsedMs } = await settle(clock, scaled.answer);
  assert.equal(allowed, true);
  assert.ok(elapsedMs < 70, `${elapsedMs}`);
});

test("with a short --webhook-refusal-hold the second deletion at a floor waits no longer than that", async () => {
  const { clock, replica } = world([generated(80)], { refusalHoldMs: 100 });
  assert.equal((await settle(clock, sent(replica, ownedReview("p")).answer)).elapsedMs, 2_250);
  assert.equal((await settle(clock, sent(replica, ownedReview("p")).answer)).elapsedMs, 100);
});

test("a review at a generated floor that comes to wait for promised deletions is held as for these", async () => {
  const { clock, core, replica } = world([generated(80)]);
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  // One more is there, and another webhook has promised it.
  core.update("ns/web", ({ cells }) => {
    const bucket = { podUID: "uid-x", startTime: "2026-01-01T00:00:00.000000Z", podResourceVersion: "5" };
    cells[0] = cell("c1", 81, {}, [bucket]);
  });
  await clock.advance(300);
  assert.equal(state.done, undefined);
  settled(core, 81);
  const { allowed, elapsedMs } = await settle(clock, answer);
  assert.equal(allowed, true);
  assert.ok(elapsedMs < 420, `${elapsedMs}`);
});

test("at the floor, nobody is held where promised deletions or a vanished owner stand in the way", async () => {
  const promised = world([generated(80)]);
  promised.core.update("ns/web", ({ cells }) => {
    const bucket = { podUID: "uid-x", startTime: "2026-01-01T00:00:00.000000Z", podResourceVersion: "5" };
    cells[0] = cell("c1", 80, {}, [bucket]);
  });
  assert.equal((await timeOf(promised, ownedReview("p"))).elapsedMs, 0);
  const dangling = generated(80, {
    status: {
      cells: [cell("c1", 80)],
      summary: { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 },
      conditions: [
        {
          type: "Dangling",
          status: "True",
          reason: "SourceVanished",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
  });
  assert.equal((await timeOf(world([dangling]), ownedReview("p"))).elapsedMs, 0);
});
