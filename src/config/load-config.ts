/**
 * The loader: command line > environment > file > default. Each value is checked by its flag's type, then the
 * combination as a whole. Pure except for the injected `readFile`. All mistakes are told at once, each in one line; the
 * caller prints them and exits with 2.
 */
import { type Action, type Arguments, parseArguments } from "./reading/argv.ts";
import { combinationProblems } from "./rules/combinations.ts";
import { buildConfig, type Config } from "./config.ts";
import { printConfig, type Effective, type Setting, configSchema } from "./pages/effective.ts";
import { environmentName, readEnvironment } from "./reading/environment.ts";
import { readConfigFile, type ReadFile } from "./reading/file.ts";
import { type Role } from "./flag.ts";
import { flagNames, flags, isUsedBy, type FlagName, type FlagValues } from "./flag-table.ts";
import { invalidValue, Problem, type SourceInputs } from "./reading/problem.ts";
import { quote, type FlagInput } from "./types/value-type.ts";
import { assertNever } from "../util/assert.ts";

export interface LoadInput {
  /** Arguments after the program's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the text of a file; throws when it cannot or when the file is too long. */
  readonly readFile: ReadFile;
}

export type Loaded =
  | { readonly kind: "config"; readonly config: Config; readonly effective: Effective }
  /** Print the flags of the roles; none = the help of the program. `isWhole` = all of them. */
  | { readonly kind: "help"; readonly roles: ReadonlySet<Role>; readonly isWhole: boolean }
  | { readonly kind: "version" }
  /** Print `text` on stdout and exit with 0. */
  | { readonly kind: "printConfig"; readonly text: string }
  /** Print `message`, one line for each mistake, on stderr and exit with 2. */
  | { readonly kind: "error"; readonly message: string };

export function loadConfig(input: LoadInput): Loaded {
  const args = parseArguments(input.argv);
  const { action } = args;
  // Whoever asks for help asks it of the command line alone: the environment may be that of a role that does not start.
  const isAsking = action !== "run" && action !== "print-config";
  const sources = isAsking ? [commandLine(args)] : readSources(input, args);
  const { settings, problems } = resolve(sources);
  const values = Object.fromEntries(Array.from(settings, ([name, setting]) => [name, setting.value])) as FlagValues;
  const selected = new Set(values.role);
  if (isAsking) {
    if (problems.length > 0) return failed(problems);
    return answerOf(action, selected);
  }
  // Where the role is missing because it could not be read, its own mistake is told already.
  const isRoleJudged = selected.size > 0 || problems.length === 0;
  const all = [...problems, ...(isRoleJudged ? roleProblems(selected, args.inputs) : [])];
  if (all.length > 0) return failed(all);
  const impossible = combinationProblems(values);
  if (impossible.length > 0) return failed(impossible);
  if (action === "print-config") return { kind: "printConfig", text: printConfig(settings, selected) };
  return { kind: "config", config: buildConfig(values), effective: settings };
}

function answerOf(action: Exclude<Action, "print-config">, roles: ReadonlySet<Role>): Loaded {
  switch (action) {
    case "help":
    case "help-all":
      return { kind: "help", roles, isWhole: action === "help-all" };
    case "version":
      return { kind: "version" };
    case "print-config-schema":
      return { kind: "printConfig", text: `${JSON.stringify(configSchema(), null, 2)}\n` };
    default:
      return assertNever(action);
  }
}

/** Enough to see what is wrong; a file of another program has hundreds. */
const toldMax = 20;

function failed(problems: readonly Problem[]): Loaded {
  const lines = [...new Set(problems.map(({ message }) => message))];
  const more = lines.length - toldMax;
  const told = [...lines.slice(0, toldMax), ...(more > 0 ? [`and ${more} more mistakes`] : [])];
  return { kind: "error", message: told.join("\n") };
}

interface Source extends SourceInputs {
  /** Where a value came from, for --print-config. */
  origin(name: FlagName): string;
  /** Where a value came from, for messages. */
  place(name: FlagName): string;
}

function commandLine({ inputs, problems }: Arguments): Source {
  return { inputs, problems, origin: () => "flag", place: (name) => `flag --${name}` };
}

/** The sources, the strongest first. */
function readSources(input: LoadInput, args: Arguments): Source[] {
  const fromEnvironment = readEnvironment(input.env);
  const sources: Source[] = [
    commandLine(args),
    {
      ...fromEnvironment,
      origin: (name) => `env ${environmentName(name)}`,
      place: (name) => `environment variable ${environmentName(name)}`,
    },
  ];
  const path = args.inputs.get("config") ?? fromEnvironment.inputs.get("config") ?? "";
  if (typeof path !== "string" || path === "") return sources;
  const file = quote(path);
  const fromFile = readConfigFile(path, input.readFile);
  sources.push({ ...fromFile, origin: () => `file ${file}`, place: (name) => `key ${name} in file ${file}` });
  return sources;
}

/** Parses every given value, overridden ones too: a mistake must not wait until its override is removed. */
function resolve(sources: readonly Source[]): { settings: Map<FlagName, Setting>; problems: readonly Problem[] } {
  const settings = new Map<FlagName, Setting>();
  const problems: Problem[] = [];
  for (const name of flagNames) settings.set(name, { value: flags[name].default, origin: "default" });
  for (const source of sources.toReversed()) {
    for (const [name, input] of source.inputs) {
      const { type } = flags[name];
      const parsed = type.parse(input);
      if (parsed.ok) settings.set(name, { value: parsed.value, origin: source.origin(name) });
      else problems.push(invalidValue(source.place(name), input, type, parsed));
    }
  }
  for (const name of flagNames) {
    const by = flags[name].defaultBy;
    if (by === undefined || settings.get(name)?.origin !== "default") continue;
    const value = by.value(settings.get(by.flag as FlagName)?.value);
    if (value !== undefined) settings.set(name, { value, origin: "default" });
  }
  return { settings, problems: [...sources.flatMap((source) => source.problems), ...problems] };
}

/**
 * On the command line, a flag of a role that does not run is a mistake. The environment and the file may be shared by
 * several roles.
 */
function roleProblems(selected: ReadonlySet<Role>, given: ReadonlyMap<FlagName, FlagInput>): readonly Problem[] {
  if (selected.size === 0) return [new Problem(`--role is required; allowed: ${flags.role.type.allowed}`)];
  const stray = [...given.keys()].filter((name) => !isUsedBy(name, selected));
  return stray.map((name) => {
    const users = flags[name].group.roles.join(" or ");
    return new Problem(`flag --${name} requires the role ${users}, but --role=${[...selected].join(",")} is given`);
  });
}
