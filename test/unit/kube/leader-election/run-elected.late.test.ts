import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { sleep } from "../../../../src/util/clock.ts";
import { election } from "./lease-rig.ts";

/** One candidate that leads since 0. */
async function leader(t: TestContext) {
  const { clock, server, stand } = election(t);
  const a = stand("a");
  await clock.advance(2_500);
  /** Stops at the end of the test; `log` is what happened before. */
  const end = async (log: readonly string[]): Promise<void> => {
    assert.deepEqual(a.log, log);
    a.stop.abort();
    await clock.advance(10_000);
    await a.running;
    assert.equal(server.lease?.spec["holderIdentity"], "");
  };
  /** Lets `handle` take requests, which may pass them on. */
  const intercept = (
    handle: (request: KubeRequest, pass: () => Promise<unknown>, nth: number) => Promise<unknown>,
  ): void => {
    const { client } = a.net;
    const pass = client.request.bind(client);
    let nth = 0;
    client.request = (request) => handle(request, () => pass(request), ++nth);
  };
  return { clock, server, a, end, intercept };
}

for (const lateMs of [3_000, 4_900]) {
  test(`a candidate takes a dead leader's Lease and keeps it, though all answers are ${lateMs} ms late`, async (t) => {
    const { clock, stand } = election(t);
    const a = stand("a", { lateMs });
    const b = stand("bb", { lateMs });
    await clock.advance(60_000);
    assert.deepEqual(a.log, [`starts ${lateMs}`], "it keeps the Lease from the first write on");
    a.net.down = true;
    await clock.advance(15_000);
    assert.equal(a.state.working, false);
    await clock.advance(15_000);
    assert.equal(b.state.working, true, "15 s after the last renewal was seen, and what two requests need");
    await clock.advance(120_000);
    assert.equal(b.log.length, 1, "it leads once");
  });
}

test("a lost Lease is taken back within two requests, though all answers are 3 s late", async (t) => {
  const { clock, a, end } = await leader(t);
  a.net.down = true;
  await clock.advance(11_500);
  assert.equal(a.state.working, false);
  a.net.down = false;
  a.net.lateMs = 3_000;
  await clock.advance(10_000);
  assert.equal(a.state.working, true);
  await clock.advance(120_000);
  assert.equal(a.events("acquired"), 2);
  a.net.lateMs = 0;
  await clock.advance(3_000);
  const [, told, ended, again] = a.log;
  await end(["starts 0", told!, ended!, again!]);
});

test("a renewal that is never answered leaves time for another", async (t) => {
  const { clock, a, end, intercept } = await leader(t);
  intercept(async ({ timeoutMs }, pass, nth) => {
    if (nth > 1) return pass();
    assert.equal(timeoutMs, 5_000, "half of the renew deadline");
    await sleep(clock, timeoutMs);
    throw new KubeError("timeout", "no answer");
  });
  await clock.advance(60_000);
  assert.equal(a.events("lost"), 0);
  await end(["starts 0"]);
});

test("a renewal whose answer was lost counts when the Lease shows it, though all answers are 3 s late", async (t) => {
  const { clock, server, a, end, intercept } = await leader(t);
  a.net.lateMs = 3_000;
  intercept(async (_request, pass, nth) => {
    const answer = await pass();
    if (nth === 2) throw new KubeError("network", "reset");
    return answer;
  });
  await clock.advance(12_500);
  // Sent at 4 s, 7 s (lost), 10 s (read), and 13 s.
  assert.equal(server.writes.length, 2 + 3);
  a.net.lateMs = 0;
  await clock.advance(60_000);
  await end(["starts 0"]);
});

test("a conflict with an own write that was late is followed by another write at once", async (t) => {
  const { clock, server, end, intercept } = await leader(t);
  let late: unknown;
  intercept(async ({ body }, pass, nth) => {
    if (nth === 1) {
      late = body;
      await sleep(clock, 5_000);
      throw new KubeError("timeout", "no answer");
    }
    // Read at first; what is written then meets the write that is carried out now.
    if (nth === 3) server.put(late as Parameters<typeof server.put>[0]);
    return pass();
  });
  await clock.advance(4_000 + 5_000 - 2_500);
  assert.equal(server.lease?.spec["renewTime"], "2026-01-01T00:00:09.000000Z");
  assert.equal(server.lease?.spec["acquireTime"], "2026-01-01T00:00:00.000000Z");
  await clock.advance(30_000);
  await end(["starts 0"]);
});

for (const kind of ["tooManyRequests", "serverError"] as const) {
  test(`a server that is busy (${kind}) for less than the renew deadline costs nothing`, async (t) => {
    const { clock, end, intercept } = await leader(t);
    intercept((_request, pass) =>
      clock.monotonicMs() < 9_000
        ? Promise.reject(new KubeError(kind, "busy", { code: 503, retryAfterMs: 60_000 }))
        : pass(),
    );
    await clock.advance(60_000);
    await end(["starts 0"]);
  });
}
