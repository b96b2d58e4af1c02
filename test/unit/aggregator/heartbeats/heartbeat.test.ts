import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { type Beat } from "../../../../src/aggregator/heartbeats/cell-lease-writer.ts";
import { createHeartbeatMetrics } from "../../../../src/aggregator/metrics.ts";
import { type ProvableWatch } from "../../../../src/aggregator/watching/barrier.ts";
import { type MicroTime, readMicroTime } from "../../../../src/api/micro-time.ts";
import { Heartbeat } from "../../../../src/aggregator/heartbeats/heartbeat.ts";
import { digestOfUID, unpackDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { later, longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { type CountingMetrics, createCountingMetrics } from "../../kube/counting-metrics.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

class Watch implements ProvableWatch {
  passedSentAtMs: MonotonicMs = longAgo;
  waitingSinceMs: MonotonicMs | undefined;
  /** Each barrier is passed after this long; undefined = never. */
  delayMs: number | undefined = 100;
  readonly #clock: VirtualClock;
  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }
  want(fromMs: MonotonicMs): void {
    if (this.delayMs !== undefined)
      this.#clock.setTimer(this.delayMs, () => void (this.passedSentAtMs = later(fromMs, 1)));
  }
  relist(): void {}
}

class Bench {
  readonly clock = createVirtualClock();
  readonly log = new RecordedLog();
  readonly metrics: CountingMetrics = createCountingMetrics();
  readonly pods = new Watch(this.clock);
  readonly protectors = new Watch(this.clock);
  readonly beats: (Beat & { readonly atMs: number })[] = [];
  readonly roundsAtMs: number[] = [];
  /** When the term was ended. */
  readonly interruptedAtMs: number[] = [];
  silentSince: MicroTime | undefined;
  reads = 0;
  mayBeat = true;
  gate: string | null | undefined;
  behind: readonly string[] = [];
  readonly backlog = {
    startRound: () => void this.roundsAtMs.push(this.clock.monotonicMs()),
    behind: () => this.behind,
    isRoundDone: true,
  };
  fail: KubeErrorKind | undefined;
  readonly heartbeat: Heartbeat;
  #term = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor() {
    const { clock } = this;
    const lease = { name: "lease" } as CellLease;
    this.heartbeat = new Heartbeat({
      core: "core",
      times: silenceTimes(180_000),
      pods: this.pods,
      protectors: this.protectors,
      backlog: this.backlog,
      writer: {
        read: async () => {
          this.reads += 1;
          return { ...lease, silentSince: this.silentSince };
        },
        beat: async (_known, beat) => {
          const { fail } = this;
          if (fail === "conflict") this.fail = undefined;
          if (fail !== undefined) throw new KubeError(fail, `scripted ${fail}`);
          this.beats.push({ ...beat, atMs: clock.monotonicMs() });
          return lease;
        },
      },
      tenure: {
        clusterUID: "cluster-1",
        mayBeat: () => this.mayBeat,
        beaten() {},
        interrupt: () => {
          this.interruptedAtMs.push(clock.monotonicMs());
          this.#term.abort();
        },
      },
      settleWindowMs: 75_000,
      gate: () => this.gate,
      clock,
      rng: createSeededRng(1),
      logger: this.log,
      metrics: createHeartbeatMetrics(this.metrics),
    });
  }

  /** Leads, and lets time pass. */
  async lead(ms = 0): Promise<void> {
    this.#term = new AbortController();
    this.#running = this.heartbeat.run(this.#term.signal);
    await this.clock.advance(ms);
  }

  sentAtMs(): number[] {
    return this.beats.map(({ atMs }) => atMs);
  }

  async depose(): Promise<void> {
    this.#term.abort();
    await this.#running;
  }

  /** Beats since `fromMs`. */
  since(fromMs: number): number {
    return this.beats.filter(({ atMs }) => atMs >= fromMs).length;
  }

  sent(result: string): number {
    return this.metrics.value("aggregator_heartbeat_total", { core: "core", result });
  }

  silence(reason: string): number {
    return this.metrics.value("aggregator_heartbeat_silence", { core: "core", reason });
  }
}

function onBench(name: string, play: (bench: Bench) => Promise<void>): void {
  test(name, async () => {
    const bench = new Bench();
    await play(bench);
    await bench.depose();
  });
}

onBench("beats every ten seconds, on what it wrote last", async (bench) => {
  await bench.lead(60_000);
  assert.deepEqual(bench.sentAtMs(), [2000, 12_000, 22_000, 32_000, 42_000, 52_000]);
  assert.equal(bench.reads, 1);
  assert.equal(bench.heartbeat.ageMs(), 8000);
  assert.equal(bench.sent("sent"), 6);
});

