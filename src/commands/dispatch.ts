/**
 * Finds the command, checks its arguments and runs it, with cac: it knows which arguments a command takes, and prints
 * the help.
 */
import { cac, type CAC } from "cac";
import { flagSections } from "../config/help.ts";
import { nearest } from "../config/nearest.ts";
import { Problem } from "../config/problem.ts";
import { quote } from "../config/value-type.ts";
import { type Command, type CommandContext, type CommandEnd } from "./command.ts";

/**
 * Runs the command that `argv[0]` names; `argv` is what follows the program's name. Help goes to stdout. Rejects only
 * for programmer errors.
 */
export async function dispatch(
  commands: readonly Command[],
  argv: readonly string[],
  context: Omit<CommandContext, "printHelp">,
): Promise<CommandEnd> {
  const cli = createCli(commands, context);
  const [name = ""] = argv;
  try {
    findCommand(cli, name);
    cli.parse(["node", "podseidon", ...argv], { run: false });
    // Without a match, cac has printed the help of the command: --help was among the arguments.
    if (cli.matchedCommand === undefined) return { exitCode: 0 };
    return await (cli.runMatchedCommand() as ReturnType<Command["run"]>);
  } catch (error) {
    if (error instanceof UsageError) return usageEnd(error.message);
    if (!(error instanceof Error) || error.name !== "CACError") throw error;
    const { message } = error;
    return usageEnd(`${name}: ${message.slice(0, 1).toLowerCase()}${message.slice(1)}`);
  }
}

class UsageError extends Error {}

function usageEnd(message: string): CommandEnd {
  // cac quotes arguments as they are.
  return { exitCode: 2, problem: new Problem(message.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?")).message };
}

function createCli(commands: readonly Command[], context: Omit<CommandContext, "printHelp">): CAC {
  const cli = cac("podseidon");
  const printHelp = (command?: string): void =>
    (command === undefined ? cli.globalCommand : findCommand(cli, command)).outputHelp();
  for (const command of commands) {
    cli
      .command(command.usage, command.summary)
      .action((...args: readonly (string | undefined)[]) => command.run({ ...context, printHelp }, ...args));
  }
  cli.help((sections) => {
    // Only the help of the whole program lists the commands.
    const list = sections.find(({ title }) => title === "Commands");
    if (list === undefined) return sections;
    return [...introduction, list, ...flagSections()];
  });
  return cli;
}

const introduction = [
  {
    body: "Usage: podseidon --role=ROLE[,ROLE...] [--FLAG=VALUE...]\n       podseidon COMMAND [ARGUMENTS]",
  },
  {
    body: "Refuses pod deletions that would take a workload below its minimum availability,\nsummed over all clusters.",
  },
];

function findCommand(cli: CAC, name: string): CAC["commands"][number] {
  const found = cli.commands.find((command) => command.isMatched(name));
  if (found !== undefined) return found;
  const names = cli.commands.map((command) => command.name);
  const best = nearest(name, names);
  const hint = best === undefined ? "" : `; did you mean ${best}?`;
  throw new UsageError(
    `unknown command ${quote(name)}; allowed: ${names.join(", ")}, or --role=ROLE to run a role${hint}`,
  );
}
