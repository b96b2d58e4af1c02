/**
 * `make bench`: measures and prints a table of figures, each beside what it is compared with in the same run. Also as
 * JSON in test-results/bench.json. ONLY=<name>[,<name>] runs some of the measurements; PROFILE=1 leaves CPU profiles of
 * the webhooks over a real API server in test-results. Of `everyday`: LONG=1 adds the long rows, ROWS=drain runs those
 * with this text in their names instead, TURNS=1 runs each once instead of three times; the last two hold for `mass`,
 * too. BASE=<commit> measures that commit and this one in turns (TURNS=5) and prints a table of both (base/).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { KubeAssetsError } from "../../scripts/kube-assets.ts";
import { CommitError } from "./base/commit.ts";
import { measureInTurns } from "./base/turns.ts";
import { measureBudgetSources } from "./generator/budget-sources.ts";
import { measureCell } from "./cell/cell.ts";
import { measureEveryday } from "./everyday/measure.ts";
import { measureFreshCounts } from "./virtual-time/fresh-counts.ts";
import { measureHandshakes } from "./real-core/handshakes.ts";
import { measureHotProtector, measureReplicas } from "./real-core/hot-protector.ts";
import { measureIndexes } from "./indexes.ts";
import { measureFairness, measureManyProtectors } from "./real-core/many-protectors.ts";
import { measureMassDeletions } from "./mass/measure.ts";
import { measurePodLists } from "./cell/pod-lists.ts";
import { RealCore } from "./real-core/real-core.ts";
import { measureReviews } from "./reviews/reviews.ts";
import { type Row, rowText } from "./row.ts";
import { measureTransport } from "./transport/transport.ts";
import { measureWaves, measureWebhookSets } from "./virtual-time/waves.ts";
import { measureWorkloads } from "./generator/workloads.ts";

type Say = (line: string) => void;

const repository = fileURLToPath(new URL("../..", import.meta.url));
const resultDirectory = path.join(repository, "test-results");
const say: Say = (line) => console.error(`… ${line}`);

/** Turns of each row of `everyday` and `mass`: the median of three is no outlier. */
const turnsDefault = 3;
/** Of two commits. What is worse by chance in five turns of five is one row of 32. */
const turnsOfCommits = 5;
/** What a note about a change shows. All measurements in turns would take a day. */
const comparedDefault = "hot,reviews,cell,replicas,everyday";

/** In the order of the table. Those of `overRealCore` and `inOwnClusters` need kube-apiserver and etcd. */
const alone: Readonly<Record<string, (say: Say) => readonly Row[] | Promise<readonly Row[]>>> = {
  indexes: measureIndexes,
  fresh: measureFreshCounts,
  waves: measureWaves,
  sets: measureWebhookSets,
  reviews: measureReviews,
  transport: measureTransport,
  pods: measurePodLists,
  cell: measureCell,
  budgets: measureBudgetSources,
  workloads: measureWorkloads,
};
const overRealCore: Readonly<Record<string, (core: RealCore, say: Say) => Promise<readonly Row[]>>> = {
  hot: measureHotProtector,
  replicas: measureReplicas,
  fairness: measureFairness,
  many: measureManyProtectors,
  handshakes: measureHandshakes,
};
/** They have clusters of their own. */
const inOwnClusters: Readonly<Record<string, (say: Say) => AsyncIterable<Row>>> = {
  everyday: (say) =>
    measureEveryday(say, {
      isLong: process.env["LONG"] === "1",
      text: process.env["ROWS"] ?? "",
      repetitions: Number(process.env["TURNS"] ?? turnsDefault),
    }),
  mass: (say) =>
    measureMassDeletions(say, {
      turns: Number(process.env["TURNS"] ?? turnsDefault),
      text: process.env["ROWS"] ?? "",
    }),
};

async function measureOverRealCore(names: readonly string[], print: (rows: readonly Row[]) => void): Promise<void> {
  if (names.length === 0) return;
  const core = await RealCore.start(say);
  try {
    for (const name of names) print((await overRealCore[name]?.(core, say)) ?? []);
  } finally {
    await core.stop();
  }
}

async function compareWith(base: string): Promise<number> {
  const { ONLY: only = comparedDefault, TURNS: turns = turnsOfCommits } = process.env;
  try {
    return (await measureInTurns({ repository, base, only, turns: Number(turns) }, say)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CommitError)) throw error;
    console.log(`BASE=${base}: ${error.message}`);
    return 1;
  }
}

async function main(): Promise<number> {
  const names = [alone, overRealCore, inOwnClusters].flatMap((some) => Object.keys(some));
  const only = process.env["ONLY"]?.split(",") ?? names;
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.log(`There is no measurement ${unknown.join(", ")}. ONLY= takes some of: ${names.join(", ")}`);
    return 1;
  }
  const chosen = names.filter((name) => only.includes(name));
  const loadBefore = os.loadavg()[0] ?? 0;
  console.log(
    `${os.cpus()[0]?.model}, ${os.cpus().length} CPUs, Node ${process.version}, load before ${loadBefore.toFixed(1)}`,
  );
  const all: Row[] = [];
  const print = (rows: readonly Row[]): void => {
    all.push(...rows);
    for (const row of rows) console.log(rowText(row));
    if (rows.length > 0) console.log(`    (load average of the last minute: ${(os.loadavg()[0] ?? 0).toFixed(1)})`);
  };
  for (const name of chosen) print((await alone[name]?.(say)) ?? []);
  const overCore = chosen.filter((name) => name in overRealCore);
  const ofControllers = chosen.filter((name) => name in inOwnClusters);
  let leftOut: string | undefined;
  try {
    await measureOverRealCore(overCore, print);
    for (const name of ofControllers) {
      for await (const row of inOwnClusters[name]?.(say) ?? []) print([row]);
    }
  } catch (error) {
    if (!(error instanceof KubeAssetsError)) throw error;
    const needing = [...overCore, ...ofControllers].join(", ");
    leftOut = `Left out, because they need a real API server (${needing}): ${error.message}`;
    console.log(leftOut);
  }
  mkdirSync(resultDirectory, { recursive: true });
  const machine = { node: process.version, cpus: os.cpus().length, cpu: os.cpus()[0]?.model, loadBefore };
  const result = { machine, rows: all, ...(leftOut !== undefined && { leftOut }) };
  writeFileSync(path.join(resultDirectory, "bench.json"), `${JSON.stringify(result, undefined, 2)}\n`);
  return all.some(({ exceeded }) => exceeded !== undefined) ? 1 : 0;
}

// Connections that are kept alive must not keep the run alive.
const base = process.env["BASE"];
process.exit(base ? await compareWith(base) : await main());