for (const which of ["pods", "protectors"] as const) {
  onBench(
    `without a barrier of the last 90 s that the watch of ${which} has passed, no beat is sent`,
    async (bench) => {
      const reason = which === "pods" ? "pods-not-fresh" : "podprotectors-not-fresh";
      bench[which].delayMs = undefined;
      await bench.lead(300_000);
      assert.equal(bench.beats.length, 0);
      assert.equal(bench.silence(reason), 1);
      bench[which].delayMs = 100;
      await bench.clock.advance(25_000);
      assert.ok(bench.beats.length > 0);
      assert.equal(bench.silence(reason), 0);
      const stoppedAtMs = bench.clock.monotonicMs();
      bench[which].delayMs = undefined;
      await bench.clock.advance(300_000);
      assert.ok(bench.beats.every(({ atMs }) => atMs <= stoppedAtMs + 90_000));
    },
  );
}

onBench("where a touch moves the pods, their barrier must be of the last 30 s", async (bench) => {
  await bench.lead(5000);
  bench.pods.delayMs = 60_000;
  await bench.clock.advance(120_000);
  const before = bench.beats.length;
  assert.ok(before > 3, "60 s late is fresh without a touch");
  for (let second = 0; second < 60; second++) {
    bench.heartbeat.touched(bench.clock.monotonicMs());
    await bench.clock.advance(1000);
  }
  assert.equal(bench.beats.length, before);
  assert.equal(bench.silence("pods-not-fresh"), 1);
  await bench.clock.advance(100_000);
  assert.equal(bench.beats.length, before, "touches that have just stopped say that the worker may be gone");
  await bench.clock.advance(30_000);
  assert.ok(bench.beats.length > before, "touches that fail prove nothing about the watch");
});

onBench("a worker that dies, and its touches with it, stops the beats within 30 s", async (bench) => {
  await bench.lead();
  for (let second = 0; second < 60; second++) {
    bench.heartbeat.touched(bench.clock.monotonicMs());
    await bench.clock.advance(1000);
  }
  const diedAtMs = bench.clock.monotonicMs();
  bench.pods.delayMs = undefined;
  await bench.clock.advance(300_000);
  assert.equal(bench.since(diedAtMs + 30_001), 0);
});

for (const [countedAfterMs, firstBeatMs] of [
  [20_500, 22_000],
  [200_000, 62_000],
] as const) {
  onBench(
    `the first beat waits at most a minute until everything was counted (after ${countedAfterMs} ms)`,
    async (bench) => {
      bench.backlog.isRoundDone = false;
      bench.clock.setTimer(countedAfterMs, () => void (bench.backlog.isRoundDone = true));
      await bench.lead();
      assert.equal(bench.heartbeat.ageMs(), Number.POSITIVE_INFINITY);
      await bench.clock.advance(10_000);
      assert.equal(bench.silence("first-counts"), 1);
      await bench.clock.advance(60_000);
      assert.equal(bench.beats[0]?.atMs, firstBeatMs);
      assert.deepEqual(bench.roundsAtMs, [2000]);
    },
  );
}

onBench("PodProtectors that are behind are named by the digests of their UIDs", async (bench) => {
  bench.behind = ["uid-1", "uid-2"];
  await bench.lead(5000);
  const digests = unpackDigests(bench.beats[0]?.behind ?? "");
  assert.deepEqual(digests?.list(), [digestOfUID("uid-1"), digestOfUID("uid-2")]);
  assert.equal(bench.metrics.value("aggregator_heartbeat_behind", { core: "core" }), 2);
  bench.behind = [];
  await bench.clock.advance(10_000);
  assert.equal(bench.beats[1]?.behind, undefined);
});

onBench("with more than 5,000 behind no beat is sent, and that is said loudly", async (bench) => {
  bench.behind = Array.from({ length: 5001 }, (_, index) => `uid-${index}`);
  await bench.lead(30_000);
  assert.equal(bench.beats.length, 0);
  assert.equal(bench.silence("too-many-behind"), 1);
  assert.equal(bench.log.lines.filter(({ level }) => level === "error").length, 1);
  bench.behind = bench.behind.slice(1);
  await bench.clock.advance(3000);
  assert.equal(bench.beats.length, 1);
});

onBench("a Lease that somebody else has written is read again, within the same beat", async (bench) => {
  await bench.lead(5000);
  bench.fail = "conflict";
  await bench.clock.advance(10_000);
  assert.equal(bench.beats.length, 2);
  assert.equal(bench.reads, 2);
});

onBench("after a lost answer the Lease is read before the next beat", async (bench) => {
  await bench.lead(5000);
  bench.fail = "network";
  await bench.clock.advance(10_000);
  assert.equal(bench.silence("write-failed"), 1);
  assert.equal(bench.sent("network"), 1);
  bench.fail = undefined;
  await bench.clock.advance(10_000);
  assert.equal(bench.beats.length, 2);
  assert.equal(bench.reads, 2);
  assert.equal(bench.silence("write-failed"), 0);
});

onBench(
  "without the right to write Leases it says so once, and after three minutes it tries every three minutes",
  async (bench) => {
    bench.fail = "forbidden";
    await bench.lead(900_000);
    const tried = bench.sent("forbidden");
    // 2 s, 12 s, … 182 s; then 362 s, 542 s, 722 s.
    assert.equal(tried, 19 + 3);
    assert.equal(bench.silence("forbidden"), 1);
    assert.equal(bench.log.lines.filter(({ message }) => message.startsWith("Not allowed")).length, 1);
  },
);

