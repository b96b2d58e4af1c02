/** What an operator command is: `podseidon NAME [ARGUMENTS]`. Without a command, the program runs its roles. */

/** What every command is given. */
export interface CommandContext {
  /** Writes to stdout. */
  readonly write: (text: string) => void;
  /** The text of `podseidon version`, with its line end. */
  readonly version: string;
  /** Prints the help of a command, or of the program, to stdout. Throws a usage error when there is no such command. */
  readonly printHelp: (command?: string) => void;
}

export interface CommandEnd {
  /** 0 = done, 1 = failed, 2 = wrong usage. */
  readonly exitCode: number;
  /** One line for stderr. */
  readonly problem?: string;
}

export interface Command {
  /** The name, and its arguments as cac reads them: `<required>`, `[optional]`, `[...more]`. */
  readonly usage: string;
  /** One line of at most 50 characters for the list of commands. */
  readonly summary: string;
  /** `args` are those that `usage` names, in that order. Expected failures are a CommandEnd. */
  run(context: CommandContext, ...args: readonly (string | undefined)[]): CommandEnd | Promise<CommandEnd>;
}
