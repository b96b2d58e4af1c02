/**
 * Runs cases in lanes, in each one after another, with a time limit, a namespace and processes of their own, on
 * clusters that the cases of a lane share. Prints one line for each and writes test-results/e2e.json. A case that
 * fails, in whatever way, fails alone.
 */
import { type EventEmitter } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ManagedProcess, type ProcessSet } from "../../../scripts/child-processes.ts";
import { type KubeAssets, kubernetesVersion } from "../../../scripts/kube-assets.ts";
import { type ClusterPool } from "../clusters/cluster-pool.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { isPortTaken } from "../clusters/ports.ts";

/** What a case measured, in the order in which it is printed. `deletionFigures` supplies the usual ones. */
export type Figures = Readonly<Record<string, number | string>>;

export interface E2eCase {
  /** A sentence of behaviour. */
  readonly name: string;
  /** Ends a case that hangs. */
  readonly timeLimitMs: number;
  /** Takes over a minute: it runs in `make e2e-long`, and a shorter case that proves the same runs in `make e2e`. */
  readonly isLong?: true;
  /** Keeps both cores busy all the time, so that it runs when all others have ended. */
  readonly isAlone?: true;
  /** Judges all that is in its clusters, so that it begins with new ones, and leaves them to nobody in its lane. */
  readonly hasOwnClusters?: true;
  /** Throws (assert) when the behaviour is not there. */
  readonly run: (context: CaseContext) => Promise<Figures>;
}

type CaseRow = readonly [
  timeLimitMs: number,
  run: E2eCase["run"],
  more?: Omit<E2eCase, "name" | "timeLimitMs" | "run">,
];

/** Cases by their names. */
export function e2eCases(rows: Readonly<Record<string, CaseRow>>): readonly E2eCase[] {
  return Object.entries(rows).map(([name, [timeLimitMs, run, more]]) => ({ name, timeLimitMs, run, ...more }));
}

export interface CaseContext {
  /** Unique in the run; the case creates it where it needs it. */
  readonly namespace: string;
  /** For the case's files and logs. */
  readonly directory: string;
  readonly assets: KubeAssets;
  /** Ends with the case. */
  readonly processes: ProcessSet;
  /** Aborts when the time is up. */
  readonly signal: AbortSignal;
  /** A shared cluster by its name, started when it is first asked for. */
  cluster(name: string): Promise<Cluster>;
  /** Runs at the end of the case, in reverse order, whatever its outcome. */
  cleanup(job: () => Promise<unknown> | void): void;
  /** A line for a person, with the first word of the case's name. */
  say(line: string): void;
}

export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  readonly durationMs: number;
  readonly figures: Figures;
  /** A process ended because its port was taken: that says nothing of the case. */
  readonly portWasTaken: boolean;
  readonly error?: string;
}

export interface RunnerOptions {
  readonly cases: readonly E2eCase[];
  /** The clusters of each lane. Most cases wait most of the time, so two lanes take little more than half the time. */
  readonly pools: readonly ClusterPool[];
  readonly assets: KubeAssets;
  readonly processes: ProcessSet;
  readonly directory: string;
  readonly resultFile: string;
  readonly print: (line: string) => void;
  /** Where unhandled rejections are reported; default: this process. */
  readonly rejections?: Pick<EventEmitter, "on" | "off">;
}

const cleanupLimitMs = 30_000;
const logTailLines = 20;
const reasonLines = 6;
/** What the program under test ends with after a bug (EX_SOFTWARE); no case asks for that. */
const crashCode = 70;

/**
 * Resolves to the results, in the order of the cases, and stops the clusters. A case that fails takes the shared
 * clusters of its lane with it: what it left in them must not fail the next one. A promise that fails while nobody
 * waits for it fails the cases that run then, in every lane: nobody knows whose it is.
 */
export async function runCases(options: RunnerOptions): Promise<readonly CaseResult[]> {
  const results = new Map<number, CaseResult>();
  const ended = (): readonly CaseResult[] => options.cases.flatMap((_, index) => results.get(index) ?? []);
  const runLane = async (pool: ClusterPool, queue: Iterable<[number, E2eCase]>): Promise<void> => {
    const lane = { options, pool, strays: new StrayRejections(options.rejections ?? process) };
    for (const [index, one] of queue) {
      results.set(index, await runInLane(one, `e2e-${index + 1}`, lane));
      writeResults(options, ended());
    }
    lane.strays.stop();
    await pool.discard();
  };
  const queueOf = (isAlone: boolean) => options.cases.entries().filter(([, one]) => (one.isAlone ?? false) === isAlone);
  const together = queueOf(false);
  await Promise.all(options.pools.map((pool) => runLane(pool, together)));
  const alone = Array.from(queueOf(true));
  const [pool] = options.pools;
  if (alone.length > 0 && pool !== undefined) await runLane(pool, alone);
  writeResults(options, ended());
  return ended();
}

interface Lane {
  readonly options: RunnerOptions;
  readonly pool: ClusterPool;
  readonly strays: StrayRejections;
}

