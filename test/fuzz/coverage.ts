/** `make fuzz COVERAGE=1`: which branches of the webhook and the heart the fuzzer reaches. Node's own coverage, by file. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readLcov } from "../sim/coverage.ts";
import { renderText } from "../sim/table.ts";

const root = path.join(import.meta.dirname, "..", "..");
const covered = fileURLToPath(new URL("./covered-episodes.ts", import.meta.url));
const folders = ["src/webhook", "src/core", "src/retry-batch", "src/label-index", "src/api"];
/** An input takes about 1 ms, a few times that while it is measured; the start takes seconds. */
const startMs = 60_000;
const inputMs = 20;
const outputBytesMax = 64 * 1024 * 1024;
/** Lines named for each file. */
const linesShown = 12;

/** Sends the inputs under measurement; returns the exit code. */
export function coverage(seed: number, inputs: number): number {
  const include = folders.map((folder) => `--test-coverage-include=${folder}/**`);
  const { stdout, status, signal } = spawnSync(
    process.execPath,
    ["--test", "--experimental-test-coverage", ...include, "--test-reporter=lcov", covered],
    {
      cwd: root,
      encoding: "utf8",
      maxBuffer: outputBytesMax,
      timeout: startMs + inputs * inputMs,
      env: { ...process.env, SEED: String(seed), INPUTS: String(inputs) },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const files = readLcov(stdout);
  if (files.length === 0) {
    console.error(`fuzz: nothing was measured; the run ended with ${status ?? signal}`);
    return 1;
  }
  const row = (name: string, branches: number, reached: number, missed: string): string[] => [
    name,
    String(branches),
    branches === 0 ? "-" : `${((100 * reached) / branches).toFixed(1)} %`,
    missed,
  ];
  const rows = files.map(({ file, branches, reached, missedLines }) =>
    row(
      file,
      branches,
      reached,
      missedLines.slice(0, linesShown).join(",") + (missedLines.length > linesShown ? ",…" : ""),
    ),
  );
  for (const folder of [...folders, ""]) {
    const own = files.filter(({ file }) => file.startsWith(folder));
    const sum = (key: "branches" | "reached"): number => own.reduce((total, one) => total + one[key], 0);
    rows.push(row(folder === "" ? "all" : `all of ${folder}`, sum("branches"), sum("reached"), ""));
  }
  const header = ["file", "branches", "reached", "lines with a branch that was never taken"];
  console.log(renderText({ title: `Branches that ${inputs} inputs reach`, header, rows }, Number.POSITIVE_INFINITY));
  return status === 0 ? 0 : 1;
}
