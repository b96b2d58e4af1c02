import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { CorePace, idlePace } from "../../../../src/webhook/protector/write-pace.ts";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

test("an object waits the longer the larger it is", async () => {
  const clock = createVirtualClock();
  const pace = new CorePace(clock);
  const [small, large, other] = [idlePace(), idlePace(), idlePace()];
  pace.wrote(small, 2_000);
  pace.wrote(large, 200_000);
  assert.equal(pace.delayMs(small), 1);
  assert.equal(pace.delayMs(large), 100);
  assert.equal(pace.delayMs(other), 0);
  await clock.advance(100);
  assert.equal(pace.delayMs(large), 0);
});

test("a core is held to 2 MB/s over all its objects, after a burst of 0.5 MB", async () => {
  const clock = createVirtualClock();
  const pace = new CorePace(clock);
  const objects = Array.from({ length: 100 }, idlePace);
  let bytes = 0;
  for (let step = 0; step < 10_000; step++) {
    const object = objects[step % 100]!;
    if (pace.delayMs(object) === 0) {
      pace.wrote(object, 20_000);
      bytes += 20_000;
    }
    await clock.advance(1);
  }
  assert.ok(bytes > 19_000_000 && bytes <= 20_500_000 + 20_000, `${bytes} bytes in 10 s`);
});

test("cores do not wait for each other", () => {
  const clock = createVirtualClock();
  const [east, west] = [new CorePace(clock), new CorePace(clock)];
  east.wrote(idlePace(), 10_000_000);
  assert.ok(east.delayMs(idlePace()) > 0);
  assert.equal(west.delayMs(idlePace()), 0);
});

test("an object that was not written lately waits at most a second for the others", async () => {
  const clock = createVirtualClock();
  const pace = new CorePace(clock);
  const objects = Array.from({ length: 1000 }, idlePace);
  for (const object of objects) pace.wrote(object, 30_000);
  const small = idlePace();
  const first = objects[0]!;
  assert.equal(pace.delayMs(small), 1_000);
  assert.equal(pace.delayMs(first), 10_000, "what was written pays for the burst");
  pace.wrote(small, 2_000);
  assert.equal(pace.delayMs(small), 2_000, "the less the smaller it is");
  await clock.advance(9_500);
  assert.equal(pace.delayMs(first), 1_000, "but is like the idle ones 10 s later");
  await clock.advance(5_300);
  assert.equal(pace.delayMs(small), 0, "30 MB have found room in 15 s");
});

test("an idle object waits for its own bytes however long that takes", () => {
  const pace = new CorePace(createVirtualClock());
  const huge = idlePace();
  pace.wrote(huge, 40_000_000);
  assert.equal(pace.delayMs(huge), 20_000);
});

test("more deletions gather in the next write of a large object", async () => {
  const buckets = Array.from({ length: 600 }, (_, index) => ({
    startTime: "2026-01-01T00:00:00.000000Z",
    podUID: `00000000-0000-0000-0000-${String(index).padStart(12, "0")}`,
  }));
  const { clock, core, replica } = world([protector({ minAvailable: 1, cells: [cell("c1", 2000, {}, buckets)] })]);
  core.latencyMs = 0;
  const answers = [];
  for (let index = 0; index < 30; index++) {
    answers.push(replica.send(deleteReview(pod(`p${index}`))));
    await clock.advance(1);
  }
  const settled = await settle(clock, Promise.all(answers));
  assert.ok(settled.every(({ allowed }) => allowed));
  // 70 kB take 35 ms, so the 30 deletions of 30 ms share two writes.
  assert.ok(core.writes <= 3, `${core.writes} writes`);
});
