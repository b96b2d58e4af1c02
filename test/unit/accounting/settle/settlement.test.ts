import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { anonymous, Bench, evicted, livePod, packed, single, snapshot } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";

const reasons = (bench: Bench, nowMs: number, seen: ReturnType<typeof snapshot>): Record<string, number> =>
  Object.fromEntries(bench.settle(nowMs, seen).settled);

/** Each kind of bucket that names pod X: docs/accounting.md#settlement, "any that names the pod". */
const namingX = {
  versioned: single("x", 10),
  evicted: evicted("x", 10),
  unversioned: single("x"),
  packed: packed(["x", "y"], 10),
};

for (const [name, bucket] of Object.entries(namingX)) {
  test(`a ${name} bucket of a terminating pod settles at any version of the snapshot, without a barrier`, () => {
    const bench = new Bench().see([bucket], 0);
    const result = bench.settle(0, snapshot([livePod("x", 3, true), livePod("y", 3)], 3));
    assert.deepEqual([...result.settled], [["terminating", 1]]);
    assert.equal(result.buckets.length, name === "packed" ? 1 : 0);
  });
}

test("a bucket with a version of a pod that is gone settles when the snapshot has reached the version", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([], 9)), {});
  assert.deepEqual(reasons(bench, 0, snapshot([], 10)), { gone: 1 });
});

test("versions are compared as numbers, not as texts", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([], 9)), {});
  bench.see([single("x", 9)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([], 10)), { gone: 1 });
});

test("a packed pod that is gone waits for the highest version of its bucket", () => {
  const bench = new Bench().see([packed(["x", "y"], 10)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([livePod("y", 5)], 9)), {});
  const result = bench.settle(0, snapshot([livePod("y", 5)], 10));
  assert.deepEqual([...result.settled], [["gone", 1]]);
  assert.equal(result.buckets[0]?.counter, 1);
});

for (const [name, bucket] of Object.entries({ unversioned: single("x"), forged: single("x", 10 ** 15) })) {
  test(`an ${name} bucket of a gone pod settles by a barrier sent after it was seen, not by an earlier one`, () => {
    const bench = new Bench().see([bucket], 1000);
    assert.deepEqual(reasons(bench, 5000, snapshot([], 50, 999)), {});
    assert.deepEqual(reasons(bench, 5000, snapshot([], 50, 1000)), {});
    assert.deepEqual(reasons(bench, 5000, snapshot([], 50, 1001)), { gone: 1 });
  });
}

test("for a gone pod the barrier is requested at once without a version, with one after the fence delay", () => {
  const bench = new Bench().see([single("x")], 1000);
  assert.equal(bench.settle(1000, snapshot([], 50)).barrierFromMs, 1000);
  bench.see([single("x", 99)], 2000);
  const result = bench.settle(2000, snapshot([], 50));
  assert.equal(result.barrierFromMs, 12_000);
  assert.equal(result.wakeAtMs, 12_000);
});

test("another pod of the same name does not replace the one that is gone", () => {
  const bench = new Bench().see([{ ...single("old", 10), podName: "web-0" }], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([livePod("new", 12)], 12)), { gone: 1 });
});

test("a single bucket settles when the pod is alive at a newer version, whatever the version of the snapshot", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([livePod("x", 10)], 99)), {});
  assert.deepEqual(reasons(bench, 0, snapshot([livePod("x", 11)], 11)), { "newer-version": 1 });
});

test("an eviction that names the version is not settled by a newer one, but fenced, and by the fence", () => {
  const bench = new Bench().see([evicted("x", 10)], 0);
  const moved = (podVersion: number): ReturnType<typeof snapshot> => snapshot([livePod("x", podVersion)], 99);
  assert.deepEqual(reasons(bench, 0, moved(12)), {});
  assert.deepEqual(bench.settle(9_999, moved(12)).fence, []);
  assert.deepEqual(bench.settle(10_000, moved(12)).fence, ["x"]);
  bench.fence("x", 10_000, 15);
  assert.deepEqual(reasons(bench, 10_100, moved(14)), {});
  assert.deepEqual(reasons(bench, 10_100, moved(15)), { fenced: 1 });
});

