/** The effective settings, for --print-config and for the log at start-up; and the schema of the file. */
import { maskPasswords } from "../types/address.ts";
import { type Role } from "../flag.ts";
import { flagNames, flags, isUsedBy, type FlagName } from "../flag-table.ts";
import { inputText, type FlagInput, type JsonSchema } from "../types/value-type.ts";

export interface Setting {
  readonly value: unknown;
  /** "flag", "env NAME", "file PATH" or "default". */
  readonly origin: string;
}

export type Effective = ReadonlyMap<FlagName, Setting>;

/**
 * A YAML file that --config reads back, except for masked passwords: one line per flag of the selected roles, with its
 * origin as a comment. Flags without effect are left out unless they are set.
 */
export function printConfig(effective: Effective, selected: ReadonlySet<Role>): string {
  const lines: string[] = [];
  let title = "";
  for (const name of flagNames) {
    const setting = effective.get(name);
    // A file cannot name another file.
    if (setting === undefined || name === "config" || !isUsedBy(name, selected)) continue;
    const { group, ignored } = flags[name];
    if (ignored !== undefined && !isGiven(setting)) continue;
    if (group.title !== title) {
      lines.push(title === "" ? `# ${group.title}` : `\n# ${group.title}`);
      title = group.title;
    }
    lines.push(`${name}: ${yamlOf(masked(name, flags[name].type.format(setting.value)))}  # ${setting.origin}`);
  }
  return `${lines.join("\n")}\n`;
}

/** The settings that do not come from the defaults, as flag -> text, with passwords masked. */
export function changedSettings(effective: Effective): Readonly<Record<string, string>> {
  const changed = effective.entries().filter(([, setting]) => isGiven(setting));
  return Object.fromEntries(
    changed.map(([name, setting]) => [name, inputText(masked(name, flags[name].type.format(setting.value)))]),
  );
}

/** The flags of the selected roles that are set and have no effect here, as flag -> reason. */
export function ignoredSettings(effective: Effective, selected: ReadonlySet<Role>): Readonly<Record<string, string>> {
  const reasons: Record<string, string> = {};
  for (const [name, setting] of effective) {
    const { ignored } = flags[name];
    if (ignored !== undefined && isGiven(setting) && isUsedBy(name, selected)) reasons[name] = ignored;
  }
  return reasons;
}

const isGiven = (setting: Setting): boolean => setting.origin !== "default";

function masked(name: FlagName, input: FlagInput): FlagInput {
  if (flags[name].mayHoldPassword !== true) return input;
  if (typeof input === "string") return maskPasswords(input);
  return Object.fromEntries(
    Object.entries(input as Readonly<Record<string, string>>).map(([key, value]) => [key, maskPasswords(value)]),
  );
}

/** JSON is YAML. Simple words need no quotes, since --config reads all scalars as strings. */
function yamlOf(input: FlagInput): string {
  if (typeof input === "string" && /^[A-Za-z0-9][\w./-]*$/.test(input)) return input;
  return JSON.stringify(input);
}

/**
 * The JSON Schema of the file of --config, for editors and CI: `podseidon --print-config-schema`. A schema of draft
 * 2020-12. It knows one key at a time: combinations that cannot work, and some forms of names and addresses, are told
 * by `podseidon --config=FILE --print-config` alone.
 */
export function configSchema(): JsonSchema {
  // A file cannot name another file.
  const names = flagNames.filter((name) => name !== "config");
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Podseidon configuration",
    description: "The file of podseidon --config: flag names without the leading dashes, and their values.",
    type: ["object", "null"],
    additionalProperties: false,
    properties: Object.fromEntries(
      names.map((name) => {
        const { type, help, group, ignored, default: byDefault } = flags[name];
        const text = inputText(type.format(byDefault));
        const notes = [ignored, help, `Allowed: ${type.allowed}.`, `Roles: ${group.roles.join(", ")}.`];
        return [
          name,
          {
            description: notes.filter((note) => note !== undefined).join(" "),
            ...type.schema,
            ...(text !== "" && { default: text }),
            ...(ignored !== undefined && { deprecated: true }),
          },
        ];
      }),
    ),
  };
}
