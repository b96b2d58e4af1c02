/**
 * `make soak`: all roles of the built product over a core and two workers, each a process of its own, under a steady
 * load while everything happens that happens in two hours. Prints how it goes and a table, writes
 * test-results/soak.json, and exits with 1 when something grew, fell below a floor, failed or was miscounted
 * (docs/performance.md#endurance).
 *
 *   SECONDS=900   as dense as two hours in a quarter of one
 *   HOURS=2       the real thing
 */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ProcessSet } from "../../scripts/child-processes.ts";
import { startBalancer } from "../../scripts/demo/world/balancer.ts";
import { Cluster, type ClusterTally } from "./cluster.ts";
import { differences, type PodCounts } from "./checks/counts.ts";
import { Director } from "./director.ts";
import { FloorWatch } from "./checks/floors.ts";
import { Product } from "./product.ts";
import { progressLine, table } from "./report.ts";
import { clusterNames, paceOf, scheduleOf } from "./schedule.ts";
import { readSettings, type Settings } from "./settings.ts";
import { judge, type Judgement, type Sample, sampleAll } from "./usage.ts";
import { floors, podsPerWorker } from "./workloads.ts";
import { logProblem } from "../fuzz/raw/watch.ts";
import { waitFor } from "../e2e/clusters/wait.ts";

/** Of both workers. */
const eventsPerSecond = 200;
/** Below that part of it, something else was soaked than what is promised. */
const eventsPart = 0.9;
/** Ends a start or an end that hangs; each takes seconds on an idle machine. */
const settleLimitMs = 600_000;
const progressSeconds = 15;
const linesShown = 10;

