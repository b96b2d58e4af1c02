import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadyTimes, tellsAge, vouchedBy, type Vouched } from "../../../../src/accounting/count/ready-times.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { at as ms } from "../../../support/moment.ts";
import { at, counts, pod, version } from "../samples.ts";

/** Asks at so many seconds, by both clocks. */
function bench() {
  const doubted: string[] = [];
  const times = new ReadyTimes(({ uid }) => void doubted.push(uid));
  const since = (seconds: number, one: PodRecord, vouched?: Vouched): number | undefined =>
    times.since(one, at(seconds), ms(seconds * 1000), vouched);
  return { times, doubted, since };
}
const ahead = pod("x", { readySince: at(28_800) });

test("a Ready time tells a pod's age up to five seconds ahead of the own clock", () => {
  assert.equal(tellsAge(at(5), at(0)), true);
  assert.equal(tellsAge(at(5.000001), at(0)), false);
  assert.equal(tellsAge(at(-99_999), at(0)), true);
  assert.equal(tellsAge(undefined, at(0)), false);
});

test("a Ready time that tells is believed, and nothing is remembered of it", () => {
  const { since, doubted } = bench();
  assert.equal(since(0, pod("x", { readySince: at(3) })), at(3));
  assert.equal(since(0, pod("x", { readySince: at(-3600) })), at(-3600));
  assert.deepEqual(doubted, []);
});

test("a pod whose Ready time is ahead is Ready since that was first seen, and told of once", () => {
  const { since, doubted } = bench();
  assert.deepEqual(
    [10, 20, 70].map((seconds) => since(seconds, ahead)),
    [at(10), at(10), at(10)],
  );
  assert.deepEqual(doubted, ["x"]);
});

test("a pod without a Ready time is Ready since it was first seen so, and nobody's clock is blamed", () => {
  const { since, doubted } = bench();
  const one = pod("x", { readySince: undefined });
  assert.deepEqual([since(10, one), since(20, one)], [at(10), at(10)]);
  assert.deepEqual(doubted, []);
});

test("another Ready time begins anew, and so does a pod that was not Ready or not there meanwhile", () => {
  const { since, times } = bench();
  since(10, ahead);
  assert.equal(since(20, pod("x", { readySince: at(28_900) })), at(20));
  assert.equal(since(21, pod("x", { isReady: false, readySince: undefined })), undefined);
  assert.equal(since(22, pod("x", { readySince: at(28_900) })), at(22));
  times.forget("x");
  assert.equal(since(23, pod("x", { readySince: at(28_900) })), at(23));
  assert.equal(since(24, pod("x", { readySince: at(1) })), at(1));
});

test("when the time has come, the pod is as old as it was seen", () => {
  const { since } = bench();
  const one = pod("x", { readySince: at(60) });
  since(10, one);
  assert.deepEqual([since(59, one), since(61, one), since(600, one)], [at(10), at(10), at(10)]);
});

test("what was seen is measured by the monotonic clock: setting the other one makes no pod older or younger", () => {
  const { times } = bench();
  times.since(ahead, at(10), ms(10_000));
  assert.equal(times.since(ahead, at(-3_580), ms(20_000)), at(-3_590));
  assert.equal(times.since(ahead, at(7_220), ms(20_000)), at(7_210));
});

test("counts vouch for pods up to their version, and not for those that have changed since", () => {
  const vouched = { version: version(10), minReadySeconds: 30 };
  const { since } = bench();
  assert.equal(since(100, ahead, vouched), at(70));
  assert.equal(since(150, ahead, undefined), at(70), "what was vouched for once is remembered");
  const changed = pod("y", { readySince: at(28_800), resourceVersion: version(11) });
  assert.equal(since(100, changed, vouched), at(100));
});

test("counts vouch only where they answer the spec, have a version, and call every Ready pod available", () => {
  const recorded = counts(3, { resourceVersion: version(10), countedSpec: "spec" });
  assert.deepEqual(vouchedBy(recorded, "spec", 30), { version: "10", minReadySeconds: 30 });
  assert.equal(vouchedBy(recorded, "another", 30), undefined);
  assert.equal(vouchedBy({ ...recorded, readyReplicas: 4 }, "spec", 30), undefined);
  const { resourceVersion: _, ...byGo } = recorded;
  assert.equal(vouchedBy(byGo, "spec", 30), undefined);
  assert.equal(vouchedBy(undefined, "spec", 30), undefined);
});
