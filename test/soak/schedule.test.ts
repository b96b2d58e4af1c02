import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterNames, electedNames, paceOf, scheduleOf, sickWorker } from "./schedule.ts";

const lengths = [120, 900, 7_200, 20_000];

test("a quarter of an hour has as many of everything as two hours have", () => {
  const counts = (seconds: number): Record<string, number> => {
    const found: Record<string, number> = {};
    for (const { do: what } of scheduleOf(seconds)) found[what] = (found[what] ?? 0) + 1;
    return found;
  };
  assert.deepEqual(counts(900), counts(7_200));
  assert.deepEqual(counts(900), {
    roll: 120,
    scale: 60,
    visit: 30,
    leave: 30,
    disconnect: 30,
    takeLease: 30,
    endLeader: 5,
    sicken: 9,
  });
});

test("a short run is no denser than a quarter of an hour, and a long one no thinner than two hours", () => {
  assert.deepEqual(lengths.map(paceOf), [8, 8, 1, 1]);
});

test("processes are ended in the first third only, so that those that are judged in the second half are warm", () => {
  for (const seconds of lengths)
    for (const one of scheduleOf(seconds)) if (one.do === "endLeader") assert.ok(one.atSeconds < seconds / 3);
});

test("every leader is ended, every Lease is taken, and every cluster disconnects, once with a lost history", () => {
  const schedule = scheduleOf(900);
  for (const elected of electedNames) {
    assert.ok(schedule.some((one) => one.do === "takeLease" && one.elected === elected));
    assert.ok(schedule.some((one) => one.do === "endLeader" && one.elected === elected));
  }
  for (const cluster of clusterNames)
    for (const forget of [true, false])
      assert.ok(schedule.some((one) => one.do === "disconnect" && one.cluster === cluster && one.forget === forget));
});

test("the sick worker is slow, then without answers, then well, three times, and well before the end", () => {
  for (const seconds of lengths) {
    const sicknesses = scheduleOf(seconds).filter((one) => one.do === "sicken");
    assert.deepEqual(
      sicknesses.map(({ how }) => how),
      [1, 2, 3].flatMap(() => ["slow", "stalled", "well"]),
    );
    assert.ok(sicknesses.at(-1)!.atSeconds < seconds * 0.95);
  }
  assert.ok(clusterNames.includes(sickWorker));
});

test("everything happens in the order of time and within the run", () => {
  for (const seconds of lengths) {
    const times = scheduleOf(seconds).map(({ atSeconds }) => atSeconds);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((time) => time > 0 && time < seconds));
  }
});
