/**
 * A double behind real sockets on loopback and clients of it, all on one virtual clock. Time stands still while bytes
 * move, and goes on to the next timer when nothing moves any more, so minutes of waiting cost nothing and no test
 * sleeps.
 */
import assert from "node:assert/strict";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { createKubeClient } from "../../../../src/kube/transport/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { type ApiServer, type Fault, type FaultScript, startApiServer } from "../../../double/index.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../counting-metrics.ts";

export interface Rig {
  readonly server: ApiServer;
  readonly clock: VirtualClock;
  /** Requests that arrived since the script was set. */
  readonly requests: () => number;
  setFaults(script: FaultScript | undefined): void;
  /** A client with connections of its own. */
  connect(): Promise<KubeClient>;
  /** Lets bytes and time move until `condition` holds; fails after two virtual hours. */
  until(condition: () => boolean, what: string): Promise<void>;
  /** Lets bytes move, but no time pass, until nothing moves. */
  untilQuiet(): Promise<void>;
}

/**
 * Turns of the event loop without a request, an opened or a closed connection after which nothing is on its way. A step
 * of one takes two or three.
 */
const quietTurns = 12;
const virtualMsMax = 7_200_000;

export async function startRig(t: { after(end: () => Promise<void>): void }): Promise<Rig> {
  const clock = createVirtualClock();
  let requests = 0;
  let arrivals = 0;
  const server = await startApiServer({ clock, rng: createSeededRng(1), crds: [], bookmarkPeriodMs: 60_000 });
  const setFaults = (script: FaultScript | undefined): void => {
    requests = 0;
    server.setFaults((request) => {
      requests++;
      arrivals++;
      return script?.(request);
    });
  };
  setFaults(undefined);
  t.after(() => server.close());

  async function untilQuiet(): Promise<void> {
    const state = (): string => `${arrivals} ${server.openConnections} ${server.openWatches} ${clock.pendingTimers}`;
    let before = state();
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await drainMicrotasks();
      if (state() !== before) quiet = 0;
      before = state();
    }
  }

  return {
    server,
    clock,
    requests: () => requests,
    setFaults,
    connect: () =>
      createKubeClient(
        { ...plainCluster, master: server.url },
        { clock, rng: createSeededRng(2), logger: silentLogger, metrics: createCountingMetrics() },
        "test",
      ),
    untilQuiet,
    async until(condition, what) {
      const endMs = clock.monotonicMs() + virtualMsMax;
      for (;;) {
        await untilQuiet();
        if (condition()) return;
        assert.ok(clock.monotonicMs() < endMs && clock.nextTimerInMs !== undefined, `in vain: ${what}`);
        await clock.advance(clock.nextTimerInMs);
      }
    },
  };
}

/** How a fault comes: once, or at every request from then on until it is healed. */
const courses = { transient: 1, persistent: 6 } as const;

/** Lets `fault` strike at the 1st, 2nd, 3rd … operation of `run`, until a run has fewer operations than that. */
export async function exhaust(
  rig: Rig,
  fault: Fault,
  operationsMax: number,
  run: () => Promise<void>,
  afterRun: () => Promise<void>,
): Promise<void> {
  for (const [course, times] of Object.entries(courses)) {
    for (let nth = 1; ; nth++) {
      assert.ok(nth < operationsMax, "the runs never become clean");
      const strike = strikes(nth, times);
      rig.setFaults(() => (strike.next() ? fault : undefined));
      try {
        await run();
      } catch (error) {
        throw new Error(`${course} ${JSON.stringify(fault)} at operation ${nth}`, { cause: error });
      }
      if (strike.struck() === 0) break;
      await afterRun();
    }
  }
}

/** Which operations meet trouble. */
export interface Strikes {
  /** Asked once for each operation, in their order. */
  readonly next: () => boolean;
  /** No more from now on. */
  readonly heal: () => void;
  readonly struck: () => number;
}

/** The `nth` operation meets trouble, and those after it until it has struck `times` times. */
export function strikes(nth: number, times: number): Strikes {
  let seen = 0;
  let struck = 0;
  let healed = false;
  return {
    next() {
      if (healed || ++seen < nth || struck >= times) return false;
      struck++;
      return true;
    },
    heal: () => void (healed = true),
    struck: () => struck,
  };
}
