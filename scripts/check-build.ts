// Checks what `make build` made, as a user starts it: alone in an empty folder, with an empty environment.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const root = path.join(import.meta.dirname, "..");
/** Most of it is Node (116 MB); the rest is room for the bundle and its code cache. */
const bytesMax = 125e6;
const startMsMax = 150;
/** The fastest of several runs is judged: what else runs on the machine can only make a run slower. */
const runs = 7;
/** A start needs a tenth of a second; more than this hangs. */
const runTimeoutMs = 20_000;

function check(folder: string): string[] {
  const executable = path.join(folder, "podseidon");
  copyFileSync(path.join(root, "dist/podseidon"), executable);
  const bytes = statSync(executable).size;

  const timesMs: number[] = [];
  let printed = "";
  for (let run = 0; run < runs; run += 1) {
    const startMs = performance.now();
    const result = spawnSync(executable, ["--version"], {
      cwd: folder,
      env: {},
      encoding: "utf8",
      timeout: runTimeoutMs,
    });
    timesMs.push(performance.now() - startMs);
    if (result.status !== 0) return [`--version ended with ${result.status ?? result.signal}: ${result.stderr}`];
    printed = result.stdout.trim();
  }

  const fastestMs = Math.min(...timesMs);
  console.log(`dist/podseidon: ${(bytes / 1e6).toFixed(1)} MB, --version in ${fastestMs.toFixed(0)} ms: ${printed}`);
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const missing = [version, process.version.slice(1)].filter((part) => !printed.includes(part));
  return [
    ...missing.map((part) => `--version does not say ${part}`),
    ...(bytes > bytesMax ? [`${bytes} bytes are more than ${bytesMax}`] : []),
    ...(fastestMs > startMsMax ? [`--version takes ${fastestMs.toFixed(0)} ms, more than ${startMsMax}`] : []),
  ];
}

const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-check-build-"));
try {
  const problems = check(folder);
  for (const problem of problems) console.error(`dist/podseidon: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
