import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Elector, runElected } from "../../../src/kube/leader-election/index.ts";
import { sleep } from "../../../src/util/clock.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { builtInResources, type Fault } from "../../double/index.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { config } from "../leader-election/lease-rig.ts";
import { type Rig, startRig, strikes } from "./rig.ts";

const faults: readonly Fault[] = [
  { type: "delay", delayMs: 3_000 },
  { type: "delay", delayMs: 20_000 },
  { type: "reset" },
  { type: "stall" },
  { type: "truncate" },
  { type: "corrupt" },
  { type: "tooManyRequests", retryAfterSeconds: 5 },
  { type: "serverError" },
  { type: "conflict" },
  { type: "loseResponse" },
];

interface Candidate {
  readonly working: () => boolean;
  stop(): Promise<void>;
}

async function stand(rig: Rig, identity: string, onWork: () => void): Promise<Candidate> {
  const client = await rig.connect();
  const elector = new Elector({
    config,
    client,
    identity,
    clusterClass: "core",
    electorName: "test",
    clock: rig.clock,
    rng: createSeededRng(identity.length),
    logger: silentLogger,
    metrics: createCountingMetrics(),
  });
  const stopping = new AbortController();
  let working = false;
  let ended = false;
  const running = runElected(elector, stopping.signal, async (signal) => {
    working = true;
    onWork();
    await sleep(rig.clock, 1e9, signal);
    working = false;
  }).finally(() => (ended = true));
  return {
    working: () => working,
    async stop() {
      stopping.abort();
      await rig.until(() => ended, `${identity} ends`);
      await running;
      await client.close();
    },
  };
}

/** Two candidates live through 45 s of `fault` from the `nth` operation on (or just that one); never do both work, and one does in the end. */
async function elect(rig: Rig, fault: Fault, nth: number, times: number): Promise<boolean> {
  const { engine } = rig.server;
  const strike = strikes(fault, nth, times);
  rig.setFaults(strike.script);
  const candidates: Candidate[] = [];
  const check = (): void => assert.ok(candidates.filter(({ working }) => working()).length <= 1, "both work");
  candidates.push(await stand(rig, "a", check), await stand(rig, "bb", check));
  const endMs = rig.clock.monotonicMs() + 45_000;
  while (rig.clock.monotonicMs() < endMs) {
    await rig.untilQuiet();
    check();
    await rig.clock.advance(Math.min(1_000, rig.clock.nextTimerInMs ?? 1_000));
  }
  rig.setFaults(undefined);
  await rig.until(() => candidates.some(({ working }) => working()), "one works");
  for (const candidate of candidates) await candidate.stop();
  const lease = engine.get(builtInResources.leases, "default", config.name);
  assert.equal(lease.spec?.["holderIdentity"] ?? "", "", "the last holder gave the Lease away");
  await engine.delete(builtInResources.leases, "default", config.name);
  return strike.struck() > 0;
}

async function exhaust(t: TestContext, fault: Fault): Promise<void> {
  const rig = await startRig(t);
  // Eight operations are the election and two renewals or looks at the Lease each; from there on they repeat themselves.
  for (const times of [1, 1_000]) {
    for (let nth = 1; nth <= 8; nth++) {
      try {
        assert.ok(await elect(rig, fault, nth, times), "the fault never struck");
      } catch (error) {
        throw new Error(`${times} times ${JSON.stringify(fault)} from operation ${nth}`, { cause: error });
      }
    }
  }
  await rig.until(() => rig.clock.pendingTimers === 0, "no timer is left");
}

for (const fault of faults) {
  const name = fault.type === "delay" ? `delay of ${fault.delayMs} ms` : fault.type;
  test(`two candidates never both lead, and one does in the end, through ${name}`, (t) => exhaust(t, fault));
}
