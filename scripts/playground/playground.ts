/**
 * The clusters of `make playground`: a core and three workers, guarded by Podseidon, with controllers that keep the
 * workloads running, for a person with kubectl.
 */
import { type Clock } from "../../src/util/clock.ts";
import { createWebhookClient } from "../../test/double/index.ts";
import { waitUntil } from "../demo/acts/wait.ts";
import { expectedFloorOf, replicasOf } from "../demo/scenario.ts";
import { type Fleet, startFleet } from "../demo/world/fleet.ts";
import { readProtectors } from "../demo/world/protectors.ts";
import { Federation } from "./federation.ts";
import { playgroundPlans } from "./services.ts";

export interface PlaygroundOptions {
  readonly clock: Clock;
  /** Aborted = give up. */
  readonly signal: AbortSignal;
  /** A process of Podseidon ended, and nobody had asked for it. */
  readonly onCrash: (report: string, name: string) => void;
  /** Told of the fleet as soon as its processes run, so that they can be killed whatever happens. */
  readonly onStarted: (fleet: Fleet) => void;
}

// Containers take a while to start, so that people see pods come back; a start of the playground waits for them once.
const readyDelayMs = 3000;
/** For the counts of pods, which take 2 s on two idle cores. Ends a start that hangs. */
const startLimitMs = 60_000;

/**
 * Starts everything; resolves when all pods are available and counted, and deletions are reviewed. What is running is
 * ended by `close` of the fleet.
 */
export async function startPlayground({ clock, signal, onCrash, onStarted }: PlaygroundOptions): Promise<Fleet> {
  const fleet = await startFleet({
    plans: playgroundPlans,
    // The federation brings them.
    workers: { plans: [], readyDelayMs, garbageCollector: true },
    callWebhook: createWebhookClient(),
    signal,
    onCrash,
  });
  const federation = new Federation(
    fleet.core.engine,
    fleet.cells.map(({ server }) => server.engine),
  );
  const playground: Fleet = {
    ...fleet,
    async close() {
      federation.stop();
      await fleet.close();
    },
  };
  onStarted(playground);
  await fleet.guard();
  const areCounted = (): boolean => {
    const protectors = readProtectors(fleet.core, playgroundPlans);
    return playgroundPlans.every((plan, at) => {
      const { floor, available } = protectors[at] ?? {};
      return floor === expectedFloorOf(plan) && available === replicasOf(plan);
    });
  };
  if (await waitUntil({ clock, signal, tell: () => undefined }, startLimitMs, areCounted)) return playground;
  throw new Error(`not all pods were counted within ${startLimitMs / 1000} s`);
}
