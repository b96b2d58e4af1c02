/** `make sim COVERAGE=1`: which branches of the product's heart the simulation reaches. Node's own coverage, printed by file. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { renderText } from "./table.ts";

const root = path.join(import.meta.dirname, "..", "..");
const lives = fileURLToPath(new URL("./covered-lives.ts", import.meta.url));
/** The heart: what decides about a deletion. */
const folders = ["src/core", "src/aggregator", "src/webhook", "src/retry-batch", "src/label-index"];
/** One life takes about a second, twice that while it is measured. */
const lifeMsMax = 20_000;
const outputBytesMax = 64 * 1024 * 1024;

export interface FileCoverage {
  readonly file: string;
  readonly branches: number;
  readonly reached: number;
  /** Lines with a branch that was never taken. */
  readonly missedLines: readonly number[];
}

/** Reads the lcov format. */
export function readLcov(text: string): FileCoverage[] {
  return text
    .split("end_of_record")
    .map((record) => {
      const lines = record.trim().split("\n");
      const branches = lines
        .filter((line) => line.startsWith("BRDA:"))
        .map((line) => line.slice("BRDA:".length).split(","));
      const missed = branches.filter(([, , , taken]) => taken === "0" || taken === "-");
      return {
        file: lines.find((line) => line.startsWith("SF:"))?.slice("SF:".length) ?? "",
        branches: branches.length,
        reached: branches.length - missed.length,
        missedLines: [...new Set(missed.map(([line]) => Number(line)))].toSorted((a, b) => a - b),
      };
    })
    .filter(({ file }) => file !== "");
}

/** Lives `seeds` worlds from `firstSeed` on under measurement; returns the exit code. */
export function coverage(firstSeed: number, seeds: number): number {
  const include = folders.map((folder) => `--test-coverage-include=${folder}/**`);
  const run = spawnSync(
    process.execPath,
    ["--test", "--experimental-test-coverage", ...include, "--test-reporter=lcov", lives],
    {
      cwd: root,
      encoding: "utf8",
      maxBuffer: outputBytesMax,
      timeout: 60_000 + seeds * lifeMsMax,
      env: { ...process.env, SEED: String(firstSeed), SEEDS: String(seeds) },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const files = readLcov(run.stdout);
  if (files.length === 0) {
    console.error(`sim: nothing was measured; the lives ended with ${run.status ?? run.signal}`);
    return 1;
  }
  const rowOf = (name: string, branches: number, reached: number, missed: string): string[] => [
    name,
    String(branches),
    branches === 0 ? "-" : `${((100 * reached) / branches).toFixed(1)} %`,
    missed,
  ];
  const sum = (key: "branches" | "reached"): number => files.reduce((total, file) => total + file[key], 0);
  const rows = files.map(({ file, branches, reached, missedLines }) =>
    rowOf(file, branches, reached, linesText(missedLines)),
  );
  rows.push(rowOf("all", sum("branches"), sum("reached"), ""));
  const header = ["file", "branches", "reached", "lines with a branch that was never taken"];
  console.log(
    renderText({ title: `Branches of the heart that ${seeds} lives reach`, header, rows }, Number.POSITIVE_INFINITY),
  );
  return 0;
}

/** The table must stay readable: the first few lines lead to the rest. */
const linesShown = 12;

function linesText(lines: readonly number[]): string {
  return lines.slice(0, linesShown).join(",") + (lines.length > linesShown ? ",…" : "");
}
