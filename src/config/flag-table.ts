/**
 * The one table of flags. The command line, the environment, the file, the help, the documentation and the typed Config
 * are all derived from it. A new flag is one entry in flags/ and one line in config.ts.
 */
import { type Flag, type Role, type ValuesOf } from "./flag.ts";
import { aggregatorFlags } from "./flags/aggregator.ts";
import { cellFlags, coreFlags } from "./flags/clusters.ts";
import { generatorFlags } from "./flags/generator.ts";
import { ignoredFlags } from "./flags/ignored.ts";
import { sharedFlags } from "./flags/shared.ts";
import { webhookFlags } from "./flags/webhook.ts";

export const flagTable = {
  ...sharedFlags,
  ...coreFlags,
  ...cellFlags,
  ...webhookFlags,
  ...aggregatorFlags,
  ...generatorFlags,
  ...ignoredFlags,
};

export type FlagName = keyof typeof flagTable;
export type FlagValues = ValuesOf<typeof flagTable>;

export const flagNames = Object.keys(flagTable) as readonly FlagName[];

/** The table for code that treats all flags alike. */
export const flags: Readonly<Record<FlagName, Flag>> = flagTable;

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flagTable, name);
}

/** Whether one of the selected roles takes the flag. */
export function isUsedBy(name: FlagName, selected: ReadonlySet<Role>): boolean {
  return flags[name].group.roles.some((role) => selected.has(role));
}
