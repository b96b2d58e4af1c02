/**
 * Finds the command, checks its arguments and runs it, with cac: it knows which arguments a command takes, and prints
 * the help.
 */
import { cac, type CAC } from "cac";
import { programSections } from "../config/pages/help.ts";
import { isRole } from "../config/flag.ts";
import { nearest } from "../config/types/nearest.ts";
import { Problem } from "../config/reading/problem.ts";
import { quote } from "../config/types/value-type.ts";
import {
  type Command,
  type CommandArgument,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  type CommandSurroundings,
  wrongUsage,
} from "./command.ts";
import { parseOptions } from "./options.ts";

/**
 * Runs the command that `argv[0]` names; `argv` is what follows the program's name. Help goes to stdout. Rejects only
 * for programmer errors.
 */
export async function dispatch(
  commands: readonly Command[],
  argv: readonly string[],
  questions: CommandSurroundings,
): Promise<CommandEnd> {
  const cli = createCli(commands, questions.program);
  const [name = "", ...rest] = argv;
  const context: CommandContext = {
    ...questions,
    complain: (line) => questions.complain(harmless(line)),
    commands,
    printHelp(of) {
      const found = of === undefined ? cli.globalCommand : findCommand(cli, of, questions);
      if (of !== undefined) questions.write(`${found.description}.\n\n`);
      found.outputHelp();
    },
  };
  try {
    findCommand(cli, name, questions);
    const command = commandOf(commands, name);
    const parsed = parseOptions(command.options ?? [], rest);
    if (parsed instanceof Problem) return usageEnd(`${name}: ${parsed.message}`);
    if (parsed.asksForHelp) {
      context.printHelp(name);
      return { exitCode: 0 };
    }
    const args = checkedArguments(cli, command, parsed.args);
    const { exitCode, problem } = await command.run(context, parsed.options, ...args);
    return { exitCode, ...(problem !== undefined && { problem: harmless(problem) }) };
  } catch (error) {
    if (error instanceof UsageError) return usageEnd(error.message);
    if (!(error instanceof Error) || error.name !== "CACError") throw error;
    const { message } = error;
    return usageEnd(`${name}: ${message.slice(0, 1).toLowerCase()}${message.slice(1)}`);
  }
}

class UsageError extends Error {}

/** cac quotes arguments as they are. */
function usageEnd(message: string): CommandEnd {
  return wrongUsage(new Problem(harmless(message)).message);
}

/** One line without anything that controls a terminal: it may hold names from a cluster. */
function harmless(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}

/** The arguments of a command in the order of its usage. Throws cac's error when there are too few or too many. */
function checkedArguments(cli: CAC, command: Command, args: readonly string[]): readonly CommandArgument[] {
  const [name = "", first = ""] = command.usage.split(" ");
  // cac would say that something is missing, and not what it may be.
  if (args.length === 0 && first.startsWith("<") && command.words !== undefined)
    throw new UsageError(`${name}: ${first} is missing; allowed: ${command.words.join(", ")}`);
  // What begins with a dash stood after "--", which is for names of files.
  if (args.some((arg) => arg.startsWith("-"))) throw new UsageError(`${name}: an argument cannot begin with a dash`);
  cli.parse(["node", "podseidon", name, ...args], { run: false });
  return cli.runMatchedCommand() as readonly CommandArgument[];
}

function commandOf(commands: readonly Command[], name: string): Command {
  const found = commands.find(({ usage }) => usage.split(" ", 1)[0] === name);
  if (found === undefined) throw new UsageError(`unknown command ${quote(name)}`);
  return found;
}

function createCli(commands: readonly Command[], program: string): CAC {
  const cli = cac(program);
  for (const { usage, summary, options = [], examples = [] } of commands) {
    const command = cli.command(usage, summary);
    for (const { usage: option, description } of options) command.option(option, description);
    for (const example of examples) command.example(`  $ ${program} ${example}`);
    // cac checks the arguments; what it gives at the end are its own options, which it has none of.
    command.action((...args: readonly (CommandArgument | CommandOptions)[]) => args.slice(0, -1));
  }
  cli.help((sections) => {
    // Only the help of the whole program lists the commands.
    const list = sections.find(({ title }) => title === "Commands");
    if (list === undefined) return sections.filter(({ title }) => title !== undefined).map(withoutTrailingBlanks);
    return [...introduction(program), list, ...programSections()];
  });
  return cli;
}

/** cac writes a blank where a default would stand. */
function withoutTrailingBlanks({ title = "", body }: { readonly title?: string; readonly body: string }) {
  return { title, body: body.replaceAll(/ +$/gm, "") };
}

function introduction(program: string) {
  return [
    { body: `Usage: podseidon --role=ROLE[,ROLE...] [--FLAG=VALUE...]\n       ${program} COMMAND [ARGUMENTS]` },
    {
      body:
        "Refuses pod deletions that would take a workload below its minimum availability,\n" +
        "summed over all clusters.",
    },
    { body: `\`${program} COMMAND --help\` says how to use a command.` },
  ];
}

function findCommand(cli: CAC, name: string, { program }: Pick<CommandSurroundings, "program">) {
  const found = cli.commands.find((command) => command.isMatched(name));
  if (found !== undefined) return found;
  const names = cli.commands.map((command) => command.name);
  const best = nearest(name, names);
  const meant = best ?? (isRole(name) ? `--role=${name}` : undefined);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  const roles = program === "podseidon" ? ", or --role=ROLE to run a role" : "";
  throw new UsageError(`unknown command ${quote(name)}; allowed: ${names.join(", ")}${roles}${hint}`);
}
