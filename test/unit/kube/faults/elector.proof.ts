import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { Elector, runElected } from "../../../../src/kube/leader-election/index.ts";
import { sleep } from "../../../../src/util/clock.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { builtInResources, type Fault } from "../../../double/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { config } from "../leader-election/lease-rig.ts";
import { type Rig, startRig, strikes } from "./rig.ts";
import { type Answers, withStaleReads } from "./stale-reads.ts";

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

/** What strikes: a fault of the server, or reads from a lagging replica. */
type Trouble = Fault | { readonly type: "staleRead" };

interface Course {
  /** How often it strikes. */
  readonly times: number;
  readonly runMs: number;
  /** Strikes begin at the 1st, 2nd, 3rd … operation, up to this one or until a run has fewer. */
  readonly operationsMax: number;
}

const courses: readonly Course[] = [
  // About 20 operations: the election, and renewals for longer than a Lease lasts.
  { times: 1, runMs: 25_000, operationsMax: 40 },
  // Long enough to lose the Lease and for another to take it; from the second renewal of each candidate on, all
  // operations are alike.
  { times: 1_000, runMs: 45_000, operationsMax: 12 },
];

interface Candidate {
  readonly working: () => boolean;
  stop(): Promise<void>;
}

async function stand(rig: Rig, client: KubeClient, identity: string, onWork: () => void): Promise<Candidate> {
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

/**
 * Two candidates live through `trouble` from the `nth` operation on; never do both work, and one does in the end. False
 * when there were fewer operations.
 */
async function elect(rig: Rig, trouble: Trouble, nth: number, { times, runMs }: Course): Promise<boolean> {
  const { engine } = rig.server;
  const strike = strikes(nth, times);
  rig.setFaults(trouble.type === "staleRead" ? undefined : () => (strike.next() ? trouble : undefined));
  const answers: Answers = [];
  const connect = async (): Promise<KubeClient> => {
    const client = await rig.connect();
    return trouble.type === "staleRead" ? withStaleReads(client, answers, strike.next) : client;
  };
  const candidates: Candidate[] = [];
  const check = (): void => assert.ok(candidates.filter(({ working }) => working()).length <= 1, "both work");
  for (const identity of ["a", "bb"]) candidates.push(await stand(rig, await connect(), identity, check));
  const endMs = rig.clock.monotonicMs() + runMs;
  while (rig.clock.monotonicMs() < endMs) {
    await rig.untilQuiet();
    check();
    await rig.clock.advance(Math.min(1_000, rig.clock.nextTimerInMs ?? 1_000));
  }
  rig.setFaults(undefined);
  strike.heal();
  await rig.until(() => candidates.some(({ working }) => working()), "one works");
  for (const candidate of candidates) await candidate.stop();
  const lease = engine.get(builtInResources.leases, "default", config.name);
  assert.equal(lease.spec?.["holderIdentity"] ?? "", "", "the last holder gave the Lease away");
  await engine.delete(builtInResources.leases, "default", config.name);
  return strike.struck() > 0;
}

async function exhaust(t: TestContext, trouble: Trouble): Promise<void> {
  const rig = await startRig(t);
  for (const course of courses) {
    let nth = 1;
    try {
      while (nth <= course.operationsMax && (await elect(rig, trouble, nth, course))) nth++;
    } catch (error) {
      throw new Error(`${course.times} times ${JSON.stringify(trouble)} from operation ${nth}`, { cause: error });
    }
    assert.ok(nth > 1, "it never struck");
    if (course.times === 1) assert.ok(nth <= course.operationsMax, "the runs never become clean");
  }
  await rig.until(() => rig.clock.pendingTimers === 0, "no timer is left");
}

for (const fault of faults) {
  const name = fault.type === "delay" ? `delay of ${fault.delayMs} ms` : fault.type;
  test(`two candidates never both lead, and one does in the end, through ${name}`, (t) => exhaust(t, fault));
}

test("two candidates never both lead, and one does in the end, through reads from a lagging replica", (t) =>
  exhaust(t, { type: "staleRead" }));
