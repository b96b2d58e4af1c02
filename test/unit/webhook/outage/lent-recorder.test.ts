import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LentRecorder } from "../../../../src/webhook/outage/lent-recorder.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

function recorder() {
  const clock = createVirtualClock();
  const open = new Set<string>();
  const tries: string[] = [];
  const made = new LentRecorder({
    clock,
    rng: createSeededRng(1),
    isOpen: (key) => open.has(key),
    async record(key) {
      tries.push(key);
    },
  });
  return { clock, open, tries, recorder: made };
}

describe("the recorder of what was lent", () => {
  it("tries every 3 to 5 seconds until it is recorded, and leaves no timer behind", async () => {
    const { clock, open, tries, recorder: made } = recorder();
    open.add("a");
    made.lent("a");
    await clock.advance(2_999);
    assert.deepEqual(tries, []);
    await clock.advance(12_001);
    assert.ok(tries.length >= 3 && tries.length <= 5, `${tries.length}`);
    open.clear();
    await clock.advance(5_000);
    assert.equal(clock.pendingTimers, 0);
  });

  it("has one loop for each PodProtector, however much is lent, and a new one later", async () => {
    const { clock, open, tries, recorder: made } = recorder();
    open.add("a").add("b");
    for (let index = 0; index < 10; index++) made.lent("a");
    made.lent("b");
    await clock.advance(5_000);
    assert.deepEqual(tries.toSorted(), ["a", "b"]);
    open.clear();
    await clock.advance(5_000);
    open.add("a");
    made.lent("a");
    await clock.advance(5_000);
    assert.equal(tries.filter((key) => key === "a").length, 3);
  });

  it("stops at once", async () => {
    const { clock, open, tries, recorder: made } = recorder();
    open.add("a");
    made.lent("a");
    made.stop();
    await clock.advance(10_000);
    assert.deepEqual(tries, []);
    assert.equal(clock.pendingTimers, 0);
  });
});