test("an eviction that names the version is settled when its pod is gone from a snapshot of that version", () => {
  const bench = new Bench().see([evicted("x", 10)], 0);
  assert.deepEqual(reasons(bench, 0, snapshot([], 9)), {});
  assert.deepEqual(reasons(bench, 0, snapshot([], 10)), { gone: 1 });
});

test("a packed pod settles when it is alive above the highest version of the bucket", () => {
  const bench = new Bench().see([packed(["x", "y"], 10)], 0);
  const result = bench.settle(0, snapshot([livePod("x", 10), livePod("y", 11)], 11));
  assert.deepEqual([...result.settled], [["newer-version", 1]]);
});

for (const [name, bucket] of Object.entries({ single: single("x", 10), packed: packed(["x"], 10) })) {
  test(`a ${name} pod is fenced once the snapshot has been comparable for the fence delay`, () => {
    const bench = new Bench().see([bucket], 0);
    // Behind: the delay does not run.
    assert.deepEqual(bench.settle(5000, snapshot([livePod("x", 10)], 9)).fence, []);
    const first = bench.settle(20_000, snapshot([livePod("x", 10)], 10));
    assert.deepEqual(first.fence, []);
    assert.equal(first.wakeAtMs, 30_000);
    assert.deepEqual(bench.settle(29_999, snapshot([livePod("x", 10)], 10)).fence, []);
    assert.deepEqual(bench.settle(30_000, snapshot([livePod("x", 10)], 10)).fence, ["x"]);
  });
}

test("a snapshot that never reaches the version is comparable after a barrier sent since the bucket was seen", () => {
  const bench = new Bench().see([single("x", 10 ** 12)], 0);
  const waiting = bench.settle(0, snapshot([livePod("x", 10)], 50));
  assert.equal(waiting.barrierFromMs, 10_000);
  bench.settle(11_000, snapshot([livePod("x", 10)], 50, 10_001));
  assert.deepEqual(bench.settle(21_000, snapshot([livePod("x", 10)], 50, 10_001)).fence, ["x"]);
});

test("the fence delay does not start again when the snapshot advances", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  for (const nowMs of [0, 3000, 6000, 9000]) {
    assert.deepEqual(bench.settle(nowMs, snapshot([livePod("x", 10)], 10 + nowMs)).fence, []);
  }
  assert.deepEqual(bench.settle(10_000, snapshot([livePod("x", 10)], 20_000)).fence, ["x"]);
});

test("a fence proves nothing until the snapshot holds the pod at the version that the patch returned", () => {
  const bench = new Bench().see([packed(["x", "y"], 30)], 0);
  bench.fence("x", 10_000, 20);
  assert.deepEqual(reasons(bench, 11_000, snapshot([livePod("x", 19), livePod("y", 1)], 30)), {});
  assert.deepEqual(reasons(bench, 11_000, snapshot([livePod("x", 20), livePod("y", 1)], 30)), { fenced: 1 });
});

test("a fence from before the bucket changed, or at the same moment, proves nothing", () => {
  const bench = new Bench();
  bench.fence("x", 10_000, 20);
  bench.see([packed(["x"], 30)], 10_000);
  assert.deepEqual(reasons(bench, 11_000, snapshot([livePod("x", 20)], 30)), {});
});

test("a packed pod that was taken out and packed again needs a new fence", () => {
  const bench = new Bench().see([packed(["x", "y"], 30)], 0);
  bench.fence("x", 10_000, 31);
  bench.see([packed(["y"], 30), single("x", 31)], 11_000);
  bench.see([packed(["y", "x"], 31)], 12_000);
  assert.deepEqual(reasons(bench, 12_000, snapshot([livePod("x", 31), livePod("y", 1)], 31)), {});
  bench.fence("x", 22_000, 40);
  assert.deepEqual(reasons(bench, 23_000, snapshot([livePod("x", 40), livePod("y", 1)], 40)), { "newer-version": 1 });
});

