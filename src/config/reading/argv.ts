/**
 * Reads the flags of the command line: `--flag=value`, `--flag value`, and switches with or without `=value`. Names and
 * values are taken exactly as they were written: node:util's parseArgs only splits them. Operator commands
 * (`podseidon help`) are in src/commands/.
 */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { flagNames, flags, isFlagName, type FlagName } from "../flag-table.ts";
import { invalidValue, Problem, unknownName } from "./problem.ts";
import { quote, type FlagInput } from "../types/value-type.ts";

/** What the program can do instead of running the roles. */
export const actions = {
  help: "Print the flags that matter first; with --role=ROLE, those of the role, with examples.",
  "help-all": "Print all flags; with --role=ROLE, all of the role.",
  version: "Print the version, the commit and the version of Node.",
  "print-config": "Print the effective settings and the source of each, in the format of --config.",
  "print-config-schema": "Print the JSON Schema of the file of --config, for editors and CI.",
} as const;
export type Action = keyof typeof actions;

export interface Arguments {
  readonly action: Action | "run";
  readonly inputs: ReadonlyMap<FlagName, FlagInput>;
  /** The inputs are those that are right in form. */
  readonly problems: readonly Problem[];
}

/** More arguments than all flags given a few times; bounds the work. */
const argumentsMax = 10_000;

/** The first action that is given is the one that is done. */
export function parseArguments(argv: readonly string[]): Arguments {
  if (argv.length > argumentsMax) {
    const problem = new Problem(`too many arguments; at most ${argumentsMax} are allowed`);
    return { action: "run", inputs: new Map(), problems: [problem] };
  }
  const { tokens } = parseArgs({ args: [...argv], options: parseArgsOptions(), strict: false, tokens: true });
  const problems: Problem[] = [];
  const given = new Map<FlagName | Action, string[]>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const name = nameOf(argv[token.index] ?? "");
    if (name instanceof Problem) {
      problems.push(name);
      continue;
    }
    // The next argument is a value, unless it looks like a flag that was meant to be one.
    const isMissing = token.value === undefined || (!token.inlineValue && token.value.startsWith("--"));
    if (isMissing && !isSwitch(name)) {
      problems.push(missingValue(name as FlagName));
      continue;
    }
    const values = given.get(name) ?? [];
    values.push(token.value ?? "true");
    given.set(name, values);
  }
  // Last: `--wehbook-port 80` is a misspelled flag first, and only then an unexpected 80.
  const stray = tokens.find((token) => token.kind === "positional");
  if (stray !== undefined && problems.length === 0) problems.push(strayArgument(stray.value));
  const { action, inputs } = combineAll(given, problems);
  return { action, inputs, problems };
}

const actionNames = Object.keys(actions) as readonly Action[];
const allNames: readonly string[] = [...flagNames, ...actionNames];

function isAction(name: string): name is Action {
  return Object.hasOwn(actions, name);
}

function isSwitch(name: FlagName | Action): boolean {
  return isAction(name) || flags[name].type.shape === "switch";
}

/** Which flags take the next argument as their value. */
function parseArgsOptions(): ParseArgsOptionsConfig {
  const names = [...flagNames, ...actionNames];
  return Object.fromEntries(names.map((name) => [name, { type: isSwitch(name) ? "boolean" : "string" }]));
}

/** The flag of an argument that begins with a dash. `-v` and `---v` are not flags. */
function nameOf(argument: string): FlagName | Action | Problem {
  if (argument === "-h") return "help";
  const [dashed = ""] = argument.split("=", 1);
  const name = /^--[^-]/.test(dashed) ? dashed.slice(2) : "";
  if (isAction(name) && name !== "print-config" && dashed !== argument)
    return new Problem(`flag --${name} takes no value`);
  if (isAction(name) || isFlagName(name)) return name;
  return unknownName("flag", dashed, allNames, (candidate) => `--${candidate}`, "--help-all lists all");
}

function missingValue(name: FlagName): Problem {
  const { placeholder, allowed } = flags[name].type;
  return new Problem(`flag --${name} needs a value: --${name}=${placeholder}; allowed: ${allowed}`);
}

function strayArgument(argument: string): Problem {
  const hint = /^(true|false)$/.test(argument)
    ? `write --FLAG=${argument}`
    : "flags begin with --, and a command must be the first argument";
  return new Problem(`unexpected argument ${quote(argument)}: ${hint}`);
}

function combineAll(
  given: ReadonlyMap<FlagName | Action, readonly string[]>,
  problems: Problem[],
): Pick<Arguments, "action" | "inputs"> {
  let action: Arguments["action"] = "run";
  const inputs = new Map<FlagName, FlagInput>();
  for (const [name, values] of given) {
    const last = values.at(-1) ?? "";
    if (isAction(name)) {
      const invalid = values.find((value) => value !== "true" && value !== "false");
      if (invalid !== undefined)
        problems.push(new Problem(`flag --${name}: ${quote(invalid)} is invalid; allowed: true or false`));
      else if (last === "true" && action === "run") action = name;
    } else if (["list", "map"].includes(flags[name].type.shape)) {
      inputs.set(name, values.length === 1 ? last : values.filter((value) => value !== "").join(","));
    } else {
      problems.push(...overriddenProblems(name, values.slice(0, -1)));
      inputs.set(name, last);
    }
  }
  return { action, inputs };
}

/** The last value of a repeated flag counts, as with Go's pflag; like there, every value has to be valid. */
function overriddenProblems(name: FlagName, overridden: readonly string[]): readonly Problem[] {
  const { type } = flags[name];
  return overridden.flatMap((value) => {
    const parsed = type.parse(value);
    return parsed.ok ? [] : [invalidValue(`flag --${name}`, value, type, parsed)];
  });
}
