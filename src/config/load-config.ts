/**
 * The loader: command line > environment > file > default. Each value is checked by its flag's type, then the
 * combination as a whole. Pure except for the injected `readFile`. Every mistake is one line; the caller prints it and
 * exits with 2.
 */
import { isLoopback } from "./address.ts";
import { parseArguments } from "./argv.ts";
import { combinationProblem } from "./combinations.ts";
import { buildConfig, type Config } from "./config.ts";
import { printConfig, type Effective, type Setting } from "./effective.ts";
import { environmentName, readEnvironment } from "./environment.ts";
import { readConfigFile, type ReadFile } from "./file.ts";
import { type Role } from "./flag.ts";
import { flagNames, flags, isUsedBy, type FlagName, type FlagValues } from "./flag-table.ts";
import { invalidValue, Problem } from "./problem.ts";
import { quote, type FlagInput } from "./value-type.ts";

export interface LoadInput {
  /** Arguments after the program's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the text of a file; throws when it cannot or when the file is too long. */
  readonly readFile: ReadFile;
}

export type Loaded =
  | { readonly kind: "config"; readonly config: Config; readonly effective: Effective }
  /** Do what the command of this name does. */
  | { readonly kind: "help" | "version" }
  /** Print `text` on stdout and exit with 0. */
  | { readonly kind: "printConfig"; readonly text: string }
  /** Print `message`, one line, on stderr and exit with 2. */
  | { readonly kind: "error"; readonly message: string };

export function loadConfig(input: LoadInput): Loaded {
  const args = parseArguments(input.argv);
  if (args instanceof Problem) return failed(args);
  if (args.action === "help" || args.action === "version") return { kind: args.action };

  const sources = readSources(input, args.inputs);
  if (sources instanceof Problem) return failed(sources);
  const settings = resolve(sources);
  if (settings instanceof Problem) return failed(settings);
  const values = Object.fromEntries(Array.from(settings, ([name, setting]) => [name, setting.value])) as FlagValues;
  const selected = new Set(values.role);
  const problem = roleProblem(selected, args.inputs) ?? combinationProblem(values);
  if (problem !== undefined) return failed(problem);
  if (args.action === "print-config") return { kind: "printConfig", text: printConfig(settings, selected) };
  return { kind: "config", config: buildConfig(values), effective: settings };
}

const failed = (problem: Problem): Loaded => ({ kind: "error", message: problem.message });

interface Source {
  /** Where a value came from, for --print-config. */
  origin(name: FlagName): string;
  /** Where a value came from, for messages. */
  place(name: FlagName): string;
  readonly inputs: ReadonlyMap<FlagName, FlagInput>;
}

/** The sources, the strongest first. */
function readSources(input: LoadInput, inputs: ReadonlyMap<FlagName, FlagInput>): Source[] | Problem {
  const fromEnvironment = readEnvironment(input.env);
  if (fromEnvironment instanceof Problem) return fromEnvironment;
  const sources: Source[] = [
    { inputs, origin: () => "flag", place: (name) => `flag --${name}` },
    {
      inputs: fromEnvironment,
      origin: (name) => `env ${environmentName(name)}`,
      place: (name) => `environment variable ${environmentName(name)}`,
    },
  ];
  const path = inputs.get("config") ?? fromEnvironment.get("config") ?? "";
  if (typeof path !== "string" || path === "") return sources;
  const fromFile = readConfigFile(path, input.readFile);
  if (fromFile instanceof Problem) return fromFile;
  const file = quote(path);
  sources.push({ inputs: fromFile, origin: () => `file ${file}`, place: (name) => `key ${name} in file ${file}` });
  return sources;
}

/** Parses every given value, overridden ones too: a mistake must not wait until its override is removed. */
function resolve(sources: readonly Source[]): Map<FlagName, Setting> | Problem {
  const settings = new Map<FlagName, Setting>();
  for (const name of flagNames) settings.set(name, { value: flags[name].default, origin: "default" });
  for (const source of sources.toReversed()) {
    for (const [name, input] of source.inputs) {
      const { type } = flags[name];
      const parsed = type.parse(input);
      if (!parsed.ok) return invalidValue(source.place(name), input, type, parsed);
      settings.set(name, { value: parsed.value, origin: source.origin(name) });
    }
  }
  closeOpenHttp(settings);
  return settings;
}

/** Plain HTTP answers everybody who reaches it: beyond loopback only where it is asked for. */
function closeOpenHttp(settings: Map<FlagName, Setting>): void {
  const isGiven = settings.get("webhook-enable")?.origin !== "default";
  const address = String(settings.get("webhook-bind-addr")?.value);
  if (!isGiven && !isLoopback(address)) settings.set("webhook-enable", { value: false, origin: "default" });
}

/**
 * On the command line, a flag of a role that does not run is a mistake. The environment and the file may be shared by
 * several roles.
 */
function roleProblem(selected: ReadonlySet<Role>, given: ReadonlyMap<FlagName, FlagInput>): Problem | undefined {
  if (selected.size === 0) return new Problem(`--role is required; allowed: ${flags.role.type.allowed}`);
  const stray = given.keys().find((name) => !isUsedBy(name, selected));
  if (stray === undefined) return undefined;
  const users = flags[stray].group.roles;
  return new Problem(
    `flag --${stray} requires the role ${users.join(" or ")}, but --role=${[...selected].join(",")} is given`,
  );
}
