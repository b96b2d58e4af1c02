/** The commands. A new one is a file of its own that exports a Command, and a line here. */
import { type Command } from "./command.ts";

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

export const commands: readonly Command[] = [help, version];
