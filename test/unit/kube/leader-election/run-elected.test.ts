import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdentity, runElected } from "../../../../src/kube/leader-election/index.ts";
import { createHealth, type HealthAnswer } from "../../../../src/observability/health.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { config, election, type Lease } from "./lease-rig.ts";

test("the first candidate creates the Lease, works at once and renews every retry period", async (t) => {
  const { clock, server, stand, spec } = election(t);
  const a = stand("a");
  await clock.advance(0);
  assert.deepEqual(a.log, ["starts 0"]);
  assert.deepEqual([a.events("acquired"), a.events("lost")], [1, 0]);
  assert.deepEqual(server.lease?.spec, {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 0,
  });
  await clock.advance(60_000);
  assert.equal(server.writes.length, 31);
  assert.equal(spec("acquireTime"), "2026-01-01T00:00:00.000000Z");
  assert.equal(spec("renewTime"), "2026-01-01T00:01:00.000000Z");
  assert.equal(
    a.net.client.requests.filter(({ method }) => method === "GET").length,
    1,
    "a holder writes without reading",
  );
  assert.equal(a.heartbeat(), 60);
});

test("a graceful stop keeps the Lease until the work has drained, then releases it", async (t) => {
  const { clock, stand, spec } = election(t);
  const a = stand("a", { drainMs: 20_000 });
  await clock.advance(1_000);
  const b = stand("b");
  a.stop.abort();
  await clock.advance(19_000);
  assert.deepEqual(a.log, ["starts 0", "told 1000"]);
  assert.equal(spec("holderIdentity"), "a");
  assert.deepEqual(b.log, []);
  await clock.advance(1_001);
  await a.running;
  assert.equal(a.log.at(-1), "ends 21000");
  assert.equal(spec("holderIdentity"), "");
  assert.equal(spec("leaseDurationSeconds"), 1);
  assert.equal(spec("leaseTransitions"), 0);
  assert.equal(a.heartbeat(), 0);
  assert.deepEqual([a.events("acquired"), a.events("lost")], [1, 1]);
  await clock.advance(5_000);
  assert.equal(spec("holderIdentity"), "b");
  assert.equal(spec("leaseTransitions"), 1);
  assert.equal(b.log.length, 1, "the next candidate need not wait for the lease duration");
});

test("a holder that cannot renew stops its work before another may start, and then tries to acquire", async (t) => {
  for (const failure of ["down", "hangs", "loseAnswers"] as const) {
    const { clock, stand } = election(t);
    const a = stand("a");
    const b = stand("b");
    await clock.advance(100_000);
    a.net[failure] = true;
    let bothWorked = false;
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000);
      bothWorked ||= a.state.working && b.state.working;
    }
    assert.equal(bothWorked, false, failure);
    assert.equal(a.state.working, false, failure);
    assert.equal(a.events("lost"), 1, failure);
    assert.equal(b.state.working, true, failure);
    a.net[failure] = false;
    await clock.advance(30_000);
    assert.notEqual(a.state.working, b.state.working, failure);
    b.stop.abort();
    await clock.advance(10_000);
    await b.running;
    assert.equal(a.state.working, true, `${failure}: the first one leads again`);
    assert.equal(a.events("acquired"), 2);
  }
});

test("the work of a holder whose requests hang is told to stop within the renew deadline", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a");
  await clock.advance(2_500);
  a.net.hangs = true;
  await clock.advance(30_000);
  assert.deepEqual(a.log, ["starts 0", "told 12000", "ends 12000"], "the last renewal began at 2000");
});

test("a candidate that needed nearly the whole renew deadline to acquire the Lease renews it in time", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a", { slowMs: 4_700 });
  await clock.advance(9_400);
  assert.deepEqual(a.log, ["starts 9400"]);
  a.net.slowMs = 0;
  await clock.advance(60_000);
  assert.deepEqual(a.log, ["starts 9400"]);
});

