/** The command line of a script that people run by hand: read, with its mistakes told in one line and the usage. */
import { messageOf } from "../src/util/printable.ts";

/** An invalid argument; the message is one line. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

/** What `parse`, a call of Node's parseArgs, returns. Throws an ArgumentError. */
export function readArguments<Parsed>(parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    throw new ArgumentError(messageOf(error).split("\n")[0] ?? "");
  }
}

/** Runs a script: a mistake is one line and the usage, with exit code 2. */
export async function runProgram(
  name: string,
  usage: string,
  main: (args: readonly string[]) => Promise<void>,
): Promise<void> {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (error instanceof ArgumentError) {
      process.stderr.write(`${name}: ${error.message}\n${usage}\n`);
      process.exitCode = 2;
    } else if (error instanceof Error && "code" in error) {
      process.stderr.write(`${name}: ${error.message}\n`);
      process.exitCode = 1;
    } else throw error;
  }
}
