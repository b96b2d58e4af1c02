/** The text of --help: all flags by component, 80 columns, no colour. */
import { actions } from "./argv.ts";
import { environmentPrefix } from "./environment.ts";
import { roles } from "./flag.ts";
import { flagNames, flags, type FlagName } from "./flag-table.ts";
import { inputText } from "./value-type.ts";

/** The width of a plain terminal. */
const columns = 80;
const indent = " ".repeat(8);

export function helpText(): string {
  const lines = [
    "Usage: podseidon --role=ROLE[,ROLE...] [--FLAG=VALUE...]",
    "",
    ...wrap(
      "Refuses pod deletions that would take a workload under its minimum availability, summed over all clusters.",
      "",
    ),
    "",
    ...wrap(
      `Each flag can also be set by an environment variable (${environmentPrefix} and the name in upper case, with _ for - and .) or by ` +
        "a line NAME: VALUE in the YAML file of --config. The command line wins over the environment, and that over the file.",
      "",
    ),
    "",
    "Actions",
    ...Object.entries(actions).flatMap(([name, help]) => [`  --${name}`, ...wrap(help, indent)]),
  ];
  let title = "";
  for (const name of flagNames) {
    const { group } = flags[name];
    if (group.title !== title) {
      const users = group.roles.length === roles.length ? "all roles" : group.roles.join(", ");
      lines.push("", `${group.title} (${users})`);
      title = group.title;
    }
    lines.push(...flagLines(name));
  }
  return `${lines.join("\n")}\n`;
}

/** The default as the help and the documentation show it; undefined = nothing worth a word. */
export function defaultText(name: FlagName): string | undefined {
  const entry = flags[name];
  const text = inputText(entry.type.format(entry.default));
  return text === "" ? undefined : text;
}

function flagLines(name: FlagName): string[] {
  const { type, help } = flags[name];
  const value = type.shape === "switch" ? "[=BOOL]" : `=${type.placeholder}`;
  const byDefault = defaultText(name);
  return [`  --${name}${value}`, ...wrap(byDefault === undefined ? help : `${help} (default ${byDefault})`, indent)];
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
