/** What an operator command is: `podseidon NAME [ARGUMENTS]`. Without a command, the program runs its roles. */
import { type ClusterConfig } from "../config/clusters.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { type Clock } from "../util/clock.ts";
import { type Rng } from "../util/rng.ts";

/** Where the output goes. */
export interface Terminal {
  /** Width of a line; 80 where it is not known. May change while a command runs. */
  readonly columns: number;
  /** Lines of the screen; absent = not known. */
  readonly rows?: number | undefined;
  /** Escape codes for colours are understood and wanted. */
  readonly isColoured: boolean;
  /** Somebody looks at it: not a pipe and not a file. */
  readonly isInteractive: boolean;
}

/** What a command gets from the program. */
export interface CommandSurroundings {
  /** Writes to stdout. */
  readonly write: (text: string) => void;
  /** Writes one line to stderr: progress, and what is missing. */
  readonly complain: (line: string) => void;
  /** How people call the program: "podseidon" or "kubectl podseidon". */
  readonly program: string;
  /** The text of `podseidon version`, with its line end. */
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The text of a regular file of at most `bytesMax` bytes. Throws as `readRegularFile`. */
  readonly readFile: (path: string, bytesMax: number) => string;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Aborts when the user wants to stop (Ctrl-C). */
  readonly signal: AbortSignal;
  readonly terminal: Terminal;
  /** `name` stands for the cluster in messages. Sends nothing yet. Rejects with a StartError. */
  readonly connect: (config: ClusterConfig, name: string) => Promise<KubeClient>;
}

/** What every command is given. */
export interface CommandContext extends CommandSurroundings {
  /** All commands of the program, for what is generated from them. */
  readonly commands: readonly Command[];
  /** Prints the help of a command, or of the program, to stdout. Throws a usage error when there is no such command. */
  readonly printHelp: (command?: string) => void;
}

export interface CommandEnd {
  /** 0 = done and nothing is wrong, 1 = something is wrong or failed, 2 = wrong usage. */
  readonly exitCode: number;
  /** One line for stderr. */
  readonly problem?: string;
}

export interface CommandOption {
  /** `--watch`, `--core <context>`, `-o, --output <format>`: a value that is named is required. */
  readonly usage: string;
  /** At most 50 characters. */
  readonly description: string;
  /** May be given several times; else the last one counts. */
  readonly isRepeatable?: boolean;
}

/**
 * The options that were given, by their long name without dashes ("dry-run"): the values in the order given, texts as
 * they were written. A switch has the value "true".
 */
export type CommandOptions = ReadonlyMap<string, readonly string[]>;

export interface Command {
  /** The name, and its arguments as cac reads them: `<required>`, `[optional]`, `[...more]`. */
  readonly usage: string;
  /** One line of at most 50 characters for the list of commands. */
  readonly summary: string;
  readonly options?: readonly CommandOption[];
  /** Arguments of calls that are worth showing, without the program's name: "status -n shop". */
  readonly examples?: readonly string[];
  /** Words that its first argument may be, for the shell's completion. */
  readonly words?: readonly string[];
  /**
   * `args` are those that `usage` names, in that order; of `[...more]` a list. Expected failures are a CommandEnd.
   */
  run(
    context: CommandContext,
    options: CommandOptions,
    ...args: readonly CommandArgument[]
  ): CommandEnd | Promise<CommandEnd>;
}

export type CommandArgument = string | readonly string[] | undefined;

/** The last value of an option that takes one; undefined = not given. */
export function valueOf(options: CommandOptions, name: string): string | undefined {
  return options.get(name)?.at(-1);
}

/** Wrong usage, in one line. */
export function wrongUsage(problem: string): CommandEnd {
  return { exitCode: 2, problem };
}
