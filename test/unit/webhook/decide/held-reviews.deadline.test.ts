/**
 * A held review is admitted in time or not at all: whatever the caller does after its timeout, such as asking again,
 * its quota is taken once. Random callers, cores and settlements against that model.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";
import { cell, type Json, protector } from "../support/objects.ts";
import { createReplica, settle } from "../support/replica.ts";
import { ownedReview } from "../support/held.ts";

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
