/** The page docs/flags.md. Run as a program (`node scripts/n.mjs src/config/docs.ts`) this file writes it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { actions } from "./argv.ts";
import { environmentPrefix } from "./environment.ts";
import { roles, type FlagGroup } from "./flag.ts";
import { flagNames, flags, type FlagName } from "./flag-table.ts";
import { defaultText } from "./help.ts";

/** The whole page; a test fails when the file in docs/ differs. */
export function flagsPage(): string {
  const groups = Map.groupBy(flagNames, (name) => flags[name].group);
  return [
    "# Flags",
    "",
    "<!-- Generated from src/config/flag-table.ts by `node scripts/n.mjs src/config/docs.ts`. Do not edit. -->",
    "",
    "The value of a flag comes from the first of these sources that has one:",
    "",
    "1. the command line: `--klog-v=4` or `--klog-v 4`. A switch needs no value (`--webhook-dry-run`). A repeated",
    "   list or map adds to the earlier ones; any other flag may be given only once;",
    `2. the environment: \`${environmentPrefix}KLOG_V=4\`, the name in upper case with \`_\` for \`-\` and \`.\`.`,
    "   No other variable is read;",
    "3. the YAML file of `--config`: `klog-v: 4`. Keys are flag names; lists and maps may be YAML lists and maps;",
    "4. the default.",
    "",
    "Flags of roles that are not selected are refused on the command line. In the environment and the file, which",
    "several roles may share, they are ignored. Any mistake ends the program with exit code 2 and one line on stderr.",
    "",
    "| action | meaning |",
    "|---|---|",
    ...Object.entries(actions).map(([name, help]) => `| \`--${name}\` | ${help} |`),
    ...Array.from(groups, ([group, names]) => section(group, names)),
    "",
  ].join("\n");
}

function section(group: FlagGroup, names: readonly FlagName[]): string {
  const users = group.roles.length === roles.length ? "all roles" : group.roles.join(", ");
  return [
    "",
    `## ${group.title}`,
    "",
    `Used by: ${users}.`,
    "",
    "| flag | type | default | meaning |",
    "|---|---|---|---|",
    ...names.map(row),
  ].join("\n");
}

function row(name: FlagName): string {
  const { type, help } = flags[name];
  const byDefault = defaultText(name);
  const shown = byDefault === undefined ? "" : `\`${byDefault}\``;
  return `| \`--${name}\` | ${type.kind} | ${shown} | ${help} Allowed: ${type.allowed}. |`;
}

if (import.meta.main) writeFileSync(path.join(import.meta.dirname, "../../docs/flags.md"), flagsPage());
