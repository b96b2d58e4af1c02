/** What a held review ends by when nothing wakes it, and what is never held because waiting does not help. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, type MonotonicMs } from "../../../../src/util/clock.ts";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { refusedForNow } from "../../../../src/webhook/decide/decision.ts";
import { type Holdable, HeldReviews, type Judgement } from "../../../../src/webhook/decide/held-reviews.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { cell, deleteReview, pod, protector, type Json } from "../support/objects.ts";
import { settle, world, createReplica } from "../support/replica.ts";
import { fullWorld, heldOf, ownedReview, sent, settled, timeOf } from "../support/held.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { FakeCore } from "../support/fake-core.ts";

test("while the watch is away nothing wakes a held review, and it ends when its time is up", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  core.watches = false;
  settled(core, 81);
  await clock.advance(899);
  assert.equal(state.done, undefined);
  const { allowed, elapsedMs } = await settle(clock, answer);
  assert.deepEqual([allowed, elapsedMs], [false, 1_000]);
  assert.equal(clock.pendingTimers, 0);
});

test("a review that is held on a silent watch is judged by a live read when its time is up", async () => {
  const { clock, core, replica } = await fullWorld();
  core.watches = false;
  replica.informers[0]!.silence = 6_000;
  const { answer } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  settled(core, 81);
  const { allowed, elapsedMs } = await settle(clock, answer);
  assert.equal(allowed, true);
  assert.ok(elapsedMs >= 1_000 && elapsedMs < 1_100, `${elapsedMs}`);
  assert.equal(heldOf(replica, "promised", "admitted"), 1);
});

test("a review is held for promised deletions while another PodProtector that would refuse is in doubt", async () => {
  const zone = protector({ name: "zone", minAvailable: 10, cells: [cell("c1", 12)] });
  for (const isSettled of [false, true]) {
    const { clock, core, replica } = await fullWorld({}, [zone]);
    const before = core.object("ns/zone");
    settled(core, 10, "zone");
    // A watch that goes back: the PodProtector is to be read live before it is judged by.
    replica.informers[0]!.show("ns/zone", before);
    core.requests.length = 0;
    const judgements = replica.metrics.count("webhook_handle_pod_in_ppr");
    const { answer, state } = sent(replica, ownedReview("p"));
    await clock.advance(500);
    assert.equal(state.done, undefined);
    assert.deepEqual(core.requests, []);
    // A judgement is counted for each of the two.
    assert.equal(replica.metrics.count("webhook_handle_pod_in_ppr") - judgements, 2);
    if (isSettled) settled(core, 81);
    const { allowed, message, elapsedMs } = await settle(clock, answer);
    assert.equal(allowed, false);
    assert.match(
      message,
      isSettled ? /core\/ns\/zone reports too few/ : /core\/ns\/web has promised all pods that may go/,
    );
    if (isSettled) assert.ok(elapsedMs < 550, `${elapsedMs}`);
    else assert.equal(elapsedMs, 1_000);
  }
});

test("the wall clock, in whichever direction it is set, changes nothing about how long a review is held", async () => {
  for (const jumpMs of [3_600_000, -3_600_000]) {
    const made = await fullWorld();
    const { answer } = sent(made.replica, ownedReview("p"));
    await made.clock.advance(500);
    made.clock.jumpWallClock(jumpMs);
    const { allowed, elapsedMs } = await settle(made.clock, answer);
    assert.deepEqual([allowed, elapsedMs], [false, 1_000]);
  }
});

test("a held review that too many PodProtectors come to count is refused as soon as it would go", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  for (let index = 0; index < 50; index += 1) core.put(protector({ name: `p-${index}`, cells: [cell("c1", 100)] }));
  const writes = core.writes;
  settled(core, 81);
  const { allowed, code, message, elapsedMs } = await settle(clock, answer);
  assert.deepEqual([allowed, code], [false, 503]);
  assert.match(message, /more than 50 PodProtectors/);
  assert.ok(elapsedMs < 150, `${elapsedMs}`);
  assert.equal(core.writes, writes);
});

test("a pod that too many PodProtectors count, or without a cell, is refused at once", async () => {
  const crowd = Array.from({ length: 50 }, (_, index) => protector({ name: `p-${index}`, cells: [cell("c1", 81)] }));
  assert.deepEqual(await timeOf(await fullWorld({}, crowd.slice(1)), ownedReview("p")), {
    allowed: false,
    elapsedMs: 1_000,
  });
  const crowded = world([...crowd, protector({ cells: [cell("c1", 81)] })]);
  assert.deepEqual(await timeOf(crowded, ownedReview("p")), { allowed: false, elapsedMs: 0 });

  const byLabel = { cellLabel: "cell", allowedCells: new Set(["c1"]) };
  const made = world([protector({ cells: [cell("c1", 81)] })], byLabel);
  const labelled = deleteReview(pod("first", { labels: { app: "web", cell: "c1" } }));
  assert.equal((await made.replica.review(labelled, { cellID: "by-label" })).allowed, true);
  const lost = await settle(made.clock, made.replica.send(ownedReview("p"), { cellID: "by-label" }));
  assert.deepEqual([lost.code, lost.elapsedMs], [503, 0]);
  assert.equal(made.replica.metrics.count("webhook_held_review"), 0);
});

const refusal: Judgement = {
  decision: { ...refusedForNow("RetryAdvised", "promised"), awaits: "promised" },
  match: { found: [], askable: [], isUnready: () => false },
};

/** A review that somebody else judges. */
function holdable(parts: Partial<Holdable> & { readonly deadlineMs: number; readonly signal?: AbortSignal }): Holdable {
  const { deadlineMs, signal, ...others } = parts;
  return {
    deletion: {
      operation: "delete",
      cellID: "c1",
      pod: readPodRecord(pod("p"))!,
      criterion: undefined,
      isForced: false,
    },
    owner: "rs-1",
    caller: { deadlineMonotonicMs: deadlineMs as MonotonicMs, signal, user: "somebody" },
    judge: () => assert.fail("it is judged again"),
    awaited: () => [{ tellChanges() {} } as never],
    ...others,
  };
}

