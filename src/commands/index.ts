/**
 * Operator commands, beside the roles: the contract (command.ts), the table (table.ts), and what finds and runs a
 * command (dispatch.ts).
 */
import { type CommandEnd } from "./command.ts";
import { dispatch } from "./dispatch.ts";
import { commands } from "./table.ts";

/** Runs the command that `argv[0]` names; see dispatch. */
export function runCommand(
  argv: readonly string[],
  context: { readonly version: string; readonly write: (text: string) => void },
): Promise<CommandEnd> {
  return dispatch(commands, argv, context);
}
