/**
 * Reads the command line: `--flag=value`, `--flag value`, and switches with or without `=value`.
 *
 * cac takes arguments apart, but it turns "007" into 7, nests names at dots, folds kebab case into camel case, takes
 * `--no-x` for a negation and loses `--__proto__`. So names and values are encoded before cac sees them: a name gets a
 * prefix and loses its dots and dashes, a value gets a character that no number begins with, and each travels as
 * `--name=value`.
 */
import { cac } from "cac";
import { flagNames, flags, isFlagName, type FlagName } from "./flag-table.ts";
import { Problem, unknownName } from "./problem.ts";
import { quote, type FlagInput } from "./value-type.ts";

/** What the program can do instead of running. */
export const actions = {
  help: "Print this text.",
  version: "Print version, commit and the version of Node.",
  "print-config": "Print the effective settings and where each comes from, as a file for --config.",
} as const;
export type Action = keyof typeof actions;

export interface Arguments {
  readonly action: Action | "run";
  readonly inputs: ReadonlyMap<FlagName, FlagInput>;
}

/** More arguments than all flags given a few times; bounds the work. */
const argumentsMax = 10_000;

/** `--help` and `--version` win over every mistake in the other arguments. */
export function parseArguments(argv: readonly string[]): Arguments | Problem {
  if (argv.length > argumentsMax) return new Problem(`more than ${argumentsMax} arguments`);
  if (asksFor(argv, "--help", "-h")) return { action: "help", inputs: new Map() };
  if (asksFor(argv, "--version")) return { action: "version", inputs: new Map() };
  const encoded = encode(argv);
  if (encoded instanceof Problem) return encoded;
  const { args, options } = cac("podseidon").parse(["node", "podseidon", ...encoded], { run: false });

  let action: Arguments["action"] = "run";
  const inputs = new Map<FlagName, FlagInput>();
  for (const [key, raw] of Object.entries(options)) {
    if (key === "--") continue;
    const name = decodeName(key);
    const values = [raw as string | string[]].flat().map((value) => value.slice(mark.length));
    if (name === "print-config") {
      const isAsked = switchValue(name, values);
      if (isAsked instanceof Problem) return isAsked;
      if (isAsked) action = name;
    } else if (!isFlagName(name)) {
      return unknownName("flag", name.startsWith("-") ? name : `--${name}`, allNames, (candidate) => `--${candidate}`);
    } else {
      const input = combine(name, values);
      if (input instanceof Problem) return input;
      inputs.set(name, input);
    }
  }
  // Last: `--wehbook-port 80` is a misspelled flag first, and only then a stray 80.
  const [stray] = [...args, ...((options["--"] ?? []) as string[])];
  return stray === undefined ? { action, inputs } : strayArgument(stray);
}

const allNames: readonly string[] = [...flagNames, ...Object.keys(actions)];
const mark = "\u0001";
const namePrefix = "flag:";

/** Arguments after "--" are not flags. */
function asksFor(argv: readonly string[], ...spellings: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? undefined : end).some((argument) => spellings.includes(argument));
}

function encodeName(name: string): string {
  return namePrefix + Buffer.from(name, "utf8").toString("hex");
}

function decodeName(key: string): string {
  return Buffer.from(key.slice(namePrefix.length), "hex").toString("utf8");
}

function encode(argv: readonly string[]): string[] | Problem {
  const encoded: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index] ?? "";
    if (argument === "--") return [...encoded, ...argv.slice(index)];
    if (!argument.startsWith("-") || argument === "-") {
      encoded.push(argument === "" || argument === "-" ? `${mark}${argument}` : argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const dashed = equals === -1 ? argument : argument.slice(0, equals);
    // A single dash stays part of the name, so that `-v` is reported as `-v`.
    const name = dashed.startsWith("--") ? dashed.slice(2) : dashed;
    let value = equals === -1 ? undefined : argument.slice(equals + 1);
    if (value === undefined && isFlagName(name) && flags[name].type.shape !== "switch") {
      value = argv[index + 1];
      if (value === undefined || value.startsWith("--")) {
        return new Problem(
          `flag --${name} needs a value: --${name}=${flags[name].type.placeholder}; allowed: ${flags[name].type.allowed}`,
        );
      }
      index += 1;
    }
    encoded.push(`--${encodeName(name)}=${mark}${value ?? "true"}`);
  }
  return encoded;
}

function strayArgument(encoded: string): Problem {
  const argument = encoded.startsWith(mark) ? encoded.slice(mark.length) : encoded;
  const hint = /^(true|false)$/.test(argument) ? `write --FLAG=${argument}` : "all arguments begin with --";
  return new Problem(`unexpected argument ${quote(argument)}: ${hint}`);
}

function combine(name: FlagName, values: readonly string[]): FlagInput | Problem {
  const { shape } = flags[name].type;
  const [first = "", ...more] = values;
  if (more.length === 0) return first;
  if (shape === "scalar" || shape === "switch") {
    return new Problem(`flag --${name} is given ${values.length} times; allowed is once`);
  }
  return values.filter((value) => value !== "").join(",");
}

function switchValue(name: Action, values: readonly string[]): boolean | Problem {
  if (values.length > 1) return new Problem(`flag --${name} is given ${values.length} times; allowed is once`);
  if (values[0] === "true") return true;
  if (values[0] === "false") return false;
  return new Problem(`flag --${name}: ${quote(values[0] ?? "")} is not true or false; allowed: true or false`);
}
