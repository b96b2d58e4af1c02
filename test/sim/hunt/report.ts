/**
 * `make sim REPORT=1`: every algorithm under every fault class alone, under none and under all, on the same seeds.
 * Shows why `observed` is the default: the others break floors.
 */
import { type FaultClass, faultClasses } from "../fault-classes.ts";
import { type Settings } from "./settings.ts";
import { renderMarkdown, renderText, type Table } from "./table.ts";
import { type RunPool } from "../workers/run-pool.ts";
import { type RunOutcome, type RunTask, type PlanSettings } from "../workers/task.ts";

/** The algorithms that the simulated API servers can serve. */
export const algorithms = ["observed", "clock", "status", "managed-fields", "annotation"] as const;
export type Algorithm = (typeof algorithms)[number];

/** A row of the table: which faults strike. */
export interface Weather {
  readonly name: string;
  readonly only: readonly FaultClass[];
}

export const weathers: readonly Weather[] = [
  { name: "none", only: [] },
  ...faultClasses.map((name) => ({ name, only: [name] })),
  { name: "all", only: faultClasses },
];

/** Sums over the runs of one algorithm in one weather. */
export interface Cell {
  readonly algorithm: Algorithm;
  readonly weather: string;
  deletions: number;
  admitted: number;
  /** Admissions that took a workload under its floor, and how far the worst one went. */
  broken: number;
  worstDepth: number;
  /** Of pods that the restore of a worker took away: not among the broken ones. */
  afterRestores: number;
  /** Quota held by admissions, in pod-seconds. */
  heldPodSeconds: number;
  /** Runs with another finding, such as quota that never came back. */
  readonly findings: { readonly seed: number; readonly finding: string }[];
}

export interface ReportOptions {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly algorithms: readonly Algorithm[];
  readonly weathers: readonly Weather[];
  /** For all runs; default: what their seeds draw. */
  readonly plan?: PlanSettings;
}

/** Does all runs of the report; `onDone` is called after each. Rows come in the order asked for. */
export async function measure(
  pool: Pick<RunPool, "runAll">,
  options: ReportOptions,
  onDone: (done: number, total: number) => void = () => {},
): Promise<readonly Cell[]> {
  const planned = options.plan === undefined ? {} : { plan: options.plan };
  const cells = new Map<RunTask, Cell>();
  const all: Cell[] = [];
  for (const algorithm of options.algorithms) {
    for (const { name, only } of options.weathers) {
      const cell = {
        algorithm,
        weather: name,
        deletions: 0,
        admitted: 0,
        broken: 0,
        worstDepth: 0,
        afterRestores: 0,
        heldPodSeconds: 0,
        findings: [],
      };
      all.push(cell);
      for (let count = 0; count < options.seeds; count += 1)
        cells.set({ ...planned, seed: options.firstSeed + count, algorithm, only }, cell);
    }
  }
  let done = 0;
  // Outcomes carry a copy of their task, so each lane keeps its own; sums do not depend on the order.
  const byKey = new Map([...cells].map(([task, cell]) => [keyOf(task), cell]));
  await pool.runAll(cells.keys(), (outcome) => {
    const cell = byKey.get(keyOf(outcome.task));
    if (cell !== undefined) add(cell, outcome);
    done += 1;
    onDone(done, cells.size);
    return true;
  });
  for (const cell of all) cell.findings.sort((a, b) => a.seed - b.seed);
  return all;
}

function keyOf({ seed, algorithm, only }: RunTask): string {
  return JSON.stringify([seed, algorithm, only]);
}

function add(cell: Cell, outcome: RunOutcome): void {
  cell.deletions += outcome.deletions;
  cell.admitted += outcome.admitted;
  cell.broken += outcome.breaches;
  cell.afterRestores += outcome.restoreBreaches;
  cell.worstDepth = Math.max(cell.worstDepth, outcome.worstDepth);
  cell.heldPodSeconds += outcome.heldPodSeconds;
  if (outcome.finding !== undefined) cell.findings.push({ seed: outcome.task.seed, finding: outcome.finding });
}

/** The glance: floors broken by fault class and algorithm. Then every figure of each algorithm. */
export function tablesOf(cells: readonly Cell[]): readonly Table[] {
  const columns = [...new Set(cells.map(({ algorithm }) => algorithm))];
  const names = [...new Set(cells.map(({ weather }) => weather))];
  const glance: Table = {
    title: "Floors broken (pods under the floor at worst), by fault class and algorithm",
    header: ["faults", ...columns],
    rows: names.map((name) => [
      name,
      ...columns.map((algorithm) => {
        const cell = cells.find((one) => one.weather === name && one.algorithm === algorithm);
        if (cell === undefined) return "";
        return cell.broken === 0 ? "0" : `${cell.broken} (${cell.worstDepth})`;
      }),
    ]),
  };
  return [glance, ...columns.map((algorithm) => tableOf(algorithm, cells))];
}

function tableOf(algorithm: Algorithm, cells: readonly Cell[]): Table {
  return {
    title: `${algorithm}${algorithm === "observed" ? " (the default)" : ""}`,
    header: [
      "faults",
      "tried",
      "admitted",
      "floors broken",
      "worst depth",
      "by restores",
      "quota held, pod-s",
      "per admission",
      "others",
    ],
    rows: cells
      .filter((cell) => cell.algorithm === algorithm)
      .map((cell) => [
        cell.weather,
        String(cell.deletions),
        String(cell.admitted),
        String(cell.broken),
        String(cell.worstDepth),
        String(cell.afterRestores),
        String(Math.round(cell.heldPodSeconds)),
        cell.admitted === 0 ? "-" : (cell.heldPodSeconds / cell.admitted).toFixed(1),
        String(cell.findings.length),
      ]),
  };
}

/**
 * What went wrong besides broken floors that are expected: seeds to run again. The default promises that there is none.
 */
export function findingsOf(cells: readonly Cell[], algorithm: Algorithm): string[] {
  return cells
    .filter((cell) => cell.algorithm === algorithm)
    .flatMap(({ weather, findings }) =>
      findings.map(({ seed, finding }) => `${algorithm}, ${weather}, seed ${seed}: ${finding.split("\n", 1)[0]}`),
    );
}

/** Columns of a terminal; a file gets what fits a page. */
const pageColumns = 120;

/** Prints the report, with ONLY of these fault classes. Returns the exit code: 1 when the default broke a promise. */
export async function report(pool: RunPool, settings: Settings): Promise<number> {
  const { firstSeed, seeds, format } = settings;
  const { plan, only } = settings.overrides;
  const chosen = only === undefined ? weathers : only.map((name) => ({ name, only: [name] }));
  let toldMs = performance.now();
  const cells = await measure(
    pool,
    { firstSeed, seeds, algorithms, weathers: chosen, ...(plan === undefined ? {} : { plan }) },
    (done, total) => {
      if (performance.now() - toldMs < 10_000) return;
      toldMs = performance.now();
      console.error(`${done} of ${total} runs`);
    },
  );
  const width = Math.min(pageColumns, process.stdout.columns ?? pageColumns);
  const render = format === "markdown" ? renderMarkdown : (table: Table): string => renderText(table, width);
  console.log(tablesOf(cells).map(render).join("\n\n"));
  const findings = findingsOf(cells, "observed");
  for (const finding of findings) console.error(finding);
  return findings.length === 0 ? 0 : 1;
}
