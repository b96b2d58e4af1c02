import assert from "node:assert/strict";
import { test } from "node:test";
import { settledBy, type Situation } from "./naive-model.ts";
import { Bench, livePod, packed, settlementConfig, single, snapshot } from "./samples.ts";
import { at as ms } from "../../support/moment.ts";

const names = ["x", "y", "z", "w"];

const seenAt = 1000;
const now = 200_000;

/** All combinations of one value of each list. */
function product<A, B>(a: readonly A[], b: readonly B[]): (A & B)[] {
  return a.flatMap((one) => b.map((other) => ({ ...one, ...other })));
}

function situations(): Situation[] {
  const window = seenAt + settlementConfig.settleWindowMs;
  const pods: readonly Situation["pod"][] = ["absent", "terminating", ...[1, 2, 3, 4].map((one) => ({ version: one }))];
  const fences = [seenAt - 1, seenAt, seenAt + 1].flatMap((sentAt) => [2, 4].map((one) => ({ sentAt, version: one })));
  const barriers = [-Infinity, seenAt - 1, seenAt, seenAt + 1, window - 1, window];
  const snapshots = product(
    pods.map((one) => ({ seenAt, pod: one })),
    [1, 2, 3, 4, 5].map((one) => ({ snapshot: one })),
  ).filter((one) => typeof one.pod === "string" || one.pod.version <= one.snapshot);
  const known = product(
    barriers.map((barrierSentAt) => ({ barrierSentAt })),
    [undefined, 1, 2, 3, 4, 99].map((one) => ({ version: one })),
  );
  const fenced = product(
    [undefined, ...fences].map((fence) => ({ fence })),
    [false, true].map((fenceForbidden) => ({ fenceForbidden })),
  );
  return product(product(snapshots, known), fenced);
}

function settleOne(one: Situation, form: "single" | "packed"): string | undefined {
  const bench = new Bench();
  if (one.fence !== undefined) bench.fence("x", one.fence.sentAt, one.fence.version);
  if (one.fenceForbidden) {
    bench.fences.sending("x", ms(seenAt));
    bench.fences.refused("x");
  }
  bench.see([form === "single" ? single("x", one.version) : packed(["x"], one.version ?? 0)], seenAt);
  const pods =
    one.pod === "absent"
      ? []
      : [livePod("x", one.pod === "terminating" ? 1 : one.pod.version, one.pod === "terminating")];
  return [...bench.settle(now, snapshot(pods, one.snapshot, one.barrierSentAt)).settled.keys()][0];
}

test("settlement agrees with the naive table for one bucket in every situation", () => {
  let compared = 0;
  for (const one of situations()) {
    const expected = settledBy(one, settlementConfig.settleWindowMs);
    assert.equal(settleOne(one, "single"), expected, JSON.stringify(one));
    if (one.version !== undefined) assert.equal(settleOne(one, "packed"), expected, JSON.stringify(one));
    compared += 1;
  }
  assert.ok(compared > 10_000);
});

test("what is not settled always says what it waits for: an event, a barrier, a fence or a time", () => {
  for (const one of situations()) {
    if (one.pod === "absent" || one.pod === "terminating" || settleOne(one, "single") !== undefined) continue;
    const bench = new Bench().see([single("x", one.version)], seenAt);
    const seen = snapshot([livePod("x", one.pod.version)], one.snapshot, one.barrierSentAt);
    const { barrierFromMs, wakeAtMs, fence } = bench.settle(now, seen);
    assert.ok(barrierFromMs !== undefined || wakeAtMs !== undefined || fence.length > 0, JSON.stringify(one));
    // A barrier that was passed already is never what is waited for.
    if (barrierFromMs !== undefined) assert.ok(one.barrierSentAt < barrierFromMs || one.barrierSentAt === seenAt);
  }
});

test("buckets settle independently of each other: all triples of pods and versions", () => {
  const states = [
    undefined,
    ...[1, 3].flatMap((podVersion) => [livePod("?", podVersion), livePod("?", podVersion, true)]),
  ];
  const choices = states.flatMap((state) => [undefined, 2, 4].map((podVersion) => ({ state, podVersion })));
  const settledAlone = (choice: (typeof choices)[number], uid: string): boolean => {
    const bench = new Bench().see([single(uid, choice.podVersion)], 0);
    return bench.settle(1, snapshot(choice.state === undefined ? [] : [{ ...choice.state, uid }], 3)).settled.size > 0;
  };
  for (const first of choices) {
    for (const second of choices) {
      for (const third of choices) {
        const all = [first, second, third].map((choice, index) => ({ ...choice, uid: names[index] ?? "" }));
        const bench = new Bench().see(
          all.map(({ uid, podVersion }) => single(uid, podVersion)),
          0,
        );
        const pods = all.flatMap(({ state, uid }) => (state === undefined ? [] : [{ ...state, uid }]));
        const kept = bench.settle(1, snapshot(pods, 3)).buckets.map(({ podUID }) => podUID);
        assert.deepEqual(
          kept,
          all.filter((one) => !settledAlone(one, one.uid)).map(({ uid }) => uid),
        );
      }
    }
  }
});
