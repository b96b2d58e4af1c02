/**
 * Operator commands, beside the roles: the contract (command.ts), the table (here), and what finds and runs a command
 * (dispatch.ts, options.ts). A new command is a file or folder of its own that exports a Command, and an entry in the
 * table. What several share: clusters/ (which clusters, and connections), fleet/ (what is read from them), text/ (how
 * it is shown).
 */
import { isRole } from "../config/flag.ts";
import { roleHelpText } from "../config/pages/help.ts";
import { check } from "./check/command.ts";
import { restore } from "./restore/command.ts";
import { type Command, type CommandEnd, type CommandSurroundings } from "./command.ts";
import { dashboard } from "./dashboard/index.ts";
import { dispatch } from "./dispatch.ts";
import { completion } from "./completion.ts";
import { explain } from "./explain/explain.ts";
import { install } from "./install/command.ts";
import { approve } from "./steer/approve.ts";
import { cells } from "./steer/cells.ts";
import { release } from "./steer/release.ts";
import { simulate } from "./simulate/index.ts";
import { status } from "./status/status.ts";
import { uninstall } from "./uninstall/command.ts";

const help: Command = {
  usage: "help [command]",
  summary: "Print this help, or that of a command or role",
  run({ printHelp, write }, _options, command) {
    if (typeof command === "string" && isRole(command)) write(roleHelpText(new Set([command]), false));
    else printHelp(typeof command === "string" ? command : undefined);
    return { exitCode: 0 };
  },
};

const version: Command = {
  usage: "version",
  summary: "Print the version, the commit and that of Node",
  run({ write, version: text }) {
    write(text);
    return { exitCode: 0 };
  },
};

const commands: readonly Command[] = [
  status,
  check,
  explain,
  simulate,
  dashboard,
  cells,
  approve,
  release,
  restore,
  install,
  uninstall,
  completion,
  help,
  version,
];

/** Runs the command that `argv[0]` names; see dispatch. */
export function runCommand(argv: readonly string[], questions: CommandSurroundings): Promise<CommandEnd> {
  return dispatch(commands, argv, questions);
}
