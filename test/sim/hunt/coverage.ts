/**
 * `make sim COVERAGE=1`: which branches of the product's core logic the simulation reaches. Node's own coverage,
 * printed by file.
 *
 * The core logic is what decides about a deletion, keeps the counts and makes the floors: accounting and quota, label
 * index, batching, watches, aggregator, generator, and of the webhook all but its edge. Not part of it:
 * - src/webhook/http/: the HTTP edge. A simulated API server asks in
 *   one form only; fuzzing and the tests of the app send the others.
 * - src/webhook/{webhook,index}.ts and the like: composition, which each run goes through; index.ts and metrics.ts
 *   decide nothing.
 * - src/kube without watch/: the client, whose sockets the simulated network replaces.
 *
 * A branch that TypeScript proves to be impossible does not count: a `default:` followed by assertNever or `satisfies
 * never` alone. A type error would tell of a way into it. Everything else counts, also what is only a guard.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { renderText } from "./table.ts";

const root = path.join(import.meta.dirname, "..", "..", "..");
const program = fileURLToPath(new URL("./covered-runs.ts", import.meta.url));
const coreLogic = ["accounting", "aggregator", "generator", "webhook", "retry-batch", "label-index", "kube/watch"].map(
  (folder) => `src/${folder}`,
);
const notCoreLogic: ReadonlySet<string> = new Set([
  ...["app", "admission-review", "review-body", "review-fields", "parse-turns", "in-flight-limit"].map(
    (name) => `src/webhook/http/${name}.ts`,
  ),
  "src/webhook/webhook.ts",
  ...coreLogic.flatMap((folder) => [`${folder}/index.ts`, `${folder}/metrics.ts`]),
  "src/kube/watch/informer-metrics.ts",
]);
/** One run takes about a second, twice that while it is measured; each seed has several. */
const runMsMax = 60_000;
const startMs = 60_000;
const outputBytesMax = 64 * 1024 * 1024;

export interface FileCoverage {
  readonly file: string;
  readonly branches: number;
  readonly reached: number;
  /** Lines with a branch that was never taken. */
  readonly missedLines: readonly number[];
}

/** Reads the lcov format. `isImpossible` tells of branches that do not count, by file and line. */
export function readLcov(
  text: string,
  isImpossible: (file: string, line: number) => boolean = () => false,
): FileCoverage[] {
  return text
    .split("end_of_record")
    .map((record) => {
      const lines = record.trim().split("\n");
      const file = lines.find((line) => line.startsWith("SF:"))?.slice("SF:".length) ?? "";
      const branches = lines
        .filter((line) => line.startsWith("BRDA:"))
        .map((line) => line.slice("BRDA:".length).split(","))
        .filter(([line]) => !isImpossible(file, Number(line)));
      const missed = branches.filter(([, , , taken]) => taken === "0" || taken === "-");
      return {
        file,
        branches: branches.length,
        reached: branches.length - missed.length,
        missedLines: [...new Set(missed.map(([line]) => Number(line)))].toSorted((a, b) => a - b),
      };
    })
    .filter(({ file }) => file !== "");
}

/** Numbers, from 1 on, of the lines of `source` whose branch TypeScript proves to be impossible. */
export function impossibleLines(source: string): ReadonlySet<number> {
  const lines = source.split("\n").map((line) => line.trim());
  const isImpossible = (index: number): boolean =>
    lines[index] === "default:" &&
    /^(?:return )?(?:assertNever\([\w.]+\)|[\w.]+ satisfies never);$/.test(lines[index + 1] ?? "");
  return new Set(lines.flatMap((_, index) => (isImpossible(index) ? [index + 1] : [])));
}

/**
 * Runs the test file `program` and measures `folders`. `output` is lcov; `ending` is the exit code, or the signal that
 * ended it.
 */
export function measured(
  program: string,
  folders: readonly string[],
  limits: { readonly env: Readonly<Record<string, string>>; readonly timeoutMs: number },
): { readonly output: string; readonly ending: number | NodeJS.Signals | null } {
  const include = folders.map((folder) => `--test-coverage-include=${folder}/**`);
  const { stdout, status, signal } = spawnSync(
    process.execPath,
    ["--test", "--experimental-test-coverage", ...include, "--test-reporter=lcov", program],
    {
      cwd: root,
      encoding: "utf8",
      maxBuffer: outputBytesMax,
      timeout: limits.timeoutMs,
      env: { ...process.env, ...limits.env },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  return { output: stdout, ending: status ?? signal };
}

/** One row for each file, and one for each of `sums`, over the files whose names begin with its prefix. */
export function renderCoverage(
  title: string,
  files: readonly FileCoverage[],
  sums: readonly { readonly name: string; readonly prefix: string }[],
): string {
  const rows = files.map((file) => rowOf(file.file, [file], linesText(file.missedLines)));
  for (const { name, prefix } of sums)
    rows.push(
      rowOf(
        name,
        files.filter(({ file }) => file.startsWith(prefix)),
        "",
      ),
    );
  const header = ["file", "branches", "reached", "lines with a branch that was never taken"];
  return renderText({ title, header, rows }, Number.POSITIVE_INFINITY);
}

function rowOf(name: string, files: readonly FileCoverage[], missed: string): string[] {
  const sum = (key: "branches" | "reached"): number => files.reduce((total, file) => total + file[key], 0);
  const [branches, reached] = [sum("branches"), sum("reached")];
  return [name, String(branches), branches === 0 ? "-" : `${((100 * reached) / branches).toFixed(1)} %`, missed];
}

/** Runs `seeds` worlds of each kind from `firstSeed` on under measurement; returns the exit code. */
export function coverage(firstSeed: number, seeds: number): number {
  const { output, ending } = measured(program, coreLogic, {
    env: { SEED: String(firstSeed), SEEDS: String(seeds) },
    timeoutMs: startMs + seeds * runMsMax,
  });
  const impossible = new Map<string, ReadonlySet<number>>();
  const isImpossible = (file: string, line: number): boolean => {
    let numbers = impossible.get(file);
    if (numbers === undefined) {
      numbers = impossibleLines(readFileSync(path.join(root, file), "utf8"));
      impossible.set(file, numbers);
    }
    return numbers.has(line);
  };
  const files = readLcov(output, isImpossible).filter(({ file }) => !notCoreLogic.has(file));
  if (files.length === 0) {
    console.error(`sim: nothing was measured; the runs ended with ${ending}`);
    return 1;
  }
  const title = `Branches of the core logic that the runs of ${seeds} seeds reach`;
  console.log(renderCoverage(title, files, [{ name: "all", prefix: "" }]));
  if (ending === 0) return 0;
  console.error("sim: something was found in the runs that were measured; a hunt from the same seed shows it");
  return 1;
}

/** The table must stay readable: the first few lines lead to the rest. */
const linesShown = 12;

function linesText(lines: readonly number[]): string {
  return lines.slice(0, linesShown).join(",") + (lines.length > linesShown ? ",…" : "");
}
