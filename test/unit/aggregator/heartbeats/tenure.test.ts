import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { CellClaim } from "../../../../src/aggregator/heartbeats/cell-claim.ts";
import { Tenure } from "../../../../src/aggregator/heartbeats/tenure.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

class Bench {
  readonly clock = createVirtualClock();
  readonly log = new RecordedLog();
  readonly events: string[] = [];
  readonly silences: (string | undefined)[] = [];
  readonly terms: { readonly takesOver: boolean; readonly atMs: number; endedAtMs?: number }[] = [];
  readonly claims: string[] = [];
  uid = "cluster-1";
  lease: CellLease | undefined;
  claimFails: KubeError | undefined;
  readFails: KubeError | undefined;
  uidFails: KubeError | undefined;
  readonly tenure: Tenure;
  readonly #leadership = new AbortController();
  readonly #running: Promise<void>;

  constructor(lease: CellLease | undefined, uidFails?: KubeError) {
    this.lease = lease;
    this.uidFails = uidFails;
    const { clock } = this;
    const times = silenceTimes(180_000);
    const worker = createScriptedKubeClient();
    worker.onRequest = () => {
      if (this.uidFails !== undefined) throw this.uidFails;
      return { metadata: { uid: this.uid } };
    };
    this.tenure = new Tenure({
      core: "core",
      cellID: "a",
      namespace: "default",
      times,
      worker,
      writer: {
        read: async () => {
          if (this.readFails !== undefined) throw this.readFails;
          return this.lease;
        },
        claim: async (_known, clusterUID) => {
          const failure = this.claimFails;
          this.claimFails = undefined;
          if (failure !== undefined) throw failure;
          this.claims.push(clusterUID ?? "");
        },
      },
      claim: new CellClaim({ identity: "me", times, overlapMs: 30_000 }),
      events: { record: (_regarding, _type, reason) => void this.events.push(reason) },
      clock,
      logger: this.log,
      metrics: { setSilence: (_core, silence) => void this.silences.push(silence), clusterUnknown: { inc() {} } },
    });
    this.#running = this.tenure.run(this.#leadership.signal, async (signal, takesOver) => {
      const term: Bench["terms"][number] = { takesOver, atMs: clock.monotonicMs() };
      this.terms.push(term);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      term.endedAtMs = clock.monotonicMs();
    });
  }

  async stop(): Promise<void> {
    this.#leadership.abort();
    await this.#running;
    assert.equal(this.clock.pendingTimers, 0);
  }
}

const lease = (clusterUID: string, holderIdentity = "other"): CellLease =>
  ({ name: "cell-a", uid: "uid", holderIdentity, beat: holderIdentity, clusterUID }) as CellLease;

test("works at once where the cell is nobody else's, until leadership ends", async () => {
  const bench = new Bench(undefined);
  await bench.clock.advance(1000);
  await bench.stop();
  assert.deepEqual(bench.terms, [{ takesOver: false, atMs: 0, endedAtMs: 1000 }]);
  assert.equal(bench.tenure.clusterUID, "cluster-1");
  assert.equal(bench.silences.at(-1), undefined);
});

test("waits while another cluster holds the cell and says so, then claims it and takes over", async () => {
  const bench = new Bench(lease("cluster-2"));
  await bench.clock.advance(100_000);
  assert.deepEqual(bench.terms, []);
  assert.match(bench.tenure.problem() ?? "", /cluster-2, ours cluster-1.*adopt=cluster-1/);
  assert.deepEqual(new Set(bench.events), new Set(["CellHeldByOtherCluster"]));
  assert.equal(bench.log.lines.filter(({ level }) => level === "error").length, 1);
  assert.equal(bench.silences.at(-1), "held-by-other-cluster");
  await bench.clock.advance(80_000);
  assert.deepEqual(bench.terms, [{ takesOver: true, atMs: 180_000 }]);
  assert.deepEqual(bench.claims, ["cluster-1"]);
  assert.equal(bench.tenure.problem(), undefined);
  await bench.stop();
});

test("of two clusters that take over at once, the one whose claim is refused looks again", async () => {
  const bench = new Bench(lease("cluster-2"));
  await bench.clock.advance(170_000);
  bench.claimFails = new KubeError("conflict", "somebody was faster");
  await bench.clock.advance(11_000);
  assert.deepEqual(bench.claims, []);
  assert.deepEqual(bench.terms, []);
  await bench.clock.advance(2000);
  assert.deepEqual(bench.claims, ["cluster-1"]);
  await bench.stop();
});

