/** Plays the connections of a seed against the webhooks, and looks again and again whether they are well. */
import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Caller } from "./caller.ts";
import { drawConnection } from "./draw-connection.ts";
import { isLate, judge, type Seen } from "./judge.ts";
import { playConnection } from "./play-connection.ts";
import { bytesOf, type ConnectionPlan, type ListenerName, servesReviews, traitsOf } from "./plan.ts";
import { growth, type Usage, Watch } from "./watch.ts";
import { startWebhooks, type Webhooks } from "./webhooks.ts";

/** How many begin beside each other: more make a machine with two cores late. */
const lanes = 64;
/** Who waits longer waits for a limit of the listener, or writes slowly, and goes on beside the lanes. */
const laneMs = 500;
/** With those beside the lanes: of 60 addresses, each of which may have 1,250. */
const openMax = 400;
/** A listener of health or metrics takes 100, with those of the probes. */
const openMaxOfProbed = 60;
/** A few hundred connections; so a fault is close to what led there. */
const checkMs = 5_000;
const settlePollMs = 1_000;
/** Memory is compared when nobody is connected, for which all others wait up to four minutes. */
const settleEvery = 50_000;
/** Until code is compiled, and what is kept for later is there. */
const warmUpMin = 1_000;
const warmUpMax = 5_000;
const progressMs = 10_000;
/** More findings than this say nothing new. */
const findingsMax = 20;
/** 3 kB of what was sent. */
const base64CharsMax = 4_000;

/** Those for reviews. */
const calledListeners = ["http", "https", "mutual"] as const;
type CalledListener = (typeof calledListeners)[number];

interface Tally {
  connections: number;
  answers: number;
  /** Connections that a busy machine kept waiting for answers, of which less is expected: 0 on a quiet one. */
  late: number;
  readonly byStatus: Record<string, number>;
  /** How many connections have each trait. */
  readonly byTrait: Record<string, number>;
  readonly findings: string[];
}

export interface RawRun {
  readonly seed: number;
  /** Plays the numbers from `first` up to, but not including, `end`. */
  readonly first: number;
  readonly end: number;
}

/** Prints progress, what is found, and a last line of JSON. Returns the number of findings. */
export async function fuzzConnections({ seed, first, end }: RawRun): Promise<number> {
  const webhooks = await startWebhooks();
  const campaign = new Campaign(seed, webhooks);
  console.log(`connections ${first} to ${end - 1} of seed ${seed}; logs: ${webhooks.directory}`);
  let findings: number | undefined;
  try {
    findings = await campaign.run(first, end);
    return findings;
  } finally {
    campaign.close();
    await webhooks.close();
    if (findings === 0) rmSync(webhooks.directory, { recursive: true, force: true });
  }
}

class Campaign {
  readonly #seed: number;
  readonly #webhooks: Webhooks;
  readonly #watches: readonly Watch[];
  /** By listener, opened at the first check. */
  readonly #kept = new Map<CalledListener, Caller>();
  /** Those that are played now: who may have led to a crash. */
  readonly #open = new Map<number, ConnectionPlan>();
  readonly #tally: Tally = { connections: 0, answers: 0, late: 0, byStatus: {}, byTrait: {}, findings: [] };
  /** Resolves when the next connection ends. */
  #ended = Promise.withResolvers<void>();
  #next = 0;
  #asked = 0;

  constructor(seed: number, webhooks: Webhooks) {
    this.#seed = seed;
    this.#webhooks = webhooks;
    this.#watches = webhooks.processes.map((process) => new Watch(process));
  }