test("after a gap in the watch a packed pod needs a new fence, because it may have been taken out unseen", () => {
  const bench = new Bench().see([packed(["x"], 31)], 0);
  bench.fence("x", 10_000, 31);
  bench.see([packed(["x"], 31)], 11_000, false);
  assert.deepEqual(reasons(bench, 12_000, snapshot([livePod("x", 31)], 31)), {});
});

test("a pod is not fenced again while a patch is in flight, or before the repeat is due", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  const alive = snapshot([livePod("x", 10)], 10);
  bench.settle(0, alive);
  assert.deepEqual(bench.settle(10_000, alive).fence, ["x"]);
  bench.fences.sending("x", ms(10_000));
  assert.deepEqual(bench.settle(60_000, alive).fence, []);
  bench.fences.failed("x", ms(10_000), "unanswered");
  const waiting = bench.settle(19_999, alive);
  assert.deepEqual([waiting.fence, waiting.wakeAtMs], [[], 20_000]);
  assert.deepEqual(bench.settle(20_000, alive).fence, ["x"]);
});

describe("the settle window", () => {
  test("a bucket without a version of a live pod settles by a barrier sent a settle window after it was seen", () => {
    const bench = new Bench().see([single("x")], 1000);
    const waiting = bench.settle(1000, snapshot([livePod("x", 10)], 50, 900));
    assert.deepEqual([waiting.barrierFromMs, waiting.wakeAtMs, waiting.fence], [76_000, 76_000, []]);
    assert.deepEqual(reasons(bench, 90_000, snapshot([livePod("x", 10)], 50, 75_999)), {});
    assert.deepEqual(reasons(bench, 90_000, snapshot([livePod("x", 10)], 50, 76_000)), { window: 1 });
  });

  test("no version of the pod settles a bucket without a version", () => {
    const bench = new Bench().see([single("x")], 0);
    assert.deepEqual(reasons(bench, 70_000, snapshot([livePod("x", 10 ** 9)], 10 ** 9, 69_000)), {});
  });

  for (const [name, refreshed] of Object.entries({
    "startTime changes": single("x", undefined, 5),
    "a version comes": single("x", 10),
  })) {
    test(`the settle window starts again when the bucket's ${name}`, () => {
      const bench = new Bench().see([single("x")], 0).see([refreshed], 74_000);
      assert.deepEqual(reasons(bench, 80_000, snapshot([livePod("x", 10)], 9, 79_000)), {});
    });
  }

  test("the settle window goes on when other buckets change, and over a gap in the watch", () => {
    const bench = new Bench().see([single("x")], 0).see([single("x"), single("y")], 70_000, false);
    assert.deepEqual(reasons(bench, 76_000, snapshot([livePod("x", 10), livePod("y", 10)], 50, 75_000)), { window: 1 });
  });

  test("a pod that must not be fenced settles by the window, single or packed", () => {
    const bench = new Bench().see([single("x", 10), packed(["y"], 10)], 0);
    for (const uid of ["x", "y"]) {
      bench.fences.sending(uid, ms(10_000));
      bench.fences.refused(uid);
    }
    const pods = [livePod("x", 10), livePod("y", 10)];
    const waiting = bench.settle(74_000, snapshot(pods, 10, 73_000));
    assert.deepEqual([waiting.fence, waiting.barrierFromMs, waiting.settled.size], [[], 75_000, 0]);
    assert.deepEqual(reasons(bench, 76_000, snapshot(pods, 10, 75_000)), { window: 2 });
  });
});

