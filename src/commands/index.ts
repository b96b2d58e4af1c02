/**
 * Operator commands, beside the roles: the contract (command.ts), the table (here), and what finds and runs a command
 * (dispatch.ts). A new command is a file of its own that exports a Command, and an entry in the table.
 */
import { type Command, type CommandEnd } from "./command.ts";
import { dispatch } from "./dispatch.ts";

const help: Command = {
  usage: "help [command]",
  summary: "Print this help, or the help of a command",
  run({ printHelp }, command) {
    printHelp(command);
    return { exitCode: 0 };
  },
};

const version: Command = {
  usage: "version",
  summary: "Print the version, the commit and the version of Node",
  run({ write, version: text }) {
    write(text);
    return { exitCode: 0 };
  },
};

/** Runs the command that `argv[0]` names; see dispatch. */
export function runCommand(
  argv: readonly string[],
  context: { readonly version: string; readonly write: (text: string) => void },
): Promise<CommandEnd> {
  return dispatch([help, version], argv, context);
}