  async run(first: number, end: number): Promise<number> {
    this.#next = first;
    const startMs = performance.now();
    const seconds = (): number => Math.round((performance.now() - startMs) / 100) / 10;
    const progress = setInterval(() => {
      const { connections, findings } = this.#tally;
      const perSecond = Math.round(connections / seconds());
      const done = `${connections} of ${end - first} connections, ${this.#open.size} open, ${perSecond}/s`;
      console.log(`${done}, ${findings.length} findings`);
    }, progressMs);
    try {
      // Who is connected and asks nothing is cut off.
      await this.#check();
      const warmUp = Math.min(warmUpMax, Math.max(warmUpMin, (end - first) / 10));
      await this.#playTo(Math.min(end, first + warmUp));
      await this.#settle();
      const before = await this.#usages();
      let after: readonly Usage[] = [];
      do {
        await this.#playTo(Math.min(end, this.#next + settleEvery));
        await this.#settle();
        after = this.#hasEnded ? [] : await this.#lookForGrowth(before);
      } while (this.#next < end && !this.#isOver);
      const { findings, ...tally } = this.#tally;
      console.log(
        JSON.stringify({ seed: this.#seed, ...tally, findings: findings.length, seconds: seconds(), before, after }),
      );
    } finally {
      clearInterval(progress);
    }
    return this.#tally.findings.length;
  }

  close(): void {
    for (const caller of this.#kept.values()) caller.close();
  }

  async #playTo(end: number): Promise<void> {
    const lane = async (): Promise<void> => {
      while (this.#next < end && !this.#isOver) await this.#playNext();
    };
    const played = Promise.all(Array.from({ length: lanes }, lane)).then(() => true);
    for (let isPlayed = false; !isPlayed;) {
      isPlayed = await Promise.race([played, delay(checkMs, false)]);
      await this.#check();
    }
  }

  /** One of the webhooks. */
  get #hasEnded(): boolean {
    return this.#webhooks.processes.some(({ process }) => process.exit() !== undefined);
  }

  get #isOver(): boolean {
    return this.#hasEnded || this.#tally.findings.length >= findingsMax;
  }

  /** Resolves when the lane is free again, which may be before the connection has ended. */
  async #playNext(): Promise<void> {
    const plan = drawConnection(this.#seed, this.#next++);
    while (!this.#hasRoom(plan.listener)) await this.#ended.promise;
    await Promise.race([this.#play(plan), delay(laneMs)]);
  }

  #hasRoom(listener: ListenerName): boolean {
    if (this.#open.size >= openMax) return false;
    if (servesReviews(listener)) return true;
    return [...this.#open.values()].filter((plan) => plan.listener === listener).length < openMaxOfProbed;
  }

  async #play(plan: ConnectionPlan): Promise<void> {
    this.#open.set(plan.index, plan);
    let seen: Seen;
    try {
      seen = await playConnection(plan, this.#webhooks.reach);
    } catch (error) {
      return this.#found(`${described(this.#seed, plan)}: it cannot be played: ${String(error)}`);
    } finally {
      this.#open.delete(plan.index);
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    }
    this.#count(plan, seen);
    // A process that has ended breaks all connections at once; that is one finding.
    if (this.#hasEnded) return;
    const problem = judge(plan, seen);
    if (problem !== undefined) this.#found(`${described(this.#seed, plan)}: ${problem}\n${shownBytes(plan)}`);
  }

  #count(plan: ConnectionPlan, seen: Seen): void {
    const { answers } = seen;
    const { byStatus, byTrait } = this.#tally;
    this.#tally.connections += 1;
    this.#tally.answers += answers.length;
    if (plan.ending === "answers" && isLate(plan, seen)) this.#tally.late += 1;
    for (const trait of traitsOf(plan)) byTrait[trait] = (byTrait[trait] ?? 0) + 1;
    for (const { status } of answers) byStatus[status] = (byStatus[status] ?? 0) + 1;
  }

  #found(finding: string): void {
    this.#tally.findings.push(finding);
    console.log(`FOUND ${finding}`);
  }

  /** That the webhooks are well, and that callers are served on kept and on new connections. */
  async #check(): Promise<void> {
    const before = `SEED=${this.#seed}, before connection ${this.#next}`;
    for (const watch of this.#watches) {
      const problem = await watch.problem();
      if (problem === undefined) continue;
      this.#found(`${before}: ${watch.name}: ${problem}`);
    }
    if (this.#hasEnded) {
      for (const plan of [...this.#open.values()].slice(-findingsMax))
        console.log(`open: ${described(this.#seed, plan)}\n${shownBytes(plan)}`);
      return;
    }
    for (const listener of calledListeners) {
      const kept = this.#kept.get(listener) ?? this.#caller(listener);
      this.#kept.set(listener, kept);
      const fresh = this.#caller(listener);
      for (const [kind, caller] of Object.entries({ kept, new: fresh })) {
        const problem = await caller.ask(`legitimate-${this.#asked++}`);
        if (problem !== undefined)
          this.#found(`${before}: a caller on a ${kind} connection to ${listener}: ${problem}`);
      }
      fresh.close();
    }
  }

  #caller(listener: CalledListener): Caller {
    const { ports, clients } = this.#webhooks.reach;
    if (listener === "http") return new Caller(ports.http);
    return new Caller(ports[listener], { client: listener === "mutual" ? clients.valid : undefined });
  }

  /** Resolves when no connection is open any more but the kept ones, which ask meanwhile. */
  async #settle(): Promise<void> {
    while (this.#open.size > 0 && !this.#isOver) {
      await delay(settlePollMs);
      await this.#check();
    }
  }

  async #usages(): Promise<readonly Usage[]> {
    return this.#hasEnded ? [] : Promise.all(this.#watches.map((watch) => watch.baseline()));
  }

  async #lookForGrowth(before: readonly Usage[]): Promise<readonly Usage[]> {
    const usages: Usage[] = [];
    for (const [at, watch] of this.#watches.entries()) {
      const earlier = before[at]!;
      const usage = await watch.usageBackAt(earlier);
      const grown = growth(earlier, usage);
      if (grown !== undefined) this.#found(`SEED=${this.#seed}: ${watch.name}: ${grown}`);
      const inFlight = await watch.reviewsInFlight();
      if (inFlight !== 0) this.#found(`SEED=${this.#seed}: ${watch.name}: ${inFlight} reviews are in flight`);
      usages.push(usage);
    }
    return usages;
  }
}

function described(seed: number, plan: ConnectionPlan): string {
  const expected = plan.requests.map(({ expects }) => expects).join(" ");
  return `SEED=${seed} CONNECTION=${plan.index} (${traitsOf(plan).join(", ")}; ${expected})`;
}

function shownBytes(plan: ConnectionPlan): string {
  const sent = bytesOf(plan);
  const base64 = sent.toString("base64");
  return `${sent.length} bytes: ${base64.slice(0, base64CharsMax)}${base64.length > base64CharsMax ? "…" : ""}`;
}