test("a pod that is reviewed again is fenced 1 s after that, and then 2, 4, 8 ... s after its last fence", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  const alive = snapshot([livePod("x", 10)], 10);
  assert.deepEqual(bench.settle(5000, alive).fence, [], "it was reviewed once");
  let startTime = 1;
  let refreshedAtMs = 5000;
  const fencedAfterMs: number[] = [];
  let lastFencedAtMs = refreshedAtMs;
  for (let count = 0; count < 5; count += 1) {
    bench.see([single("x", 10, startTime++)], refreshedAtMs);
    const { wakeAtMs = 0, fence } = bench.settle(refreshedAtMs, alive);
    assert.deepEqual(fence, []);
    assert.deepEqual(bench.settle(wakeAtMs - 1, alive).fence, []);
    assert.deepEqual(bench.settle(wakeAtMs, alive).fence, ["x"]);
    fencedAfterMs.push(wakeAtMs - lastFencedAtMs);
    lastFencedAtMs = wakeAtMs;
    bench.fences.sending("x", ms(wakeAtMs));
    bench.fences.failed("x", ms(wakeAtMs), "refused");
    refreshedAtMs = wakeAtMs;
  }
  assert.deepEqual(fencedAfterMs, [1000, 2000, 4000, 8000, 16_000]);
});

test("a pod that gets a bucket again after it was fenced is fenced early", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  bench.fence("x", 10_000, 20);
  bench.see([], 11_000);
  bench.see([single("x", 20)], 15_000);
  assert.deepEqual(bench.settle(15_999, snapshot([livePod("x", 20)], 20)).fence, []);
  assert.deepEqual(bench.settle(16_000, snapshot([livePod("x", 20)], 20)).fence, ["x"]);
});

test("a snapshot below the version of a refreshed bucket does not fence early", () => {
  const bench = new Bench().see([single("x", 10)], 0).see([single("x", 30)], 1000);
  const behind = bench.settle(9000, snapshot([livePod("x", 10)], 20));
  assert.deepEqual(behind.fence, []);
});

describe("a fence that fails for ever", () => {
  const alive = (barrierSentAtMs: number) => snapshot([livePod("x", 10)], 10, barrierSentAtMs);
  function failing(failure: "refused" | "unanswered", sentAtMs: readonly number[] = [10_000, 20_000, 40_000, 80_000]) {
    const bench = new Bench().see([single("x", 10)], 0);
    bench.settle(0, alive(1));
    for (const sent of sentAtMs) {
      bench.fences.sending("x", ms(sent));
      bench.fences.failed("x", ms(sent), failure);
    }
    return bench;
  }

  test("is given up a settle window after the first patch when every patch was refused, by a barrier", () => {
    const waiting = failing("refused").settle(80_000, alive(79_000));
    assert.deepEqual([waiting.barrierFromMs, waiting.wakeAtMs, waiting.settled.size], [85_000, 85_000, 0]);
    assert.deepEqual(reasons(failing("refused"), 90_000, alive(85_000)), {});
    assert.deepEqual(reasons(failing("refused"), 90_000, alive(85_001)), { "gave-up": 1 });
  });

  test("is not given up without an answer: the patches may hang in the same stall as the deletion", () => {
    const bench = failing("unanswered");
    const waiting = bench.settle(10 ** 6, alive(10 ** 6));
    assert.deepEqual([waiting.settled.size, waiting.barrierFromMs, waiting.fence], [0, undefined, ["x"]]);
  });

  test("is given up when another write of ours, sent after the first patch, was carried out before the barrier", () => {
    const bench = failing("unanswered");
    bench.fences.wrote(ms(10_000), ms(10_001));
    assert.deepEqual(reasons(bench, 90_000, alive(90_000)), {}, "it was sent before the window began");
    bench.fences.wrote(ms(100_000), ms(101_000));
    const waiting = bench.settle(101_000, alive(90_000));
    assert.deepEqual([waiting.settled.size, waiting.barrierFromMs], [0, 101_000]);
    assert.deepEqual(reasons(bench, 102_000, alive(101_000)), {});
    assert.deepEqual(reasons(bench, 103_000, alive(101_001)), { "gave-up": 1 });
  });

  test("waits from the last time that it was not refused, unless another write of ours was carried out", () => {
    const bench = failing("unanswered", [10_000, 20_000]);
    bench.fences.sending("x", ms(40_000));
    bench.fences.failed("x", ms(40_000), "refused");
    assert.equal(bench.settle(60_000, alive(59_000)).barrierFromMs, 115_000);
    bench.fences.wrote(ms(50_000), ms(50_001));
    assert.equal(bench.settle(60_000, alive(59_000)).barrierFromMs, 85_000);
  });

  test("starts its window again when the bucket is refreshed, and counts only patches sent after that", () => {
    const bench = failing("refused", [10_000, 20_000]).see([single("x", 10, 5)], 70_000);
    assert.equal(bench.settle(80_000, alive(79_000)).barrierFromMs, undefined);
    bench.fences.sending("x", ms(81_000));
    bench.fences.failed("x", ms(81_000), "refused");
    assert.equal(bench.settle(82_000, alive(79_000)).barrierFromMs, 145_000);
    assert.deepEqual(reasons(bench, 150_000, alive(145_001)), { "gave-up": 1 });
  });

  test("is still tried again, and settles as fenced when a patch is answered after all", () => {
    const bench = failing("refused", [10_000, 20_000]);
    assert.deepEqual(bench.settle(50_000, alive(1)).fence, ["x"]);
    bench.fence("x", 50_000, 10);
    assert.deepEqual(reasons(bench, 51_000, alive(1)), { fenced: 1 });
  });
});

