/** The JSON Schema of the file of --config, for editors and CI: `podseidon --print-config-schema`. */
import { flagNames, flags } from "../flag-table.ts";
import { inputText, type JsonSchema } from "../types/value-type.ts";

/**
 * A schema of draft 2020-12. It knows one key at a time: combinations that cannot work, and some forms of names and
 * addresses, are told by `podseidon --config=FILE --print-config` alone.
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