onBench("an API server that forbids everything for a moment does not silence the cell", async (bench) => {
  await bench.lead(20_000);
  bench.fail = "forbidden";
  await bench.clock.advance(5000);
  bench.fail = undefined;
  await bench.clock.advance(20_000);
  assert.deepEqual(bench.sentAtMs(), [2000, 12_000, 32_000, 42_000]);
});

onBench("a first beat that is forbidden once is sent ten seconds later", async (bench) => {
  bench.fail = "forbidden";
  await bench.lead(5000);
  bench.fail = undefined;
  await bench.clock.advance(15_000);
  assert.deepEqual(bench.sentAtMs(), [12_000]);
});

onBench(
  "a right that was there and is gone for three minutes is tried again every three minutes only",
  async (bench) => {
    await bench.lead(20_000);
    bench.fail = "forbidden";
    await bench.clock.advance(180_000);
    const triedBefore = bench.sent("forbidden");
    await bench.clock.advance(540_000);
    assert.equal(bench.sent("forbidden"), (triedBefore ?? 0) + 3);
    assert.equal(bench.log.lines.filter(({ message }) => message.startsWith("Not allowed")).length, 1);
  },
);

onBench("after a gap of more than 90 s there is a round again, and none while beats are in time", async (bench) => {
  await bench.lead(200_000);
  assert.equal(bench.roundsAtMs.length, 1);
  bench.pods.delayMs = undefined;
  await bench.clock.advance(400_000);
  assert.equal(bench.roundsAtMs.length, 1);
  bench.pods.delayMs = 100;
  const backAtMs = bench.clock.monotonicMs();
  await bench.clock.advance(60_000);
  assert.equal(bench.roundsAtMs.length, 2);
  assert.ok((bench.roundsAtMs[1] ?? 0) > backAtMs);
  assert.ok(bench.since(backAtMs) > 2);
});

onBench("each term begins with a round, and a process that does not lead is silent for no reason", async (bench) => {
  await bench.lead(15_000);
  await bench.depose();
  const { length } = bench.beats;
  await bench.clock.advance(60_000);
  assert.equal(bench.beats.length, length);
  assert.equal(bench.silence("pods-not-fresh"), 0);
  await bench.lead(15_000);
  assert.equal(bench.roundsAtMs.length, 2);
  assert.equal(bench.reads, 2);
});

onBench("after a suspension the term ends, and barriers that were sent before it vouch for nothing", async (bench) => {
  await bench.lead(15_000);
  bench.clock.jumpWallClock(45_000);
  bench.pods.delayMs = undefined;
  await bench.clock.advance(3000);
  assert.deepEqual(bench.interruptedAtMs, [16_000]);
  await bench.lead(60_000);
  assert.equal(bench.since(15_000), 0, "the pods have passed a barrier a moment ago, by a clock that stood still");
  assert.equal(bench.silence("pods-not-fresh"), 1);
  bench.pods.delayMs = 100;
  await bench.clock.advance(25_000);
  assert.equal(bench.roundsAtMs.length, 2);
  assert.ok(bench.since(75_000) > 0);
});

onBench("a clock that is set to and fro ends one term in a settle window", async (bench) => {
  await bench.lead(15_000);
  for (let second = 15; second < 300; second += 15) {
    bench.clock.jumpWallClock(second % 2 === 0 ? -600_000 : 600_000);
    await bench.clock.advance(15_000);
    if (bench.interruptedAtMs.length > 0) await bench.lead();
  }
  assert.ok(bench.interruptedAtMs.length <= 4, String(bench.interruptedAtMs));
  assert.ok(bench.beats.length > 10, "the cell is heard all the same");
});

onBench("steps back and short ones end no term", async (bench) => {
  await bench.lead(15_000);
  bench.clock.jumpWallClock(-3_600_000);
  await bench.clock.advance(15_000);
  bench.clock.jumpWallClock(44_000);
  await bench.clock.advance(15_000);
  assert.deepEqual(bench.interruptedAtMs, []);
});

onBench("a mark of silence that is younger than the last accepted beat ends the term", async (bench) => {
  await bench.lead(15_000);
  bench.fail = "conflict";
  bench.silentSince = readMicroTime("2026-01-01T00:00:00.000000Z");
  await bench.clock.advance(10_000);
  assert.deepEqual(bench.interruptedAtMs, [22_000]);
  await bench.lead(15_000);
  assert.equal(bench.interruptedAtMs.length, 1, "what it counts then clears the mark");
  assert.ok(bench.since(22_000) > 0);
});

onBench("a mark of silence after a gap between beats is right, and ends no term", async (bench) => {
  await bench.lead(15_000);
  bench.fail = "network";
  await bench.clock.advance(200_000);
  bench.fail = undefined;
  bench.silentSince = readMicroTime("2026-01-01T00:00:00.000000Z");
  const { length } = bench.beats;
  await bench.clock.advance(30_000);
  assert.deepEqual(bench.interruptedAtMs, []);
  assert.ok(bench.beats.length > length);
});
