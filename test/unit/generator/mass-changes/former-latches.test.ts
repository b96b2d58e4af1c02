import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, startHeld } from "./bursts.ts";

const [secondMs, minuteMs] = [1_000, 60_000];
const shop = namesOf("shop", 60);

test("what was undone while no generator ran is latched no longer, and the next change alone passes", async () => {
  const bench = await startHeld(shop);
  await bench.edit(shop, { replicas: 8 }, "sync-tool");
  const next = await bench.start();
  await bench.clock.advance(20 * minuteMs);
  await bench.edit(["shop-0"], { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(bench.floors(["shop-0"]), [0]);
  assert.partialDeepStrictEqual(bench.configMap(), { data: { latches: '{"latched":[],"approvals":[]}' } });
  await next.stop();
});