interface Run {
  readonly settings: Settings;
  readonly clusters: readonly Cluster[];
  readonly workers: readonly Cluster[];
  readonly product: Product;
  readonly floorWatch: FloorWatch;
  readonly samples: Sample[];
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function tallies({ workers, floorWatch }: Run): Promise<readonly ClusterTally[]> {
  const found = await Promise.all(workers.map((worker) => worker.ask("tally")));
  floorWatch.add(found.flatMap(({ seen }) => seen ?? []));
  return found;
}

/** What is not as the clusters say. */
async function miscounted({ clusters, workers }: Run): Promise<readonly string[]> {
  const core = clusters.find(({ name }) => name === "core")!;
  const [workloads, protectors] = await Promise.all([core.ask("workloads"), core.ask("protectors")]);
  const cells = await Promise.all(
    workers.map(async (one): Promise<[string, PodCounts]> => [one.name, await one.ask("counts")]),
  );
  const steady = await Promise.all(workers.map((worker) => worker.ask("isSteady")));
  return [
    ...(steady.every(Boolean) ? [] : ["a container is failing"]),
    ...differences(workloads, protectors, new Map(cells)),
  ];
}

/** Until nothing differs; what does when the patience is at its end. */
async function settle(run: Run): Promise<readonly string[]> {
  let last: readonly string[] = [];
  await waitFor("all is counted", settleLimitMs, async () => {
    last = await miscounted(run);
    return last.length === 0;
  }).catch(() => undefined);
  return last;
}

/** Samples and tells until the time is up. */
async function observe(run: Run, director: Director): Promise<void> {
  const { settings, product, samples } = run;
  const startMs = performance.now();
  const secondsNow = (): number => (performance.now() - startMs) / 1000;
  let toldSeconds = 0;
  const before = await tallies(run);
  while (secondsNow() < settings.seconds) {
    const nextSeconds = secondsNow() + settings.sampleSeconds;
    samples.push(...(await sampleAll(product.replicas, secondsNow())));
    const now = await tallies(run);
    const ended = product.replicas.find(
      ({ isChanging, process: child }) => !isChanging && child.process.exit() !== undefined,
    );
    if (ended !== undefined)
      throw new Error(`${ended.name} has ended: ${JSON.stringify(ended.process.process.exit())}`);
    if (secondsNow() >= toldSeconds + progressSeconds) {
      toldSeconds = secondsNow();
      const events = sum(now.map((one) => one.events)) - sum(before.map((one) => one.events));
      console.log(
        progressLine({
          seconds: toldSeconds,
          of: settings.seconds,
          events,
          tallies: now,
          floors: run.floorWatch,
          samples,
          done: director.done,
        }),
      );
    }
    await delay(Math.max(0, Math.min(nextSeconds, settings.seconds) - secondsNow()) * 1000);
  }
}

async function start(settings: Settings, directory: string, processes: ProcessSet): Promise<Run> {
  const clusters = await Promise.all(clusterNames.map((name) => Cluster.start(name, processes)));
  const workers = clusters.filter(({ name }) => name !== "core");
  const product = await Product.start(clusters, directory, processes);
  return { settings, clusters, workers, product, floorWatch: new FloorWatch(floors), samples: [] };
}

/** One line for each thing that is wrong. */
async function soak(run: Run): Promise<readonly string[]> {
  const { settings, clusters, workers, product, floorWatch } = run;
  await waitFor("all pods are up", settleLimitMs, async () => {
    const counts = await Promise.all(workers.map((worker) => worker.ask("counts")));
    return counts.every((one) => sum(Array.from(one.values(), ({ available }) => available)) >= podsPerWorker);
  });
  const early = await settle(run);
  if (early.length > 0) return early.map((line) => `at the start: ${line}`);
  const balancer = await startBalancer(() => product.webhookPorts);
  for (const worker of workers) await worker.order({ do: "guard", url: balancer.url });
  const before = await tallies(run);
  floorWatch.guard();
  for (const worker of workers) await worker.order({ do: "begin", eventsPerSecond: eventsPerSecond / workers.length });
  const director = new Director(clusters, product);
  const startMs = performance.now();
  const ends = await Promise.allSettled([director.direct(scheduleOf(settings.seconds)), observe(run, director)]);
  const after = await tallies(run);
  const perSecond =
    (sum(after.map(({ events }) => events)) - sum(before.map(({ events }) => events))) /
    ((performance.now() - startMs) / 1000);
  for (const worker of workers) await worker.order({ do: "end" });
  const wrong = await settle(run);
  const last = await tallies(run);
  const judgements = judge(run.samples, settings.seconds);
  console.log(`\n${table(run.samples, judgements).join("\n")}`);
  const reviews = last.map((one) => one.reviews);
  const figures = {
    seconds: settings.seconds,
    pace: paceOf(settings.seconds),
    podEventsPerSecond: Math.round(perSecond),
    deletionsByPeople: sum(last.map(({ deletions }) => deletions)),
    admitted: sum(reviews.map(({ admitted }) => admitted)),
    refused: sum(reviews.map(({ refused }) => refused)),
    failedReviews: sum(reviews.map(({ failed }) => failed)),
    starvedReviews: sum(reviews.map(({ starved }) => starved)),
    stalls: sum(last.map(({ stalls }) => stalls)),
    leastSpare: floorWatch.leastSpare,
    done: director.done,
    /** By the end of the run, over a quarter of an hour: above the cores, latencies are those of the machine. */
    loadAverage: os.loadavg()[2],
    cores: os.availableParallelism(),
  };
  console.log(`\n${JSON.stringify(figures)}`);
  writeResults({ figures, failures: reviews.flatMap(({ failures }) => failures), judgements, samples: run.samples });
  const logged = product.replicas.flatMap(({ name, process: child }) =>
    child.process
      .log()
      .split("\n")
      .flatMap((line) => {
        const problem = logProblem(line);
        return problem === undefined ? [] : [`${name}: ${problem}`];
      }),
  );
  await product.end();
  await balancer.close();
  return [
    ...ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : [])),
    ...wrong.map((line) => `at the end: ${line}`),
    ...floorWatch.breaches,
    ...reviews.flatMap(({ failed, failures }) => (failed === 0 ? [] : [`${failed} reviews failed: ${failures[0]}`])),
    ...(perSecond < eventsPart * eventsPerSecond
      ? [`the clusters managed ${perSecond.toFixed(0)} changes of pods a second, ${eventsPerSecond} are promised`]
      : []),
    ...logged,
    ...new Set(judgements.filter((one) => one.grows).map(growthText)),
  ];
}

function growthText({ name, quantity, trend }: Judgement): string {
  if (Number.isNaN(trend.growth)) return `${name}: there are too few samples in the second half`;
  return `${name}: ${quantity} grew by ${trend.growth.toFixed(1)} in the second half`;
}

function writeResults(results: object): void {
  const file = path.join("test-results", "soak.json");
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, undefined, 1)}\n`);
  console.log(`All samples are in ${file}.`);
}

async function main(): Promise<number> {
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    console.error(`make soak: ${(error as Error).message}`);
    return 2;
  }
  const processes = new ProcessSet();
  process.on("exit", () => processes.killAll());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => process.exit(128 + os.constants.signals[signal]));
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-soak-"));
  console.log(
    `${settings.seconds} s, ${paceOf(settings.seconds).toFixed(1)} times as dense as two hours. Logs: ${directory}`,
  );
  const run = await start(settings, directory, processes);
  const missed = await soak(run);
  await processes.end();
  for (const line of missed.slice(0, linesShown)) console.log(`MISSED ${line}`);
  if (missed.length > linesShown) console.log(`MISSED ${missed.length - linesShown} more`);
  if (missed.length === 0) console.log("Nothing grew, nothing failed, all is counted.");
  return missed.length === 0 ? 0 : 1;
}

process.exit(await main());
