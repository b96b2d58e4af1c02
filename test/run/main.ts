/**
 * Runs tests: `main.ts test`, `main.ts proofs`, or `main.ts GLOB…`. As many processes at a time as there are cores. A
 * failure is printed when it happens, totals at the end. `--record` keeps how long the ring took, which documents and
 * limits quote: on two quiet cores only. `TEST_LIMIT_S`: seconds after which a file that hangs is ended.
 */
import { writeFileSync } from "node:fs";
import os from "node:os";
import { parseArgs } from "node:util";
import { figures, figuresPath, type Ring } from "./figures.ts";
import { type Failure, GroupRun } from "./group-run.ts";
import { type Group, groupsOf, rings } from "./groups.ts";

/** Ten times what the slowest file takes on two quiet cores. */
const limitMsOfFile = 1_800_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { record: { type: "boolean" } } });
const globs = positionals.map((one) => rings[one] ?? one);
const seconds = Object.assign({}, ...Object.values(figures).map(({ groups }) => groups)) as Ring["groups"];
const groups = groupsOf(globs, seconds);
const limitMs = Number(process.env["TEST_LIMIT_S"] ?? limitMsOfFile / 1000) * 1000;
const runs = new Map<string, GroupRun>();
const startedMs = performance.now();
const elapsed = (): string => ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);

function print({ file, name, why }: Failure): void {
  console.log(`\n✖ ${file}${name === "" ? "" : `: ${name}`}\n${why.replaceAll(/^/gm, "  ")}\n`);
}

async function run(group: Group): Promise<void> {
  const one = new GroupRun(group, limitMs, print);
  runs.set(group.name, one);
  await one.ended();
  const verdict = one.failures.length === 0 ? "✔" : "✖";
  const took = `${one.seconds.toFixed(1).padStart(6)} s, of the processor ${one.cpuSeconds.toFixed(1).padStart(5)} s`;
  console.log(`${elapsed()} s ${verdict} ${String(one.passed).padStart(4)} passed in ${took}  ${group.name}`);
}

async function runAll(): Promise<void> {
  const waiting = groups.values();
  // The lanes take from one list.
  const lane = async (): Promise<void> => {
    for (const group of waiting) await run(group);
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, lane));
}

function record(ring: string): void {
  const round = (value: number): number => Math.round(value * 10) / 10;
  const took = [...runs].map(([name, one]) => [name, round(one.seconds)] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  const now = { seconds: Math.ceil((performance.now() - startedMs) / 1000), groups: Object.fromEntries(took) };
  writeFileSync(figuresPath, `${JSON.stringify({ ...figures, [ring]: now }, undefined, 2)}\n`);
}

if (groups.length === 0) throw new Error(`no test file is called ${globs.join(" or ")}`);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    for (const one of runs.values()) one.kill();
    process.exit(128 + os.constants.signals[signal]);
  });
}
await runAll();
const ended = [...runs.values()];
const skipped = ended.flatMap((one) => one.skipped);
const failures = ended.flatMap((one) => one.failures);
const passed = ended.reduce((sum, one) => sum + one.passed, 0);
for (const one of skipped) console.log(`skipped: ${one}`);
for (const { file, name } of failures) console.log(`failed: ${file}${name === "" ? "" : `: ${name}`}`);
console.log(`${passed} passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;
else if (values.record === true) record(positionals.join(" "));