test("a failure shorter than the renew deadline costs nothing", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a");
  await clock.advance(4_500);
  a.net.down = true;
  await clock.advance(7_000);
  a.net.down = false;
  await clock.advance(60_000);
  assert.deepEqual(a.log, ["starts 0"]);
});

test("a client-go holder is left its lease duration, timed from the last change that was seen", async (t) => {
  const { clock, server, stand, spec } = election(t);
  // Its clock is an hour behind: only changes count.
  const hold = (renewTime: string): Lease =>
    server.put({
      metadata: { name: "podseidon-test", namespace: "default", labels: { kept: "yes" } },
      spec: {
        holderIdentity: "go_1",
        leaseDurationSeconds: 40,
        acquireTime: "2025-12-31T23:00:00.000000Z",
        renewTime,
        leaseTransitions: 7,
        preferredHolder: "x",
      },
    });
  hold("2025-12-31T23:00:00.000000Z");
  const a = stand("a");
  await clock.advance(20_000);
  hold("2025-12-31T23:00:20.000000Z");
  const renewals = server.writes.length;
  await clock.advance(39_000);
  assert.equal(server.writes.length, renewals);
  assert.equal(a.state.working, false);
  await clock.advance(10_000);
  assert.equal(a.state.working, true);
  assert.deepEqual([spec("holderIdentity"), spec("leaseTransitions"), spec("leaseDurationSeconds")], ["a", 8, 15]);
  assert.equal(spec("preferredHolder"), "x", "fields of others are kept");
  assert.deepEqual(server.lease?.metadata.labels, { kept: "yes" });
});

test("jumps of the wall clock change nothing", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a");
  const b = stand("b");
  for (const jumpMs of [3_600_000, -7_200_000, 86_400_000]) {
    await clock.advance(30_000);
    clock.jumpWallClock(jumpMs);
  }
  await clock.advance(30_000);
  assert.equal(a.log.length + b.log.length, 1, "one leader from the start to the end");
});

test("a holder that finds another in the Lease stops at once", async (t) => {
  const { clock, server, stand, spec } = election(t);
  const a = stand("a");
  await clock.advance(3_000);
  server.put({ ...server.lease!, spec: { ...server.lease!.spec, holderIdentity: "thief" } });
  await clock.advance(1_000);
  assert.deepEqual(a.log, ["starts 0", "told 4000", "ends 4000"]);
  assert.equal(spec("holderIdentity"), "thief");
  a.stop.abort();
  await a.running;
  assert.equal(spec("holderIdentity"), "thief", "what is lost is not released");
});

test("a deleted or touched Lease is taken back by its holder without a break", async (t) => {
  const { clock, server, stand } = election(t);
  const a = stand("a");
  await clock.advance(3_000);
  server.lease = undefined;
  await clock.advance(5_000);
  assert.equal((server.lease as Lease | undefined)?.spec["holderIdentity"], "a");
  server.put({
    ...server.lease!,
    metadata: { ...(server.lease as unknown as Lease).metadata, labels: { touched: "yes" } },
  });
  await clock.advance(20_000);
  assert.deepEqual(a.log, ["starts 0"]);
});

test("five candidates: never two work, and the next one follows each that leaves", async (t) => {
  const { clock, stand } = election(t);
  const all = ["a", "bb", "ccc", "dddd", "eeeee"].map((name) => stand(name));
  for (let left = all.length; left > 0; left--) {
    await clock.advance(30_000);
    const working = all.filter(({ state }) => state.working);
    assert.equal(working.length, 1);
    working[0]!.stop.abort();
    await clock.advance(0);
    await working[0]!.running;
  }
});

test("a candidate that is stopped while it waits ends at once and has written nothing", async (t) => {
  const { clock, stand } = election(t);
  stand("a");
  await clock.advance(1_000);
  const b = stand("b");
  await clock.advance(10_000);
  b.net.hangs = true;
  await clock.advance(6_000);
  b.stop.abort();
  await b.running;
  assert.ok(b.net.client.requests.every(({ method }) => method === "GET"));
  assert.deepEqual([b.events("acquired"), b.heartbeat()], [0, 0]);
});

