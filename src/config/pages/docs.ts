/** The page docs/flags.md. Run as a program (`node scripts/n.mjs src/config/pages/docs.ts`) this file writes it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { actions } from "../reading/argv.ts";
import { environmentPrefix } from "../reading/environment.ts";
import { roles, type FlagGroup } from "../flag.ts";
import { flagNames, flags, type FlagName } from "../flag-table.ts";
import { defaultText } from "./help.ts";

/** The whole page; a test fails when the file in docs/ differs. */
export function flagsPage(): string {
  const isIgnored = (name: FlagName): boolean => flags[name].ignored !== undefined;
  const groups = Map.groupBy(
    flagNames.filter((name) => !isIgnored(name)),
    (name) => flags[name].group,
  );
  return [
    "# Flags",
    "",
    "<!-- Generated from src/config/flag-table.ts by `node scripts/n.mjs src/config/pages/docs.ts`. Do not edit. -->",
    "",
    "The value of a flag comes from the first of these sources that has one:",
    "",
    "1. the command line: `--klog-v=4` or `--klog-v 4`. A switch needs no value (`--webhook-dry-run`). A repeated",
    "   list or map adds to the earlier ones; of any other repeated flag the last value counts;",
    `2. the environment: \`${environmentPrefix}KLOG_V=4\`, the name in upper case with \`_\` for \`-\` and \`.\`.`,
    "   No other variable is read;",
    "3. the YAML file of `--config`: `klog-v: 4`. Keys are flag names; lists and maps may be YAML lists and maps;",
    "4. the default.",
    "",
    "Flags of roles that are not selected are refused on the command line. In the environment and the file, which",
    "several roles may share, they are ignored. Mistakes end the program with exit code 2, and a line on stderr for",
    "each.",
    "",
    "`podseidon --print-config-schema > podseidon.schema.json` writes a JSON Schema of the file; an editor checks and",
    "completes a file that begins with `# yaml-language-server: $schema=podseidon.schema.json`. What the schema cannot",
    "know, such as flags that exclude each other, `podseidon --config=FILE --print-config` tells.",
    "",
    "| action | meaning |",
    "|---|---|",
    ...Object.entries(actions).map(([name, help]) => `| \`--${name}\` | ${help} |`),
    ...Array.from(groups, ([group, names]) => section(group, names)),
    "",
    "## Without effect",
    "",
    "Flags of upstream that mean nothing here. They are accepted, so that its arguments start, and their values are",
    "checked. A warning at start names those that are set.",
    "",
    ...table(flagNames.filter(isIgnored)),
    "",
  ].join("\n");
}

function section(group: FlagGroup, names: readonly FlagName[]): string {
  const users = group.roles.length === roles.length ? "all" : group.roles.join(", ");
  return ["", `## ${group.title}`, "", `Roles: ${users}.`, "", ...table(names)].join("\n");
}

function table(names: readonly FlagName[]): string[] {
  return ["| flag | type | default | meaning |", "|---|---|---|---|", ...names.map(row)];
}

function row(name: FlagName): string {
  const { type, help, ignored } = flags[name];
  const byDefault = defaultText(name);
  const shown = byDefault === undefined ? "" : `\`${byDefault}\``;
  const meaning = ignored === undefined ? help : `${ignored} Upstream: ${help}`;
  return `| \`--${name}\` | ${type.kind} | ${shown} | ${meaning} Allowed: ${type.allowed}. |`;
}

if (import.meta.main) writeFileSync(path.join(import.meta.dirname, "../../../docs/flags.md"), flagsPage());