function created(clock: Clock) {
  const ends: string[] = [];
  const metrics = { heldReview: (_: string, result: string) => void ends.push(result), readHeldReviews() {} };
  return { held: new HeldReviews({ refusalHoldMs: 1_000, clock, metrics }), ends };
}

test("a caller that leaves while its held review is judged is not held again", async () => {
  const clock = createVirtualClock();
  const { held, ends } = created(clock);
  const gone = new AbortController();
  let judgements = 0;
  const judge = async (): Promise<Judgement> => {
    judgements += 1;
    gone.abort();
    return refusal;
  };
  const awaited = (): [] => [];
  const end = held.hold(refusal, holdable({ deadlineMs: 9_000, signal: gone.signal, judge, awaited }));
  await clock.advance(0);
  assert.equal(await end, refusal);
  assert.equal(judgements, 1);
  assert.deepEqual(ends, ["gone"]);
  assert.equal(clock.pendingTimers, 0);
});

test("a review that is refused again and again at once is judged a hundred times and no more", async () => {
  const clock = createVirtualClock();
  const { held, ends } = created(clock);
  let judgements = 0;
  const judge = async (): Promise<Judgement> => {
    judgements += 1;
    return refusal;
  };
  assert.equal(await held.hold(refusal, holdable({ deadlineMs: 9_000, judge, awaited: () => [] })), refusal);
  assert.equal(judgements, 100);
  assert.deepEqual(ends, ["refused"]);
});

test("a review whose deadline has passed is not held", async () => {
  const clock = createVirtualClock();
  await clock.advance(1_000);
  const { held, ends } = created(clock);
  for (const deadlineMs of [1_000, 0]) assert.equal(await held.hold(refusal, holdable({ deadlineMs })), refusal);
  assert.deepEqual(ends, []);
});

