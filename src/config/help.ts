/** The flags in the text of --help: by component, 80 columns, no colour. */
import { actions } from "./argv.ts";
import { environmentPrefix } from "./environment.ts";
import { roles } from "./flag.ts";
import { flagNames, flags, type FlagName } from "./flag-table.ts";
import { inputText } from "./value-type.ts";

/** The width of a plain terminal. */
const columns = 80;
const indent = " ".repeat(8);

export interface HelpSection {
  readonly title?: string;
  readonly body: string;
}

/** Every flag once: those that people use by component, the rarely needed ones at the end. */
export function flagSections(): HelpSection[] {
  const groups = Map.groupBy(
    flagNames.filter((name) => flags[name].isRare !== true),
    (name) => flags[name].group,
  );
  return [
    { title: "Actions", body: linesOf(Object.entries(actions).map(([name, help]) => entry(`--${name}`, help))) },
    {
      title: "Flags",
      body: [
        `A flag can also be set by an environment variable, ${environmentPrefix}NAME ` +
          "with the name in upper case and _ for - and ., or by a line NAME: VALUE in the YAML file of --config.",
        "The command line takes precedence over the environment, and the environment over the file.",
      ]
        .flatMap((paragraph) => wrap(paragraph, "  "))
        .join("\n"),
    },
    ...Array.from(groups, ([{ title, roles: users }, names]) => ({
      title: `${title} (${users.length === roles.length ? "all roles" : users.join(", ")})`,
      body: linesOf(names.map(flagEntry)),
    })),
    {
      title: "Rarely needed flags",
      body: linesOf(flagNames.filter((name) => flags[name].isRare === true).map(flagEntry)),
    },
  ];
}

/** The default as the help and the documentation show it; undefined = nothing worth a word. */
export function defaultText(name: FlagName): string | undefined {
  const entryOf = flags[name];
  const text = inputText(entryOf.type.format(entryOf.default));
  return text === "" ? undefined : text;
}

const linesOf = (entries: readonly string[]): string => entries.join("\n");

function flagEntry(name: FlagName): string {
  const { type, help } = flags[name];
  const value = type.shape === "switch" ? "[=BOOL]" : `=${type.placeholder}`;
  const byDefault = defaultText(name);
  return entry(`--${name}${value}`, byDefault === undefined ? help : `${help} (default ${byDefault})`);
}

function entry(heading: string, text: string): string {
  return [`  ${heading}`, ...wrap(text, indent)].join("\n");
}

/** Breaks at spaces. */
function wrap(text: string, margin: string): string[] {
  const lines: string[] = [];
  let line = margin;
  for (const word of text.split(" ")) {
    if (line !== margin && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = margin;
    }
    line += line === margin ? word : ` ${word}`;
  }
  return [...lines, line];
}
