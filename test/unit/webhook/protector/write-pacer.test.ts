import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createWritePacer } from "../../../../src/webhook/protector/write-pacer.ts";
import { cell, deleteReview, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

describe("write pacer", () => {
  it("makes an object wait the longer the larger it is", async () => {
    const clock = createVirtualClock();
    const pacer = createWritePacer(clock);
    pacer.wrote("core", "small", 2_000);
    pacer.wrote("core", "large", 200_000);
    assert.equal(pacer.delayMs("core", "small"), 1);
    assert.equal(pacer.delayMs("core", "large"), 100);
    assert.equal(pacer.delayMs("core", "other"), 0);
    await clock.advance(100);
    assert.equal(pacer.delayMs("core", "large"), 0);
  });

  it("holds a core to 2 MB/s over all its objects, after a burst of 0.5 MB", async () => {
    const clock = createVirtualClock();
    const pacer = createWritePacer(clock);
    let bytes = 0;
    for (let step = 0; step < 10_000; step++) {
      const object = `object-${step % 100}`;
      if (pacer.delayMs("core", object) === 0) {
        pacer.wrote("core", object, 20_000);
        bytes += 20_000;
      }
      await clock.advance(1);
    }
    assert.ok(bytes > 19_000_000 && bytes <= 20_500_000 + 20_000, `${bytes} bytes in 10 s`);
  });

  it("keeps cores apart", () => {
    const pacer = createWritePacer(createVirtualClock());
    pacer.wrote("east", "east/a", 10_000_000);
    assert.ok(pacer.delayMs("east", "east/b") > 0);
    assert.equal(pacer.delayMs("west", "west/b"), 0);
  });

  it("lets an object that was not written lately wait at most a second for the others", async () => {
    const clock = createVirtualClock();
    const pacer = createWritePacer(clock);
    const objects = Array.from({ length: 1000 }, (_, index) => `core/ns/w${index}`);
    for (const object of objects) pacer.wrote("core", object, 30_000);
    assert.equal(pacer.delayMs("core", "core/ns/small"), 1_000);
    assert.equal(pacer.delayMs("core", "core/ns/w0"), 10_000, "who was written pays for the burst");
    pacer.wrote("core", "core/ns/small", 2_000);
    assert.equal(pacer.delayMs("core", "core/ns/small"), 2_000, "the less the smaller it is");
    await clock.advance(9_500);
    assert.equal(pacer.delayMs("core", "core/ns/w0"), 1_000, "but is like the idle ones 10 s later");
    await clock.advance(5_300);
    assert.equal(pacer.delayMs("core", "core/ns/small"), 0, "30 MB have found room in 15 s");
  });

  it("lets an idle object wait for its own bytes however long that takes", () => {
    const pacer = createWritePacer(createVirtualClock());
    pacer.wrote("core", "core/ns/huge", 40_000_000);
    assert.equal(pacer.delayMs("core", "core/ns/huge"), 20_000);
  });

  it("gathers more deletions into the next write of a large object", async () => {
    const buckets = Array.from({ length: 600 }, (_, index) => ({
      startTime: "2026-01-01T00:00:00.000000Z",
      podUID: `00000000-0000-0000-0000-${String(index).padStart(12, "0")}`,
    }));
    const { clock, core, replica } = world([protector({ minAvailable: 0, cells: [cell("c1", 2000, {}, buckets)] })]);
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
});
