/**
 * Waves of deletions of one PodProtector over several webhook replicas, in virtual time: the product's webhook from its
 * HTTP app on, over a core whose writes and watches take a random time. A seed decides everything.
 */
import { isKubeError, type KubeClient } from "../../../src/kube/kube-client.ts";
import { type Rng, uniform } from "../../../src/util/rng.ts";
import { sleep } from "../../../src/util/clock.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.ts";
import { FakeCore } from "../../unit/webhook/support/fake-core.ts";
import { FakeInformer } from "../../unit/webhook/support/fake-informer.ts";
import { cell, deleteReview, type Json, pod, protector } from "../../unit/webhook/support/objects.ts";
import { createReplica, type Replica } from "../../unit/webhook/support/replica.ts";

export interface Wave {
  readonly replicas: number;
  /** Callers, each with one review under way, at a random replica. */
  readonly inFlight: number;
  readonly pods: number;
  /** Deletions that there is room for. */
  readonly room: number;
  /** How many times as long as on a quiet machine a write takes, and an event of a watch. */
  readonly slowness: number;
  /** From an answer to the next review of the same caller, at most; at least half of it. */
  readonly thinkMs: number;
}

/** The same wave with several seeds. */
export interface WaveSums {
  /** Of admitted deletions. */
  readonly latenciesMs: readonly number[];
  /** Status writes, those that met a conflict included. */
  readonly tried: number;
  /** Shares of them that met a conflict: all, and those after each replica's first accepted write. */
  readonly conflicts: number;
  readonly later: number;
  /** Admissions. */
  readonly perSecond: number;
}

interface WaveResult {
  /** From the first review to the last admission. */
  readonly elapsedMs: number;
  /** Of admitted deletions. */
  readonly latenciesMs: readonly number[];
  readonly refused: number;
  readonly writes: number;
  readonly conflicts: number;
  /** Those that a replica met after its first accepted write. */
  readonly laterConflicts: number;
}

/** What a review costs the one thread of a webhook, over HTTPS. */
const reviewCpuMs = 0.25;
/** Half of a write that nothing delays. */
const halfWriteMs = { from: 3, to: 6 };
/** From the commit of a write until a watch shows it. */
const watchMs = { from: 1, to: 5 };
/** So many writes, and events of a watch, take longer: something else needs the CPU. */
const slowShare = 0.05;
const slowTimes = 4;
/** As src/aggregator/counting/counting-pace.ts: at most ten times a second, and 8 % of the time. */
const settleEveryMs = 100;
const settlesPerWrite = 12.5;

/** A core with random delays, the same for the same seed. */
class DelayedCore extends FakeCore {
  readonly #clock: VirtualClock;
  readonly #rng: Rng;
  readonly #watches: { readonly informer: FakeInformer; lastMs: number }[] = [];
  readonly #slowness: number;
  #isListed = false;

  constructor(clock: VirtualClock, rng: Rng, slowness: number) {
    super(clock);
    this.#slowness = slowness;
    this.#clock = clock;
    this.#rng = rng;
    this.script = () => {
      this.latencyMs = slowness * this.#delay(halfWriteMs);
      return "none";
    };
  }

