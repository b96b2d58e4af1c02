/**
 * `make fuzz`: sends reviews and PodProtectors drawn from a grammar, and damaged ones, to the webhook on a virtual
 * clock, and checks every answer and write. Then speaks raw HTTP and TLS with the listeners of built webhooks.
 *
 *   INPUTS=20000      how many inputs (reviews and PodProtectors)
 *   CONNECTIONS=2000  how many raw connections
 *   SEED=1            the same seed sends the same
 *   WORKERS=…         default: one for each core
 *   EPISODE=…         instead: this episode alone, made small if it fails
 *   CONNECTION=…      instead: this connection alone
 *   COVERAGE=1        instead: which branches of the webhook and of the core logic the inputs reach
 *
 * Exits with 1 when something was found. Each of the two parts ends with a line of JSON; 0 leaves one out.
 */
import os from "node:os";
import { Worker } from "node:worker_threads";
import { coverage } from "./coverage.ts";
import { drawEpisode } from "./draw-episode.ts";
import { minimise } from "./minimise.ts";
import { play } from "./play.ts";
import { fuzzConnections } from "./raw/run.ts";
import { addTally, emptyTally, type Range, statusesOf, type Tally } from "./tally.ts";

/** Episodes that a worker plays at a time: about a second. */
const rangeSize = 20;
/** A range that takes this long hangs. */
const rangeMsMax = 120_000;
const progressMs = 10_000;
/** More findings than this say nothing new. */
const failuresMax = 100;

function numberFrom(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} must be a whole number`);
  return value;
}

/** Plays ranges on all workers until there are enough inputs. */
async function playMany(seed: number, inputs: number, workers: number, sum: Tally): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    const worker = new Worker(new URL("./fuzz-worker.ts", import.meta.url));
    try {
      while (sum.inputs < inputs && sum.failures.length < failuresMax) {
        const range: Range = { seed, from: next, end: next + rangeSize };
        next = range.end;
        addTally(sum, await playRange(worker, range));
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: workers }, lane));
}

function playRange(worker: Worker, range: Range): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      worker.off("message", take).off("error", crashed).off("exit", exited);
    };
    const lose = (why: string): void => {
      end();
      reject(new Error(`episodes ${range.from} to ${range.end - 1} of seed ${range.seed}: ${why}`));
    };
    const take = (tally: Tally): void => {
      end();
      resolve(tally);
    };
    const crashed = (error: unknown): void => lose(String(error));
    const exited = (code: number): void => lose(`the worker ended with ${code}`);
    const timer = setTimeout(() => lose("they hang"), rangeMsMax);
    worker.on("message", take).on("error", crashed).on("exit", exited);
    worker.postMessage(range, []);
  });
}

async function showFailure(seed: number, index: number, failure: string): Promise<void> {
  const small = await minimise(drawEpisode(seed, index), (outcome) => outcome.failure !== undefined);
  const { failure: smallFailure } = await play(small);
  console.log(`SEED=${seed} EPISODE=${index}: ${failure}\nthe smallest episode found fails with ${smallFailure}`);
  console.log(JSON.stringify(small, null, 2));
}

async function run(): Promise<number> {
  const seed = numberFrom("SEED", 1);
  const inputs = numberFrom("INPUTS", 20_000);
  const connections = numberFrom("CONNECTIONS", 2_000);
  if (process.env["COVERAGE"] === "1") return coverage(seed, inputs);
  if (process.env["EPISODE"] !== undefined) {
    const index = numberFrom("EPISODE", 0);
    const { failure, ...outcome } = await play(drawEpisode(seed, index));
    console.log(JSON.stringify({ ...outcome, byStatus: statusesOf(outcome) }));
    if (failure !== undefined) await showFailure(seed, index, failure);
    return failure === undefined ? 0 : 1;
  }
  if (process.env["CONNECTION"] !== undefined) {
    const index = numberFrom("CONNECTION", 0);
    return Math.min(1, await fuzzConnections({ seed, first: index, end: index + 1 }));
  }
  const failures = inputs === 0 ? 0 : await fuzzInputs(seed, inputs);
  const findings = connections === 0 ? 0 : await fuzzConnections({ seed, first: 0, end: connections });
  return failures + findings === 0 ? 0 : 1;
}

/** Prints what is found, and a last line of JSON. Returns the number of failures. */
async function fuzzInputs(seed: number, inputs: number): Promise<number> {
  const sum = emptyTally();
  const startMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startMs) / 100) / 10;
  const progress = setInterval(() => {
    const perSecond = Math.round(sum.inputs / seconds());
    console.log(`${sum.inputs} of ${inputs} inputs, ${perSecond}/s, ${sum.failures.length} failures`);
  }, progressMs);
  try {
    await playMany(seed, inputs, Math.max(1, numberFrom("WORKERS", os.availableParallelism())), sum);
  } finally {
    clearInterval(progress);
  }
  const took = seconds();
  const [first] = sum.failures.toSorted((a, b) => a.index - b.index);
  for (const { index, failure } of sum.failures) console.log(`SEED=${seed} EPISODE=${index}: ${failure}`);
  if (first !== undefined) await showFailure(seed, first.index, first.failure);
  const { reachedQuota, failures } = sum;
  console.log(
    JSON.stringify({
      inputs: sum.inputs,
      reachedQuota,
      byStatus: statusesOf(sum),
      failures: failures.length,
      seconds: took,
    }),
  );
  return failures.length;
}

// By an exit of its own, so that the webhooks end with it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => process.exit(128 + os.constants.signals[signal]));
process.exit(await run());
