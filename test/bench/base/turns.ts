/** `make bench BASE=<commit>`: measures that commit and this one in turns, in one run on one machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { checkOutBeside } from "./commit.ts";
import { compare, comparisonText, type Measured, type Turn } from "./comparison.ts";

export interface Order {
  readonly repository: string;
  readonly base: string;
  /** Names of measurements, joined by commas. */
  readonly only: string;
  readonly turns: number;
}

/** Resolves to whether no row is worse. Throws a CommitError when there is nothing to compare with. */
export async function measureInTurns(order: Order, say: (line: string) => void): Promise<boolean> {
  const { repository, base, only, turns: count } = order;
  const beside = checkOutBeside(repository, base, say);
  process.once("exit", () => beside.remove());
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const turns: Turn[] = [];
  for (let turn = 1; turn <= count; turn += 1) {
    say(`turn ${turn} of ${count}: ${beside.name}`);
    const former = await measure(beside.root, only);
    say(`turn ${turn} of ${count}: this`);
    turns.push({ base: former, own: await measure(repository, only) });
  }
  console.log(comparisonText(turns, beside.name));
  return compare(turns).rows.every(({ isWorse }) => !isWorse);
}

/** By the benchmark of that folder, with its own sources, each row once. */
async function measure(root: string, only: string): Promise<readonly Measured[]> {
  const result = path.join(root, "test-results", "bench.json");
  rmSync(result, { force: true });
  const { BASE: _, ...inherited } = process.env;
  const env = { ...inherited, ONLY: only, TURNS: "1" };
  const args = [path.join(root, "scripts/n.mjs"), path.join(root, "test/bench/main.ts")];
  // Its rows go where progress goes: the table alone is the result.
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", process.stderr, process.stderr] });
  const kill = (): void => void child.kill();
  process.once("exit", kill);
  // It may exit with 1 for a count above its limit, and has measured nevertheless.
  await once(child, "exit");
  process.off("exit", kill);
  if (!existsSync(result)) throw new Error(`the benchmark in ${root} has left no ${result}`);
  return (JSON.parse(readFileSync(result, "utf8")) as { readonly rows: readonly Measured[] }).rows;
}