test("a silent clone is taken over from also when the first claim fails", async () => {
  const beat = (number: number): CellLease => ({ ...lease("cluster-1", "clone"), beat: `clone ${number}` });
  const bench = new Bench(beat(1));
  await bench.clock.advance(31_000);
  assert.equal(bench.tenure.mayBeat(beat(2)), true);
  await bench.clock.advance(10_000);
  bench.lease = beat(3);
  assert.equal(bench.tenure.mayBeat(beat(3)), false);
  assert.match(bench.tenure.problem() ?? "", /a clone with the same UID/);
  bench.claimFails = new KubeError("serverError", "restarting");
  await bench.clock.advance(200_000);
  const takesOvers = bench.terms.map(({ takesOver }) => takesOver);
  assert.deepEqual(takesOvers, [false, true]);
  assert.deepEqual(bench.claims, ["cluster-1"]);
  await bench.stop();
});

test("a worker that was exchanged behind its address ends the term within 90 s", async () => {
  const bench = new Bench(lease("cluster-1", "me"));
  await bench.clock.advance(50_000);
  bench.uid = "cluster-9";
  await bench.clock.advance(50_000);
  assert.equal(bench.terms[0]?.endedAtMs, 90_000);
  assert.match(bench.tenure.problem() ?? "", /ours cluster-9/);
  await bench.stop();
});

test("a Lease that another cluster has taken ends the term before the next beat", async () => {
  const bench = new Bench(lease("cluster-1", "me"));
  await bench.clock.advance(1000);
  assert.equal(bench.tenure.mayBeat(lease("cluster-1", "successor")), true);
  bench.lease = lease("cluster-2");
  assert.equal(bench.tenure.mayBeat(bench.lease), false);
  await bench.clock.advance(0);
  assert.equal(bench.terms[0]?.endedAtMs, 1000);
  assert.notEqual(bench.tenure.problem(), undefined);
  await bench.stop();
  assert.equal(bench.tenure.problem(), undefined, "a standby holds nothing up");
});

const forbidden = new KubeError("forbidden", "an API server that has just started");
const missing = new KubeError("notFound", "no namespace kube-system");

test("without the right to read the Lease nobody is told apart", async () => {
  const bench = new Bench(undefined);
  bench.readFails = forbidden;
  await bench.clock.advance(0);
  assert.deepEqual(bench.terms, [{ takesOver: false, atMs: 0 }]);
  await bench.stop();
});

test("a cell that another cluster holds stays its cell while everything is forbidden for a moment", async () => {
  for (const [what, failure] of [
    ["readFails", forbidden],
    ["uidFails", forbidden],
    ["uidFails", missing],
  ] as const) {
    const bench = new Bench(lease("cluster-2"));
    await bench.clock.advance(14_000);
    bench[what] = failure;
    await bench.clock.advance(20_000);
    assert.deepEqual(bench.terms, [], what);
    bench[what] = undefined;
    await bench.clock.advance(20_000);
    assert.deepEqual(bench.terms, [], what);
    assert.match(bench.tenure.problem() ?? "", /cluster-2, ours cluster-1/);
    await bench.stop();
  }
});

test("a cell that was just lost is not counted again because the next look is forbidden", async () => {
  const bench = new Bench(lease("cluster-1", "me"));
  await bench.clock.advance(1000);
  bench.readFails = forbidden;
  assert.equal(bench.tenure.mayBeat(lease("cluster-2")), false);
  await bench.clock.advance(20_000);
  assert.equal(bench.terms.length, 1);
  await bench.stop();
});

test("a right that is gone for three minutes ends the wait for the other cluster", async () => {
  const bench = new Bench(lease("cluster-2"));
  await bench.clock.advance(14_000);
  bench.readFails = forbidden;
  await bench.clock.advance(180_000);
  assert.deepEqual(bench.terms, []);
  await bench.clock.advance(20_000);
  assert.equal(bench.terms.length, 1);
  await bench.stop();
});

test("without the UID the cell is counted, one line says so, and the UID is learned within 90 s", async () => {
  for (const failure of [forbidden, missing]) {
    const bench = new Bench(lease("cluster-1", "me"), failure);
    await bench.clock.advance(0);
    assert.equal(bench.tenure.clusterUID, undefined);
    assert.equal(bench.terms.length, 1, failure.kind);
    await bench.clock.advance(90_000);
    assert.equal(bench.log.lines.filter(({ level }) => level === "warn").length, 1);
    bench.uidFails = undefined;
    await bench.clock.advance(90_000);
    assert.equal(bench.tenure.clusterUID, "cluster-1");
    assert.equal(bench.terms.length, 1);
    await bench.stop();
  }
});

test("an interrupted term is followed by another, which looks at the Lease first", async () => {
  const bench = new Bench(lease("cluster-1"));
  bench.tenure.interrupt();
  await bench.clock.advance(1000);
  bench.tenure.interrupt();
  bench.lease = lease("cluster-2");
  await bench.clock.advance(60_000);
  assert.deepEqual(bench.terms, [{ takesOver: false, atMs: 0, endedAtMs: 1000 }]);
  assert.equal(bench.events[0], "CellHeldByOtherCluster");
  await bench.stop();
});
