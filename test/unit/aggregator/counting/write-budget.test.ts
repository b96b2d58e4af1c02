import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey } from "../../../../src/api/object-key.ts";
import { WriteBudget } from "../../../../src/aggregator/counting/write-budget.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const rateMs = 750;
const keyOf = (name: string): ObjectKey => `default/${name}` as ObjectKey;

function started() {
  const clock = createVirtualClock();
  const budget = new WriteBudget(clock);
  /** An aggregation that writes, or finds nothing to write. */
  const aggregate = (name: string, bytes: number | undefined, cells = 1): void => {
    budget.began(keyOf(name));
    if (bytes !== undefined) budget.wrote(keyOf(name), bytes, cells);
    budget.ended(keyOf(name));
  };
  const reserve = (name: string, fromMs = 0, untilMs = rateMs) => budget.reserve(keyOf(name), fromMs, untilMs);
  return { clock, budget, aggregate, reserve };
}

test("a write is granted at once, once for each object until it is counted", () => {
  const { reserve, aggregate } = started();
  assert.deepEqual(reserve("web", 15), { afterMs: 15 });
  assert.equal(reserve("web"), "held");
  aggregate("web", 1_000);
  assert.deepEqual(reserve("web", 15, 10), { refused: "rate" });
});

test("objects that all want to be written at once get 50 and then 50 a second", async () => {
  const { clock, reserve, aggregate } = started();
  let granted = 0;
  for (let tick = 0; tick < 200; tick++) {
    // 100 objects a second, each once.
    for (const name of [`a-${tick}`, `b-${tick}`]) {
      const reservation = reserve(name, 0, 20);
      if (reservation === "held" || "refused" in reservation) continue;
      granted += 1;
      aggregate(name, 1_000);
    }
    await clock.advance(20);
  }
  assert.ok(granted >= 240 && granted <= 260, `${granted} writes in 4 s`);
});

test("nothing to write costs nothing", async () => {
  const { clock, reserve, aggregate } = started();
  for (let round = 0; round < 1_000; round++) {
    assert.deepEqual(reserve(`app-${round}`), { afterMs: 0 });
    aggregate(`app-${round}`, undefined);
  }
  await clock.advance(0);
  assert.deepEqual(reserve("web"), { afterMs: 0 });
});

test("objects that want to be written all the time do not keep one waiting that is written now and then", async () => {
  const { clock, reserve, aggregate } = started();
  const hot = Array.from({ length: 100 }, (_, index) => `hot-${index}`);
  const writes = new Map<string, number>();
  const waits: number[] = [];
  for (let tick = 0; tick < 1_000; tick++) {
    for (const name of hot) {
      const reservation = reserve(name, 0, 20);
      if (reservation === "held" || "refused" in reservation) continue;
      aggregate(name, 1_000);
      writes.set(name, (writes.get(name) ?? 0) + 1);
    }
    if (tick % 50 === 49) {
      const reservation = reserve("calm");
      waits.push(reservation !== "held" && "afterMs" in reservation ? reservation.afterMs : rateMs);
      if (waits.at(-1) !== rateMs) aggregate("calm", 1_000);
    }
    await clock.advance(20);
  }
  // While the hot ones come for the first time there is no room.
  assert.ok(Math.max(...waits.slice(3)) <= 50, waits.join());
  const counts = hot.map((name) => writes.get(name) ?? 0);
  assert.ok(Math.min(...counts) >= 6 && Math.max(...counts) <= 10, counts.join());
});

test("large objects of many cells wait for their bytes, for a second at most", async () => {
  const { clock, reserve, aggregate } = started();
  reserve("web");
  aggregate("web", 100_000);
  // 0.1 MB at 2 MB/s.
  assert.deepEqual(reserve("api"), { afterMs: 50 });
  aggregate("api", 600_000, 100);
  assert.deepEqual(reserve("other"), { refused: "bytes" });
  await clock.advance(1_050);
  assert.deepEqual(reserve("other"), { afterMs: 0 });
});

test("writes that nobody waits for use up bytes, but no share and no token", () => {
  const { reserve, aggregate } = started();
  for (let round = 0; round < 200; round++) aggregate("web", 1_000);
  assert.deepEqual(reserve("web"), { afterMs: 100 });
});

test("after many large writes that nobody waits for, the budget is back within a second", async () => {
  const { clock, reserve, aggregate } = started();
  for (let round = 0; round < 1_000; round++) aggregate(`app-${round}`, 600_000, 100);
  assert.deepEqual(reserve("web"), { refused: "bytes" });
  await clock.advance(1_000);
  assert.deepEqual(reserve("web"), { afterMs: 0 });
});

test("large writes that are waited for make up for all their bytes, one object a second", async () => {
  const { clock, reserve, aggregate } = started();
  const names = Array.from({ length: 10 }, (_, index) => `app-${index}`);
  for (const name of names) assert.deepEqual(reserve(name), { afterMs: 0 });
  for (const name of names) aggregate(name, 600_000, 100);
  await clock.advance(9_000);
  assert.deepEqual(reserve("web"), { refused: "bytes" });
  await clock.advance(1_000);
  assert.deepEqual(reserve("web"), { afterMs: 0 });
});

test("what was reserved for an object that is gone, or for a term that has ended, is given back", () => {
  const { budget, reserve } = started();
  const taken = (): number =>
    Array.from({ length: 60 }, (_, index) => reserve(`app-${index}`, 0, 1)).filter(
      (one) => one !== "held" && "afterMs" in one,
    ).length;
  assert.equal(taken(), 50);
  for (let index = 0; index < 50; index++) budget.forget(keyOf(`app-${index}`));
  assert.equal(taken(), 50);
  budget.clear();
  assert.equal(taken(), 50);
});
