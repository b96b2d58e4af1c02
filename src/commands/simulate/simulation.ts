/** What every simulation is given besides its names and clusters. */
import { type OutputFormat } from "../clusters/options.ts";
import { type CommandContext, type CommandOptions } from "../command.ts";

export interface Simulation {
  readonly context: CommandContext;
  readonly options: CommandOptions;
  readonly output: OutputFormat;
}
