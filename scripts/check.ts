// `make check`: runs every gate of docs/contributing.md#gates and reports all problems at once, not only the first.
//   node scripts/n.mjs scripts/check.ts [--root=<folder>] [gate …]
import { spawnSync } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { checkApis } from "./check/apis.ts";
import { checkBudgets } from "./check/budgets.ts";
import { checkCircles } from "./check/circles.ts";
import { checkFiles, checkFolders } from "./check/files.ts";
import { checkImports } from "./check/imports.ts";
import { checkMembers } from "./check/members.ts";
import { checkPackages } from "./check/packages.ts";
import { checkReferences } from "./check/references.ts";
import { Repository } from "./check/repository.ts";
import { checkTests } from "./check/tests.ts";
import { checkTimes } from "./check/times.ts";
import { checkWidth } from "./check/width.ts";

interface Gate {
  readonly name: string;
  readonly checks: string;
  /** Returns the problems that it finds, one text each. */
  readonly run: (repository: Repository) => string[];
}

/** The slowest tool takes a few seconds; the limit only ends one that hangs. */
const toolTimeoutMs = 120_000;
const toolOutputBytesMax = 32 * 1024 * 1024;

/** Runs a tool of node_modules in the repository. If it fails, its output is the problem. */
function tool(name: string, ...args: string[]): Gate["run"] {
  return ({ root }) => {
    // Not by the "#!/usr/bin/env node" of .bin: the tool must run on the Node that runs this script.
    const script = path.join(import.meta.dirname, "..", "node_modules", ".bin", name);
    const result = spawnSync(process.execPath, [script, ...args], {
      cwd: root,
      encoding: "utf8",
      timeout: toolTimeoutMs,
      maxBuffer: toolOutputBytesMax,
    });
    if (result.status === 0) return [];
    const ending = result.error?.message ?? `${name} exited with ${result.status ?? result.signal}`;
    return [(result.stdout + result.stderr).trim() || ending];
  };
}

const gates: readonly Gate[] = [
  { name: "types", checks: "TypeScript, strict", run: tool("tsc", "--pretty", "false", "-p", ".") },
  { name: "lint", checks: "oxlint with types", run: tool("oxlint", "src", "test", "scripts") },
  { name: "format", checks: "oxfmt", run: tool("oxfmt", "--check", ".") },
  { name: "imports", checks: "import direction, homes of libraries", run: checkImports },
  { name: "circles", checks: "no circle of imports, types included", run: checkCircles },
  { name: "dead-code", checks: "knip: no unused file, export or package", run: tool("knip", "--no-progress") },
  { name: "members", checks: "no member that only tests use", run: checkMembers },
  { name: "width", checks: "lines of at most 120 columns", run: checkWidth },
  { name: "references", checks: "no reference to what does not exist", run: checkReferences },
  { name: "apis", checks: "homes of the clock, randomness, the environment, output", run: checkApis },
  { name: "tests", checks: "each folder says what is tested where", run: checkTests },
  { name: "times", checks: "pace, patience or proof: every constant of time is listed", run: checkTimes },
  { name: "files", checks: "names, length, unfinished work, machine names", run: checkFiles },
  { name: "folders", checks: "at most 16 sources in a folder", run: checkFolders },
  { name: "budgets", checks: "lines, files, flags, metrics, pages, commands, kinds", run: checkBudgets },
  { name: "packages", checks: "exact versions, a reason for each package", run: checkPackages },
];

/** A gate that throws has found a file that cannot be read at all, such as one with a syntax error. */
function problemsOf(gate: Gate, repository: Repository): string[] {
  try {
    return gate.run(repository);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Runs the named gates (without names, all) and prints a line for each; returns the names of those that failed. */
function check(repository: Repository, names: readonly string[]): string[] {
  const chosen = gates.filter(({ name }) => names.length === 0 || names.includes(name));
  const failed: string[] = [];
  for (const gate of chosen) {
    const startMs = performance.now();
    const problems = problemsOf(gate, repository);
    const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
    const verdict = problems.length === 0 ? "ok" : "FAILED";
    console.log(`${gate.name.padEnd(10)} ${verdict.padEnd(7)} ${took.padStart(7)}   ${gate.checks}`);
    for (const problem of problems) console.log(problem.replaceAll(/^/gm, "  "));
    if (problems.length > 0) failed.push(gate.name);
  }
  return failed;
}

const { values, positionals } = parseArgs({ options: { root: { type: "string" } }, allowPositionals: true });
const unknown = positionals.filter((name) => !gates.some((gate) => gate.name === name));
if (unknown.length > 0) {
  console.error(`check: no such gate: ${unknown.join(", ")}; gates: ${gates.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const root = path.resolve(values.root ?? path.join(import.meta.dirname, ".."));
const failed = check(new Repository(root), positionals);
console.log(failed.length === 0 ? "check: all gates passed" : `check: FAILED: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
