import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, startHolding, tally } from "./bursts.ts";

test("put together, changes are held, shown in the gauge by cause, and gone from it when they are undone", async () => {
  const bench = await startHolding();
  const names = namesOf("web", 8);
  await bench.run(names);
  await bench.scale(names, 0);
  await bench.clock.advance(5_000);
  const { metrics } = bench.generator;
  const shown = () => {
    metrics.scrape();
    return metrics.value("generator_held_changes", { cause: "manager/unknown" });
  };
  assert.equal(shown(), 8);
  await bench.scale(names, 8);
  await bench.clock.advance(5_000);
  assert.equal(shown(), 0);
  assert.deepEqual(tally(bench.floors(names)), { 6: 8 });
  await bench.generator.stop();
});
