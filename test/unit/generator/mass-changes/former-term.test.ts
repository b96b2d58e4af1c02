import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { namesOf, startHeld, tally } from "./bursts.ts";

const [secondMs, minuteMs] = [1_000, 60_000];
const shop = namesOf("shop", 60);
const forbidden = new KubeError("forbidden", "configmaps is forbidden", { code: 403 });
const isOfState = (what: string) => what.startsWith("GET") && what.includes("/configmaps/podseidon-generator-state");

/** 60 floors are held, for one cause. The next generator has started, and is about to lead. */
async function nextOfHolding() {
  const bench = await startHeld(shop);
  const next = bench.startGenerator({}, { massChanges: { policy: "hold", allow: [] }, standby: true });
  await next.ready();
  return { ...bench, next };
}

for (const [what, error, seconds] of [
  ["forbidden for a moment", forbidden, 8],
  ["answered by another object", new KubeError("malformed", "the answer is not the ConfigMap"), 40],
] as const) {
  test(`a ConfigMap that is ${what} at the beginning of a term is used as soon as it is read`, async () => {
    const bench = await nextOfHolding();
    // Ten of one cause are not too many: only the former leader's latch holds them.
    await bench.edit(shop.slice(10), { replicas: 8 }, "sync-tool");
    let isFailing = true;
    bench.next.client.onRequest = (_, asked) => (isFailing && isOfState(asked) ? error : undefined);
    await bench.next.lead();
    await bench.clock.advance(seconds * secondMs);
    assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
    isFailing = false;
    await bench.clock.advance(15 * secondMs);
    assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
    bench.next.metrics.scrape();
    assert.equal(bench.next.metrics.value("generator_held_changes", { cause: "manager/sync-tool" }), 10);
    assert.match(JSON.stringify(bench.configMap()), /latched.{1,9}manager\/sync-tool/);
    await bench.next.stop();
  });
}

test("what was undone while no generator ran is latched no longer, and the next change alone passes", async () => {
  const bench = await startHeld(shop);
  await bench.edit(shop, { replicas: 8 }, "sync-tool");
  await bench.start();
  await bench.clock.advance(20 * minuteMs);
  await bench.edit(["shop-0"], { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(bench.floors(["shop-0"]), [0]);
  assert.partialDeepStrictEqual(bench.configMap(), { data: { latches: '{"latched":[],"approvals":[]}' } });
});