  #delay({ from, to }: { readonly from: number; readonly to: number }): number {
    const ms = uniform(this.#rng, from, to);
    return uniform(this.#rng, 0, 1) < slowShare ? ms * slowTimes : ms;
  }

  override informer(): FakeInformer {
    const informer = new FakeInformer();
    this.#watches.push({ informer, lastMs: 0 });
    return informer;
  }

  override deliver(): void {
    const object = this.object("ns/web");
    if (!this.#isListed) for (const { informer } of this.#watches) informer.sync([object]);
    else for (const watch of this.#watches) this.#show(watch, object);
  }

  listed(): void {
    this.#isListed = true;
  }

  #show(watch: { readonly informer: FakeInformer; lastMs: number }, object: Json): void {
    // A watch keeps its order.
    const dueMs = Math.max(watch.lastMs, this.#clock.monotonicMs() + this.#slowness * this.#delay(watchMs));
    watch.lastMs = dueMs;
    this.#clock.setTimer(dueMs - this.#clock.monotonicMs(), () => watch.informer.show("ns/web", object));
  }
}

/** Counts the writes of one replica. */
function counted(client: KubeClient, tally: { writes: number; conflicts: number; later: number }): KubeClient {
  return {
    ...client,
    async request(request) {
      try {
        const answer = await client.request(request);
        if (request.method !== "GET" && request.path.includes("/podprotectors/")) tally.writes += 1;
        return answer;
      } catch (error) {
        if (isKubeError(error, "conflict")) {
          tally.conflicts += 1;
          if (tally.writes > 0) tally.later += 1;
        }
        throw error;
      }
    },
  };
}

const seeds = 40;

export async function runSeeds(wave: Wave): Promise<WaveSums> {
  const results: WaveResult[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) results.push(await runWave(wave, seed));
  const sum = (of: (result: WaveResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const latenciesMs = results.flatMap((result) => result.latenciesMs);
  const tried = sum((result) => result.writes + result.conflicts);
  return {
    latenciesMs,
    tried,
    conflicts: sum(({ conflicts }) => conflicts) / tried,
    later: sum(({ laterConflicts }) => laterConflicts) / tried,
    perSecond: (latenciesMs.length / sum(({ elapsedMs }) => elapsedMs)) * 1000,
  };
}

async function runWave(
  { replicas: count, inFlight, pods, room, slowness, thinkMs }: Wave,
  seed: number,
): Promise<WaveResult> {
  const clock = createVirtualClock();
  const rng = createSeededRng(seed);
  const core = new DelayedCore(clock, rng, slowness);
  const tallies = Array.from({ length: count }, () => ({ writes: 0, conflicts: 0, later: 0 }));
  let made = 0;
  const bare = core.client.bind(core);
  core.client = (name) => {
    const tally = tallies[made++];
    if (tally === undefined) throw new Error("more clients than replicas");
    return counted(bare(name), tally);
  };
  core.put(protector({ minAvailable: 1, cells: [cell("c1", room + 1)] }));
  const replicas = tallies.map((_, index) => createReplica(clock, core, { seed: seed * 100 + index }));
  core.listed();
  const send = replicas.map((replica) => oneThread(clock, replica));
  const latenciesMs: number[] = [];
  let [refused, next, lastMs] = [0, 0, 0];
  const startMs = clock.monotonicMs();
  const caller = async (): Promise<void> => {
    // Not all at the same moment.
    await sleep(clock, uniform(rng, 0, 5));
    while (next < pods) {
      const review = deleteReview(pod(`p${next++}`));
      const sentMs = clock.monotonicMs();
      const answer = await send[Math.floor(uniform(rng, 0, count))]?.(review);
      if (answer?.allowed === true) {
        latenciesMs.push(clock.monotonicMs() - sentMs);
        lastMs = clock.monotonicMs();
      } else refused += 1;
      await sleep(clock, uniform(rng, thinkMs / 2, thinkMs));
    }
  };
  const callers = Promise.all(Array.from({ length: inFlight }, caller));
  const end = { isReached: false };
  const whenDone = callers.then(() => void (end.isReached = true));
  const writeMs = slowness * (halfWriteMs.from + halfWriteMs.to);
  void settle(clock, core, { room, everyMs: Math.max(settleEveryMs, settlesPerWrite * writeMs) }, end);
  while (!end.isReached) await clock.advance(settleEveryMs);
  await whenDone;
  const sum = (of: (tally: (typeof tallies)[number]) => number): number =>
    tallies.reduce((total, tally) => total + of(tally), 0);
  return {
    elapsedMs: lastMs - startMs,
    latenciesMs,
    refused,
    writes: sum(({ writes }) => writes),
    conflicts: sum(({ conflicts }) => conflicts),
    laterConflicts: sum(({ later }) => later),
  };
}

/** One review after the other is read, as by the one thread of a process. */
function oneThread(clock: VirtualClock, replica: Replica): Replica["send"] {
  let freeMs = 0;
  return async (body) => {
    freeMs = Math.max(freeMs, clock.monotonicMs()) + reviewCpuMs;
    await sleep(clock, freeMs - clock.monotonicMs());
    return replica.send(body);
  };
}

/** An aggregator that sees each pod terminate at once. */
async function settle(
  clock: VirtualClock,
  core: FakeCore,
  { room, everyMs }: { readonly room: number; readonly everyMs: number },
  end: { readonly isReached: boolean },
): Promise<void> {
  let settled = 0;
  for (let version = 2_000; !end.isReached; version += 1) {
    await sleep(clock, everyMs);
    const buckets = core.buckets("ns/web");
    if (buckets.length === 0) continue;
    settled += buckets.reduce((sum, { counter }) => sum + (typeof counter === "number" ? counter : 1), 0);
    const left = room + 1 - settled;
    core.update("ns/web", (status) => void (status.cells = [cell("c1", left, { resourceVersion: `${version}` })]));
  }
}
