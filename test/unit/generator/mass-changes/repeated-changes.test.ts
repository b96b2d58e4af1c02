import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, startHolding, tally } from "./bursts.ts";

const secondMs = 1_000;

test("everyday life: 12 of 28 floors are given up, come back and are given up again", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 28);
  const some = names.slice(0, 12);
  await bench.run(names);
  for (const replicas of [0, 8, 0]) {
    await bench.edit(some, { replicas }, "tool");
    await bench.clock.advance(10 * secondMs);
  }
  assert.deepEqual(tally(bench.floors(names)), { 0: 12, 6: 16 });
  await bench.generator.stop();
});

test("in a terminating namespace the lost kind of an owner holds nothing", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 5);
  const ownerReferences = [{ apiVersion: "gone.example.com/v1", kind: "App", name: "a", uid: "u" }];
  await bench.namespace("team");
  await bench.run(names, { namespace: "team", metadata: { ownerReferences } });
  await bench.terminate("team");
  await bench.delete(names, "team");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(names, "team")), { undefined: 5 });
  await bench.generator.stop();
});