test("a process that stood still until after the deadline judges once more, and records nothing", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer } = sent(replica, ownedReview("p"), { query: "?timeout=2s" });
  await clock.advance(100);
  const writes = core.writes;
  const overdue = clock.monotonicMs.bind(clock);
  clock.monotonicMs = () => (overdue() + 60_000) as MonotonicMs;
  settled(core, 81);
  await clock.advance(500);
  const { allowed, message } = await answer;
  assert.equal(allowed, false);
  assert.match(message, /could not record the pod deletion in time/);
  assert.equal(core.writes, writes);
});

// A held review is admitted in time or not at all: whatever the caller does after its timeout, such as asking again,
// its quota is taken once. Random callers, cores and settlements against that model.

const mustStay = 80;
const podsMax = 6;
const roundMs = 150;
const rounds = 60;

/** UIDs of the pods with a record in a status. */
function recorded(body: unknown): string[] {
  const { status } = body as { status: { cells: { admissionHistory?: { buckets?: Json[] } }[] } };
  return status.cells.flatMap((one) => (one.admissionHistory?.buckets ?? []).map((bucket) => String(bucket["podUID"])));
}

async function playWorld(seed: number): Promise<{ admitted: number; late: number }> {
  const clock = createVirtualClock();
  const rng = createSeededRng(seed);
  const pick = (count: number): number => Math.floor(rng.next() * count);
  const core = new FakeCore(clock);
  core.put(protector({ minAvailable: mustStay, cells: [cell("c1", mustStay + 1)] }));
  const replicas = [1, 2].map((one) => createReplica(clock, core, { seed: seed * 10 + one }));
  /** By UID of a pod: until when somebody waits for an answer about it. */
  const waitedForUntil = new Map<string, number>();
  let late = 0;
  core.script = (request) => {
    core.latencyMs = 1 + pick(120);
    if (request.method !== "PUT") return "none";
    const known = new Set(recorded(core.object("ns/web")));
    for (const uid of recorded(request.body)) {
      if (known.has(uid)) continue;
      assert.ok((waitedForUntil.get(uid) ?? 0) >= clock.monotonicMs(), `seed ${seed}: ${uid} is recorded for nobody`);
    }
    return pick(8) === 0 ? { loseAnswer: "timeout" } : "none";
  };
  const answers: Promise<unknown>[] = [];
  let admitted = 0;
  for (let round = 0; round < rounds; round += 1) {
    const name = `p${pick(podsMax)}`;
    const timeoutS = 1 + pick(2);
    const deadlineMs = clock.monotonicMs() + Math.max(timeoutS - 1, timeoutS / 2) * 1_000;
    waitedForUntil.set(`uid-${name}`, Math.max(deadlineMs, waitedForUntil.get(`uid-${name}`) ?? 0));
    const answer = replicas[pick(2)]!.send(ownedReview(name, `rs-${pick(4)}`), { query: `?timeout=${timeoutS}s` });
    answers.push(
      answer.then((done) => {
        if (done.allowed) admitted += 1;
        assert.ok(clock.monotonicMs() <= deadlineMs + 1, `seed ${seed}: answered after the deadline`);
        if (done.elapsedMs > 250) late += 1;
      }),
    );
    await clock.advance(pick(roundMs));
    const uids = core.buckets("ns/web").map((bucket) => String(bucket["podUID"]));
    assert.equal(new Set(uids).size, uids.length, `seed ${seed}: a pod takes quota twice`);
    assert.ok(uids.length <= 1, `seed ${seed}: ${uids.length} are promised, and there is room for one`);
    // What is promised settles some time.
    if (pick(3) === 0) core.update("ns/web", (status) => (status.cells = [cell("c1", mustStay + 1)]));
  }
  await settle(clock, Promise.all(answers));
  return { admitted, late };
}

test("no held review is recorded after its caller has given up, and none takes quota twice", async () => {
  const totals = { admitted: 0, late: 0 };
  for (let seed = 1; seed <= 40; seed += 1) {
    const { admitted, late } = await playWorld(seed);
    totals.admitted += admitted;
    totals.late += late;
  }
  // Else nothing was tried.
  assert.ok(totals.admitted > 100 && totals.late > 100, JSON.stringify(totals));
});
