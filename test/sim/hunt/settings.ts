/** What `make sim` is told by its environment. */
import os from "node:os";
import { type FaultClass, faultClasses, onDemand } from "../fault-classes.ts";
import { drawPlan } from "../plan.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { type RunTask, type PlanSettings } from "../workers/task.ts";

const modes = ["REPORT", "SHRINK", "SPEED", "COVERAGE", "MUTATIONS"] as const;

export interface Settings {
  readonly mode: "hunt" | "report" | "shrink" | "speed" | "coverage" | "mutations";
  readonly minutes: number;
  readonly firstSeed: number;
  /** Runs for each cell of the report's table, or of the coverage run. */
  readonly seeds: number;
  readonly workers: number;
  readonly format: "text" | "markdown";
  /** Overrides of what seeds draw. */
  readonly overrides: Pick<RunTask, "only" | "plan">;
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problem: string };

export type Environment = Readonly<Record<string, string | undefined>>;

/** Says which variable is wrong, what it holds and what is allowed. */
class BadSetting extends Error {
  constructor(name: string, value: string, allowed: string) {
    super(`${name}="${value}": ${allowed}`);
  }
}

/** Reads the variables that main.ts lists; an empty one counts as unset. */
export function readSettings(environment: Environment): SettingsResult {
  try {
    return { ok: true, settings: settingsOf(environment) };
  } catch (error) {
    if (error instanceof BadSetting) return { ok: false, problem: error.message };
    throw error;
  }
}

function settingsOf(environment: Environment): Settings {
  const chosen = modes.filter((name) => readSwitch(environment, name));
  const [mode, other] = chosen;
  if (other !== undefined) throw new BadSetting(other, "1", `not together with ${mode}=1: choose one`);
  if (mode === "SHRINK" && textOf(environment, "SEED") === "")
    throw new BadSetting("SEED", "", "SHRINK=1 needs the seed that fails");
  const only = readOnly(environment);
  const plan = readPlan(environment);
  return {
    mode:
      mode === undefined
        ? "hunt"
        : (
            {
              REPORT: "report",
              SHRINK: "shrink",
              SPEED: "speed",
              COVERAGE: "coverage",
              MUTATIONS: "mutations",
            } as const
          )[mode],
    minutes: readNumber(environment, "MINUTES", { preset: 1, least: 0, isWhole: false }),
    firstSeed: readNumber(environment, "SEED", { preset: 1, least: 0, isWhole: true }),
    seeds: readNumber(environment, "SEEDS", { preset: 20, least: 1, isWhole: true }),
    workers: readNumber(environment, "WORKERS", { preset: os.availableParallelism(), least: 1, isWhole: true }),
    format: readFormat(environment),
    overrides: { ...(only === undefined ? {} : { only }), ...(plan === undefined ? {} : { plan }) },
  };
}

function textOf(environment: Environment, name: string): string {
  return (environment[name] ?? "").trim();
}

function readNumber(
  environment: Environment,
  name: string,
  { preset, least, isWhole }: { preset: number; least: number; isWhole: boolean },
): number {
  const text = textOf(environment, name);
  if (text === "") return preset;
  const value = Number(text);
  if (value >= least && value <= Number.MAX_SAFE_INTEGER && (!isWhole || Number.isInteger(value))) return value;
  throw new BadSetting(name, text, `a ${isWhole ? "whole " : ""}number of at least ${least} is needed`);
}

function readSwitch(environment: Environment, name: string): boolean {
  const text = textOf(environment, name);
  if (text !== "" && text !== "0" && text !== "1") throw new BadSetting(name, text, "1 or 0 is needed");
  return text === "1";
}

function readFormat(environment: Environment): "text" | "markdown" {
  const text = textOf(environment, "FORMAT") || "text";
  if (text === "text" || text === "markdown") return text;
  throw new BadSetting("FORMAT", text, "text or markdown is needed");
}

/** A comma list; "none" switches all off. */
function readOnly(environment: Environment): FaultClass[] | undefined {
  const text = textOf(environment, "ONLY");
  if (text === "") return undefined;
  if (text === "none") return [];
  return text.split(",").map((name) => {
    const found = [...faultClasses, ...onDemand].find((one) => one === name.trim());
    if (found === undefined)
      throw new BadSetting("ONLY", text, `none, or some of ${faultClasses.join(", ")} with commas between`);
    return found;
  });
}

/** A JSON object with fields of Plan, each of the kind that a seed would draw. */
function readPlan(environment: Environment): PlanSettings | undefined {
  const text = textOf(environment, "PLAN");
  if (text === "") return undefined;
  const { faults: _faults, severity: _severity, rates: _rates, ...drawn } = drawPlan(createSeededRng(0));
  const allowed = `a JSON object is needed, with some of ${Object.keys(drawn).join(", ")}`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new BadSetting("PLAN", text, allowed);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new BadSetting("PLAN", text, allowed);
  for (const [name, value] of Object.entries(parsed)) {
    const usual: unknown = drawn[name as keyof typeof drawn];
    if (usual === undefined) throw new BadSetting("PLAN", text, allowed);
    if (typeof usual !== typeof value || Array.isArray(usual) !== Array.isArray(value)) {
      throw new BadSetting("PLAN", text, `${name} must be like ${JSON.stringify(usual)}`);
    }
  }
  return parsed;
}
