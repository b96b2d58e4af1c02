/**
 * Reads the flags of the command line: `--flag=value`, `--flag value`, and switches with or without `=value`. Names and
 * values are taken exactly as they were written: node:util's parseArgs only splits them. Operator commands
 * (`podseidon help`) are in src/commands/.
 */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { flagNames, flags, isFlagName, type FlagName } from "./flag-table.ts";
import { invalidValue, Problem, unknownName } from "./problem.ts";
import { quote, type FlagInput } from "./value-type.ts";

/** What the program can do instead of running the roles. */
export const actions = {
  help: "Print this help.",
  version: "Print the version, the commit and the version of Node.",
  "print-config": "Print the effective settings and the source of each, in the format of --config.",
} as const;
export type Action = keyof typeof actions;

export interface Arguments {
  readonly action: Action | "run";
  readonly inputs: ReadonlyMap<FlagName, FlagInput>;
}

/** More arguments than all flags given a few times; bounds the work. */
const argumentsMax = 10_000;

/** `--help` and `--version` take precedence over every mistake in the other arguments. */
export function parseArguments(argv: readonly string[]): Arguments | Problem {
  if (argv.length > argumentsMax) return new Problem(`too many arguments; at most ${argumentsMax} are allowed`);
  if (asksFor(argv, "--help", "-h")) return { action: "help", inputs: new Map() };
  if (asksFor(argv, "--version")) return { action: "version", inputs: new Map() };
  const { tokens } = parseArgs({ args: [...argv], options: parseArgsOptions(), strict: false, tokens: true });

  const given = new Map<FlagName | "print-config", string[]>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const name = nameOf(argv[token.index] ?? "");
    if (name instanceof Problem) return name;
    // The next argument is a value, unless it looks like a flag that was meant to be one.
    const isMissing = token.value === undefined || (!token.inlineValue && token.value.startsWith("--"));
    if (isMissing && !isSwitch(name)) return missingValue(name);
    const values = given.get(name) ?? [];
    values.push(token.value ?? "true");
    given.set(name, values);
  }
  // Last: `--wehbook-port 80` is a misspelled flag first, and only then an unexpected 80.
  const stray = tokens.find((token) => token.kind === "positional");
  return stray === undefined ? combineAll(given) : strayArgument(stray.value);
}

const allNames: readonly string[] = [...flagNames, ...Object.keys(actions)];

function isSwitch(name: FlagName | "print-config"): boolean {
  return name === "print-config" || flags[name].type.shape === "switch";
}

/** Which flags take the next argument as their value. */
function parseArgsOptions(): ParseArgsOptionsConfig {
  const names = [...flagNames, "print-config"] as const;
  return Object.fromEntries(names.map((name) => [name, { type: isSwitch(name) ? "boolean" : "string" }]));
}

/** Arguments after "--" are not flags. */
function asksFor(argv: readonly string[], ...spellings: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? undefined : end).some((argument) => spellings.includes(argument));
}

/** The flag of an argument that begins with a dash. `-v` and `---v` are not flags. */
function nameOf(argument: string): FlagName | "print-config" | Problem {
  const [dashed = ""] = argument.split("=", 1);
  const name = /^--[^-]/.test(dashed) ? dashed.slice(2) : "";
  if (name === "print-config" || isFlagName(name)) return name;
  if (name === "help" || name === "version") return new Problem(`flag --${name} takes no value`);
  return unknownName("flag", dashed, allNames, (candidate) => `--${candidate}`);
}

function missingValue(name: FlagName | "print-config"): Problem {
  const { placeholder, allowed } = flags[name as FlagName].type;
  return new Problem(`flag --${name} needs a value: --${name}=${placeholder}; allowed: ${allowed}`);
}

function strayArgument(argument: string): Problem {
  const hint = /^(true|false)$/.test(argument)
    ? `write --FLAG=${argument}`
    : "flags begin with --, and a command must be the first argument";
  return new Problem(`unexpected argument ${quote(argument)}: ${hint}`);
}

function combineAll(given: ReadonlyMap<FlagName | "print-config", readonly string[]>): Arguments | Problem {
  let action: Arguments["action"] = "run";
  const inputs = new Map<FlagName, FlagInput>();
  for (const [name, values] of given) {
    const last = values.at(-1) ?? "";
    if (name === "print-config") {
      const invalid = values.find((value) => value !== "true" && value !== "false");
      if (invalid !== undefined)
        return new Problem(`flag --${name}: ${quote(invalid)} is invalid; allowed: true or false`);
      if (last === "true") action = name;
    } else if (["list", "map"].includes(flags[name].type.shape)) {
      inputs.set(name, values.length === 1 ? last : values.filter((value) => value !== "").join(","));
    } else {
      const problem = overriddenProblem(name, values.slice(0, -1));
      if (problem !== undefined) return problem;
      inputs.set(name, last);
    }
  }
  return { action, inputs };
}

/** The last value of a repeated flag counts, as with Go's pflag; like there, every value has to be valid. */
function overriddenProblem(name: FlagName, overridden: readonly string[]): Problem | undefined {
  const { type } = flags[name];
  for (const value of overridden) {
    const parsed = type.parse(value);
    if (!parsed.ok) return invalidValue(`flag --${name}`, value, type, parsed);
  }
  return undefined;
}
