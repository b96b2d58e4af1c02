import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { later, sleep } from "../../../../src/util/clock.ts";
import { type Deletion } from "../../../../src/webhook/deletion.ts";
import { Protector } from "../../../../src/webhook/protector/protector.ts";
import { Reservations } from "../../../../src/webhook/protector/reservations.ts";
import { type ReservationResult } from "../../../../src/webhook/protector/status-writer.ts";
import { KnownCells } from "../../../../src/webhook/known-cells.ts";
import { createWebhookMetrics } from "../../../../src/webhook/metrics.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createTestCore } from "../support/core.ts";
import { cell } from "../support/objects.ts";
import { RecordedMetrics, settle } from "../support/replica.ts";
import { deletionOf, protectorView } from "../support/views.ts";

/** Reservations whose writer admits each deletion on the last known quota while `isOut`, and records otherwise. */
function createReservations() {
  const { clock, core } = createTestCore();
  const state = { isOut: false, batches: [] as string[], writeMs: 0, unclaimed: 0 };
  let result: ReservationResult = { kind: "not-in-force" };
  const reservations = new Reservations({
    writer: {
      async execute(protector: Protector, deletions: readonly Deletion[]) {
        state.batches.push(protector.key);
        await sleep(clock, state.writeMs);
        if (state.isOut) protector.admitOnLastKnown(deletions);
        else protector.recorded();
        return { kind: "success", results: deletions.map(() => result) };
      },
    },
    clock,
    rng: createSeededRng(1),
    coldStartDelayMs: 0,
    observer: createWebhookMetrics(new RecordedMetrics(), new KnownCells(["c1"])).retryBatch,
    onUnclaimed: () => void (state.unclaimed += 1),
  });
  const unused: string[] = [];
  const protectorOf = (name: string): Protector => {
    const protector = new Protector(core, objectKey("ns", name), ({ key }) => unused.push(key));
    protector.watched(protectorView({ name, cells: [cell("c1", 100)] }));
    return protector;
  };
  const reserve = (protector: Protector, name: string) =>
    settle(
      clock,
      reservations.reserve(protector, deletionOf(name), {
        deadlineMonotonicMs: later(clock.monotonicMs(), 10_000),
        signal: undefined,
      }),
    );
  /** What each deletion gets from now on. */
  const answer = (next: ReservationResult): void => void (result = next);
  return { clock, state, reservations, protectorOf, reserve, answer, unused };
}

test("a reservation holds its PodProtector until it has ended", async () => {
  const { protectorOf, reserve, unused } = createReservations();
  const protector = protectorOf("web");
  const outcome = reserve(protector, "p");
  protector.removed();
  assert.deepEqual(unused, []);
  assert.equal((await outcome).kind, "done");
  assert.deepEqual(unused, ["ns/web"]);
});

test("what was admitted without a write is recorded later, by one loop for each PodProtector", async () => {
  const { clock, state, protectorOf, reserve } = createReservations();
  const [a, b] = [protectorOf("a"), protectorOf("b")];
  state.isOut = true;
  for (let index = 0; index < 10; index++) await reserve(a, `p${index}`);
  await reserve(b, "p");
  state.batches = [];
  await clock.advance(5_000);
  assert.deepEqual(state.batches.toSorted(), ["ns/a", "ns/b"]);
  state.isOut = false;
  await clock.advance(5_000);
  assert.deepEqual([...a.unrecorded, ...b.unrecorded], []);
  assert.equal(clock.pendingTimers, 0);
  state.isOut = true;
  await reserve(a, "q");
  state.batches = [];
  await clock.advance(5_000);
  assert.deepEqual(state.batches, ["ns/a"], "a new loop for what is admitted later");
});

test("a PodProtector that is gone is held until what was admitted from it is recorded", async () => {
  const { clock, state, protectorOf, reserve, unused } = createReservations();
  const protector = protectorOf("web");
  state.isOut = true;
  await reserve(protector, "p");
  state.isOut = false;
  protector.removed();
  assert.deepEqual(unused, []);
  await clock.advance(5_000);
  assert.deepEqual(unused, ["ns/web"]);
});

test("a drain ends the recording of what was admitted without a write", async () => {
  const { clock, state, reservations, protectorOf, reserve } = createReservations();
  state.isOut = true;
  await reserve(protectorOf("web"), "p");
  await settle(clock, reservations.drain());
  assert.equal(clock.pendingTimers, 0);
});

test("quota that was written for a caller who had left is counted, and nothing else", async () => {
  const { clock, state, reservations, protectorOf, answer } = createReservations();
  const protector = protectorOf("web");
  const admitted = { kind: "admitted", need: "quota", isRecorded: true, isRepeated: false } as const;
  state.writeMs = 2_000;
  const ask = async (verdict: ReservationResult, patienceMs: number): Promise<number> => {
    answer(verdict);
    const before = state.unclaimed;
    const deadlineMonotonicMs = later(clock.monotonicMs(), patienceMs);
    const asked = reservations.reserve(protector, deletionOf("p"), { deadlineMonotonicMs, signal: undefined });
    await clock.advance(10_000);
    await asked;
    return state.unclaimed - before;
  };
  assert.equal(await ask({ kind: "judged", verdict: admitted }, 1_000), 1);
  assert.equal(await ask({ kind: "judged", verdict: admitted }, 9_000), 0, "its caller has the answer");
  assert.equal(await ask({ kind: "judged", verdict: { ...admitted, isRepeated: true } }, 1_000), 0);
  assert.equal(await ask({ kind: "judged", verdict: { ...admitted, need: "record" } }, 1_000), 0);
  assert.equal(await ask({ kind: "not-in-force" }, 1_000), 0);
});
