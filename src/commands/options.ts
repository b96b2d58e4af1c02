/**
 * Reads the options of a command from its arguments. node:util's parseArgs only splits them, so that values are taken
 * exactly as they were written: cac would make numbers of some (docs/dependencies.md#cac-and-the-options-of-commands).
 */
import { parseArgs } from "node:util";
import { Problem, unknownName } from "../config/reading/problem.ts";
import { quote } from "../config/types/value-type.ts";
import { type CommandOption, type CommandOptions } from "./command.ts";

export interface ParsedArguments {
  readonly options: CommandOptions;
  /** What is no option, in the order given. */
  readonly args: readonly string[];
  readonly asksForHelp: boolean;
}

/** An option as it is declared, taken apart. */
export interface OptionParts {
  readonly long: string;
  readonly short: string | undefined;
  /** What the value is; undefined = a switch. */
  readonly placeholder: string | undefined;
}

/** `-o, --output <format>`. */
export function partsOf({ usage }: CommandOption): OptionParts {
  const [, short, long = "", placeholder] = /^(?:-(\w), )?--([a-z-]+)(?: <(.+)>)?$/.exec(usage) ?? [];
  return { long, short, placeholder };
}

/** `argv` is what follows the name of the command. */
export function parseOptions(declared: readonly CommandOption[], argv: readonly string[]): ParsedArguments | Problem {
  const parts = declared.map((option) => ({ ...partsOf(option), isRepeatable: option.isRepeatable === true }));
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      parts.map(({ long, short, placeholder }) => [
        long,
        { type: placeholder === undefined ? "boolean" : "string", ...(short !== undefined && { short }) } as const,
      ]),
    ),
    strict: false,
    tokens: true,
  });
  const options = new Map<string, string[]>();
  const args: string[] = [];
  let asksForHelp = false;
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    if (rawName === "--help" || rawName === "-h") {
      asksForHelp = true;
      continue;
    }
    const part = parts.find(({ long }) => long === name);
    if (part === undefined) {
      const names = parts.map(({ long }) => `--${long}`);
      return unknownName("option", rawName, names, (candidate) => candidate);
    }
    if (part.placeholder === undefined) {
      if (value !== undefined) return new Problem(`option ${rawName} takes no value`);
    } else if (value === undefined || value === "" || (!inlineValue && value.startsWith("-"))) {
      return new Problem(`option ${rawName} needs a value: --${part.long}=${part.placeholder}`);
    }
    const values = options.get(name) ?? [];
    if (values.length > 0 && part.placeholder !== undefined && !part.isRepeatable) {
      return new Problem(`option --${name} is given twice: ${quote(values[0] ?? "")} and ${quote(value ?? "")}`);
    }
    options.set(name, [...values, value ?? "true"]);
  }
  return { options, args, asksForHelp };
}