test("without election the work runs at once and no Lease is touched", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a", { change: { enable: false } });
  await clock.advance(100_000);
  assert.equal(a.state.working, true);
  assert.equal(a.heartbeat(), 100);
  a.stop.abort();
  await a.running;
  assert.equal(a.net.client.requests.length, 0);
});

test("an outage is told when it begins and when it is over, by candidates and by leaders", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a");
  a.net.down = true;
  await clock.advance(60_000);
  a.net.down = false;
  await clock.advance(10_000);
  a.net.down = true;
  await clock.advance(5_000);
  a.net.down = false;
  await clock.advance(5_000);
  a.stop.abort();
  await a.running;
  const told = a.logger.entries.filter(({ level, fields }) => level === "warn" || "lastedSeconds" in fields);
  assert.deepEqual(
    told.map(({ level, message }) => `${level} ${message}`),
    [
      "warn Failed to acquire leader lease, retrying",
      "info Reaching the leader lease again",
      "warn Failed to renew leader lease, retrying",
      "info Renewing leader lease again",
    ],
  );
});

test("what the work rejects with is passed on, and the Lease is left to run out", async (t) => {
  const { electorOf, spec } = election(t);
  const elector = electorOf();
  await assert.rejects(
    runElected(elector, new AbortController().signal, async () => {
      throw new TypeError("a mistake");
    }),
    /a mistake/,
  );
  assert.equal(spec("holderIdentity"), "a");
});

test("the health check fails while a process that leads has not renewed the Lease for its duration", async (t) => {
  const { clock, electorOf } = election(t);
  const metrics = createCountingMetrics();
  const elector = electorOf(metrics);
  const health = createHealth({ logger: silentLogger, metrics });
  health.register("test/leader-election", () => elector.check());
  const check = (): HealthAnswer => health.answerOne("test/leader-election");

  assert.equal(check().status, 200, "a process that does not lead need not renew");
  const mistake = async (): Promise<void> => {
    throw new TypeError("a mistake");
  };
  await assert.rejects(runElected(elector, new AbortController().signal, mistake), /a mistake/);
  await clock.advance(config.leaseDurationMs);
  assert.equal(check().status, 200);
  await clock.advance(1);
  const text = "internal server error: the Lease default/podseidon-test has not been renewed for 15001 ms\n";
  assert.deepEqual(check(), { status: 500, text });
});

test("the health check passes while the Lease is renewed, and after it was released", async (t) => {
  const { clock, stand } = election(t);
  const a = stand("a");
  await clock.advance(100_000);
  assert.equal(a.elector.check(), undefined);
  a.stop.abort();
  await a.running;
  await clock.advance(100_000);
  assert.equal(a.elector.check(), undefined, "a process that does not lead need not renew");
});

test("two processes on one host have different identities", () => {
  const rng = createSeededRng(1);
  assert.match(createIdentity(rng), /^.+_[0-9a-f]{32}$/);
  assert.notEqual(createIdentity(rng), createIdentity(rng));
});

test("a Lease is released at a graceful stop even if the answer to its last renewal was lost", async (t) => {
  const { clock, stand, spec } = election(t);
  const a = stand("a");
  await clock.advance(3_000);
  a.net.loseAnswers = true;
  await clock.advance(1_500);
  a.net.loseAnswers = false;
  assert.equal(spec("renewTime"), "2026-01-01T00:00:04.000000Z");
  a.stop.abort();
  await clock.advance(0);
  await a.running;
  assert.equal(spec("holderIdentity"), "");
});

test("a Lease that another process took before a graceful stop was complete is not released", async (t) => {
  const { clock, server, stand, spec } = election(t);
  const a = stand("a");
  await clock.advance(3_000);
  server.put({ ...server.lease!, spec: { ...server.lease!.spec, holderIdentity: "thief" } });
  a.stop.abort();
  await clock.advance(0);
  await a.running;
  assert.equal(spec("holderIdentity"), "thief");
});