test("anonymous buckets settle their minimum over the last window, once a barrier was passed", () => {
  const bench = new Bench().see([anonymous(5)], 0).see([anonymous(8)], 50_000);
  const none = bench.settle(74_000, snapshot([], 50, 74_000));
  assert.deepEqual([none.settled.size, none.barrierFromMs], [0, 75_000]);
  const some = bench.settle(76_000, snapshot([], 50, 75_000));
  assert.deepEqual([[...some.settled], some.buckets[0]?.counter, some.barrierFromMs], [[["window", 5]], 3, 125_000]);
  bench.see(some.buckets, 76_000);
  assert.deepEqual(reasons(bench, 124_999, snapshot([], 50, 124_999)), {});
  assert.deepEqual(reasons(bench, 126_000, snapshot([], 50, 125_000)), { window: 3 });
});

test("what is due is spread over several anonymous buckets", () => {
  const bench = new Bench().see([anonymous(2), anonymous(3)], 0).see([anonymous(2), anonymous(4)], 60_000);
  const result = bench.settle(80_000, snapshot([], 50, 75_000));
  assert.deepEqual([[...result.settled], result.buckets.map(({ counter }) => counter)], [[["window", 5]], [1]]);
});

test("malformed buckets are anonymous: they hold their weight and settle by the slowest rule", () => {
  const broken: Bucket[] = [
    { startTime: "" },
    { ...packed(["x"], 10), counter: 9 },
    { startTime: "", podUID: "", counter: -4 },
  ];
  const bench = new Bench().see(broken, 0);
  assert.deepEqual(reasons(bench, 74_999, snapshot([], 999, 74_999)), {});
  const result = bench.settle(76_000, snapshot([], 999, 75_000));
  assert.deepEqual([[...result.settled], result.buckets], [[["window", 11]], []]);
});

test("buckets that were not the last to be observed are settled by nothing: asking is a programmer error", () => {
  const bench = new Bench();
  bench.buckets = [single("x"), single("y", 10), packed(["z"], 10)];
  const pods = [livePod("x", 10), livePod("y", 10), livePod("z", 10)];
  assert.throws(() => bench.settle(1e9, snapshot(pods, 10, 1e9)), /observed last/);
  bench.see(bench.buckets, 1);
  bench.settle(2, snapshot(pods, 10));
  bench.buckets = [...bench.buckets];
  assert.throws(() => bench.settle(1e9, snapshot(pods, 10, 1e9)), /observed last/);
});

test("the buckets that stay keep their order, and the same list comes back when nothing settles", () => {
  const bench = new Bench().see([single("x"), single("gone", 5), packed(["y"], 10), anonymous(2)], 0);
  const result = bench.settle(0, snapshot([livePod("x", 1), livePod("y", 1)], 10));
  assert.deepEqual(result.buckets, [bench.buckets[0], bench.buckets[2], bench.buckets[3]]);
  bench.see(result.buckets, 1);
  assert.equal(bench.settle(1, snapshot([livePod("x", 1), livePod("y", 1)], 10)).buckets, bench.buckets);
});