/** Runs a case, again when its port was taken, and prints what became of it. */
async function runInLane(one: E2eCase, namespace: string, lane: Lane): Promise<CaseResult> {
  const { pool, strays } = lane;
  const { print } = lane.options;
  if (one.hasOwnClusters === true) await pool.discard();
  let result = await runCase(one, namespace, lane);
  if (result.portWasTaken) {
    print(`again: ${one.name}: another program took a port before it was used`);
    await pool.discard();
    result = await runCase(one, `${namespace}-again`, lane);
  }
  const verdict = `${result.passed ? "ok  " : "FAIL"} ${one.name} (${seconds(result.durationMs)})`;
  print(`${verdict} ${printed(result.figures)}`.trimEnd());
  if (!result.passed || one.hasOwnClusters === true) await pool.discard();
  if (!result.passed) {
    print(indent(result.error ?? ""));
    // Whatever it left running loses its clusters now. That is no matter of the next case.
    for (const late of strays.take()) print(indent(`after its end: ${describe(late)}`));
  }
  return result;
}

async function runCase(one: E2eCase, namespace: string, { options, pool, strays }: Lane): Promise<CaseResult> {
  const processes = options.processes.subset();
  const abort = new AbortController();
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const [subject = ""] = one.name.split(":");
  const context: CaseContext = {
    namespace,
    directory: path.join(options.directory, namespace),
    assets: options.assets,
    processes,
    signal: abort.signal,
    cluster: (name) => pool.cluster(name),
    cleanup: (job) => void cleanups.unshift(job),
    say: (line) => options.print(`     ${subject}: ${line}`),
  };
  mkdirSync(context.directory, { recursive: true });
  const startMs = performance.now();
  let figures: Figures = {};
  let error: string | undefined;
  let portWasTaken = false;
  try {
    figures = await within(one.timeLimitMs, "the case", strays.race(one.run(context)));
    const crashed = processes.processes().filter((one) => one.exit()?.code === crashCode);
    if (crashed.length > 0) throw new Error(`crashed: ${crashed.map(({ name }) => name).join(", ")}`);
    const unready = await pool.unready();
    if (unready.length > 0) throw new Error(`the case left these clusters not ready: ${unready.join(", ")}`);
  } catch (cause) {
    const logs = [...processes.processes(), ...pool.processes()].map(logTail);
    error = [describe(cause), ...logs].join("\n");
    // Ports are chosen by the system and free until they are used, unless a connection of another program gets one in
    // between.
    portWasTaken = processes.processes().some((one) => one.exit() !== undefined && isPortTaken(one.log()));
  }
  const durationMs = performance.now() - startMs;
  abort.abort();
  for (const job of cleanups) {
    try {
      await within(cleanupLimitMs, "a clean-up", Promise.resolve(job()));
    } catch (cause) {
      error ??= `clean-up: ${describe(cause)}`;
    }
  }
  await processes.end();
  const [stray] = strays.take();
  if (stray !== undefined) error ??= `a promise failed that nobody was waiting for: ${describe(stray)}`;
  return {
    name: one.name,
    passed: error === undefined,
    durationMs,
    figures,
    portWasTaken,
    ...(error === undefined ? {} : { error }),
  };
}

/** Rejects when `job` takes longer. The job itself goes on until what it uses is gone. */
async function within<T>(limitMs: number, what: string, job: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than its limit of ${seconds(limitMs)}`)), limitMs);
  });
  try {
    return await Promise.race([job, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause === undefined ? "" : `\ncaused by ${describe(cause.cause)}`;
  return (cause.stack ?? cause.message) + inner;
}

function logTail(one: ManagedProcess): string {
  const exit = one.exit();
  const state = exit === undefined ? "running" : `ended with ${exit.code ?? exit.signal}`;
  const tail = one.log().trimEnd().split("\n").slice(-logTailLines).join("\n");
  return `--- ${one.name} (${state}), ${one.logFile}\n${tail}`;
}

/**
 * The cases that failed, each with the first lines of its reason, for the end of the output: of a long run often only
 * the end is kept.
 */
export function failures(results: readonly CaseResult[]): readonly string[] {
  return results
    .filter(({ passed }) => !passed)
    .flatMap(({ name, error = "" }) => {
      const [reason = ""] = error.split("\n--- ");
      return [`FAILED: ${name}`, indent(reason.split("\n").slice(0, reasonLines).join("\n"))];
    });
}

function printed(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "     ");
}

function writeResults(options: RunnerOptions, cases: readonly CaseResult[]): void {
  const passed = cases.filter((one) => one.passed).length;
  const content = {
    kubernetesVersion,
    passed,
    failed: cases.length - passed,
    clusters: options.pools.flatMap((pool) => pool.figures()),
    cases,
  };
  mkdirSync(path.dirname(options.resultFile), { recursive: true });
  writeFileSync(options.resultFile, `${JSON.stringify(content, null, 2)}\n`);
}

const event = "unhandledRejection";

class StrayRejections {
  readonly #source: Pick<EventEmitter, "on" | "off">;
  readonly #seen: unknown[] = [];
  #next = Promise.withResolvers<never>();

  /** Listens from now on; `source` is Node.js' `process`. */
  constructor(source: Pick<EventEmitter, "on" | "off">) {
    this.#source = source;
    this.#expect();
    source.on(event, this.#onRejection);
  }

  /** As `job`, but rejects as soon as there is a stray rejection. */
  race<T>(job: Promise<T>): Promise<T> {
    return Promise.race([job, this.#next.promise]);
  }

  /** Those since the last call. */
  take(): readonly unknown[] {
    this.#expect();
    return this.#seen.splice(0);
  }

  stop(): void {
    this.#source.off(event, this.#onRejection);
  }

  readonly #onRejection = (cause: unknown): void => {
    this.#seen.push(cause);
    this.#next.reject(new Error("a promise failed that nobody was waiting for", { cause }));
  };

  #expect(): void {
    this.#next = Promise.withResolvers<never>();
    this.#next.promise.catch(() => undefined); // mostly nobody races
  }
}
