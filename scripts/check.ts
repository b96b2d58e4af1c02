// `make check`: every gate of the house, each by name. All gates run, so that one run shows everything there is to
// mend. node scripts/n.mjs scripts/check.ts [--root=<folder>] [gate …]
import { spawnSync } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";
import { checkImports } from "./check-imports.ts";
import { checkRules } from "./check-rules.ts";

interface Gate {
  readonly name: string;
  readonly promises: string;
  /** Looks at the repository at `root`; returns what is wrong, nothing when all is well. */
  readonly run: (root: string) => string[];
}

/** Far above what any tool needs here (the slowest takes seconds): a tool that hangs must not hang the gate. */
const toolTimeoutMs = 120_000;
const toolOutputBytesMax = 32 * 1024 * 1024;

/** Runs a tool of node_modules in `root`. Its output is the problem when it does not end with 0. */
function tool(name: string, ...args: string[]): (root: string) => string[] {
  return (root) => {
    // Not through .bin's "#!/usr/bin/env node": the tool must run on the Node that runs this script.
    const script = path.join(import.meta.dirname, "..", "node_modules", ".bin", name);
    const result = spawnSync(process.execPath, [script, ...args], {
      cwd: root,
      encoding: "utf8",
      timeout: toolTimeoutMs,
      maxBuffer: toolOutputBytesMax,
    });
    if (result.status === 0) return [];
    const ending = result.error?.message ?? `${name} ended with ${result.status ?? result.signal}`;
    return [(result.stdout + result.stderr).trim() || ending];
  };
}

const gates: readonly Gate[] = [
  { name: "types", promises: "TypeScript, strict", run: tool("tsc", "--pretty", "false", "-p", ".") },
  { name: "lint", promises: "oxlint with types; no cycle", run: tool("oxlint", "src", "test", "scripts") },
  { name: "format", promises: "oxfmt", run: tool("oxfmt", "--check", ".") },
  { name: "imports", promises: "direction, homes of libraries", run: checkImports },
  { name: "dead-code", promises: "knip: files, exports, packages", run: tool("knip", "--no-progress") },
  { name: "rules", promises: "the rules of this repository", run: checkRules },
];

/** Runs the named gates (all, without names) and prints a line for each; returns the names of those that failed. */
function check(root: string, names: readonly string[]): string[] {
  const failed: string[] = [];
  for (const gate of gates.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const startMs = performance.now();
    const problems = gate.run(root);
    const took = `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
    const verdict = problems.length === 0 ? "ok" : "FAILED";
    console.log(`${gate.name.padEnd(10)} ${verdict.padEnd(7)} ${took.padStart(7)}   ${gate.promises}`);
    for (const problem of problems) console.log(problem.replaceAll(/^/gm, "  "));
    if (problems.length > 0) failed.push(gate.name);
  }
  return failed;
}

const { values, positionals } = parseArgs({ options: { root: { type: "string" } }, allowPositionals: true });
const unknown = positionals.filter((name) => !gates.some((gate) => gate.name === name));
if (unknown.length > 0) {
  console.error(`No gate ${unknown.join(", ")}: ${gates.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const failed = check(path.resolve(values.root ?? path.join(import.meta.dirname, "..")), positionals);
console.log(failed.length === 0 ? "check: all gates ok" : `check: FAILED: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
