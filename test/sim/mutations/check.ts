/** Runs the simulation against every mutation, each in a process of its own. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { mutations } from "./catalog/catalog.ts";
import { type Mutation } from "./mutation.ts";

/** A line of the child's output. */
export type ChildLine =
  | { readonly kind: "seed"; readonly seed: number }
  | { readonly kind: "caught"; readonly seed: number; readonly how: "checker" | "crash"; readonly finding: string }
  /** In the mutation's scenario. */
  | { readonly kind: "caught"; readonly seed: undefined; readonly how: "scenario"; readonly finding: string }
  | { readonly kind: "survived"; readonly worlds: number };

export interface Verdict {
  readonly mutation: string;
  /** "hang" = a world that does not end; undefined = it survived. */
  readonly caught:
    | {
        readonly seed: number | undefined;
        readonly how: "checker" | "crash" | "hang" | "scenario";
        readonly finding: string;
      }
    | undefined;
  readonly worlds: number;
  readonly seconds: number;
}

export interface Bounds {
  readonly firstSeed: number;
  readonly lastSeed: number;
  /** No further world begins after that. */
  readonly limitMs: number;
  /** "plain": the same worlds with the code as it is. */
  readonly code: "mutated" | "plain";
}

/** The slowest worlds need a few seconds. More than a hundred times that is a hang, also on a busy machine. */
const hangMs = 600_000;
const child = fileURLToPath(new URL("child.ts", import.meta.url));

/** Runs the worlds of the mutation until something is found. Rejects when the child cannot do that. */
export function tryMutation(mutation: Mutation, bounds: Bounds): Promise<Verdict> {
  const { firstSeed, lastSeed, limitMs, code } = bounds;
  const startMs = performance.now();
  const args = [child, mutation.name, code, firstSeed, lastSeed, limitMs].map(String);
  const process_ = spawn(process.execPath, [...process.execArgv, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let seed = firstSeed;
  let result: Exclude<ChildLine, { kind: "seed" }> | undefined;
  let isHanging = false;
  let errors = "";
  const onHang = (): void => {
    isHanging = true;
    process_.kill("SIGKILL");
  };
  let watchdog = setTimeout(onHang, hangMs);
  process_.stderr.on("data", (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(-2_000)));
  createInterface({ input: process_.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as ChildLine;
    clearTimeout(watchdog);
    watchdog = setTimeout(onHang, hangMs);
    if (line.kind === "seed") seed = line.seed;
    else result = line;
  });
  return new Promise((resolve, reject) => {
    process_.on("error", reject);
    process_.on("close", () => {
      clearTimeout(watchdog);
      const verdict = {
        mutation: mutation.name,
        worlds: seed - firstSeed + 1,
        seconds: (performance.now() - startMs) / 1000,
      };
      if (isHanging) resolve({ ...verdict, caught: { seed, how: "hang", finding: `a world takes over ${hangMs} ms` } });
      else if (result === undefined) reject(new Error(`mutation ${verdict.mutation}: ${errors}`));
      else resolve({ ...verdict, caught: result.kind === "caught" ? result : undefined });
    });
  });
}

export interface CheckOptions {
  /** Which mutations; default: all. */
  readonly names?: readonly string[];
  readonly seedsMax: number;
  readonly limitMs: number;
  /** At the same time. */
  readonly processes: number;
  readonly onVerdict: (verdict: Verdict) => void;
}

/**
 * Tries all mutations; the verdicts come in the order of the catalog. What the code finds without the mutation as well,
 * at the same seed, does not count as caught: then the seeds after that one are tried.
 */
export async function checkMutations(options: CheckOptions): Promise<readonly Verdict[]> {
  const { names, processes, onVerdict } = options;
  const chosen = mutations.filter(({ name }) => names?.includes(name) ?? true);
  const verdicts = new Map<Mutation, Verdict>();
  const left = [...chosen];
  const work = async (): Promise<void> => {
    for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
      const verdict = await catchOne(mutation, options);
      verdicts.set(mutation, verdict);
      onVerdict(verdict);
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  return chosen.flatMap((mutation) => verdicts.get(mutation) ?? []);
}

async function catchOne(mutation: Mutation, { seedsMax, limitMs }: CheckOptions): Promise<Verdict> {
  let seconds = 0;
  for (let firstSeed = 1; ;) {
    const bounds = {
      firstSeed,
      lastSeed: seedsMax,
      limitMs: Math.max(1, limitMs - seconds * 1000),
      code: "mutated",
    } as const;
    const verdict = await tryMutation(mutation, bounds);
    seconds += verdict.seconds;
    const worlds = verdict.worlds + firstSeed - 1;
    const seed = verdict.caught?.seed;
    // A scenario holds without the mutation: scenarios.test.ts.
    if (seed === undefined) return { ...verdict, worlds, seconds };
    const plain = await tryMutation(mutation, { firstSeed: seed, lastSeed: seed, limitMs, code: "plain" });
    if (plain.caught === undefined) return { ...verdict, worlds, seconds };
    firstSeed = seed + 1;
  }
}
