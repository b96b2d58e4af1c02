/**
 * Scenarios as text, in the style of data-driven tests. A file begins with a comment that says why it is there, then:
 *
 *   without: …                  mutations (rules/rules.ts, mutations/catalog/catalog.ts), or algorithm=NAME: the rule
 *                               that closes the sequence, switched off
 *   breaks: …                   what must be found then; more such pairs may follow
 *   VERB ARGUMENT… -> OUTCOME   one command a line, see commands/commands.ts
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface Command {
  /** file:line, for messages. */
  readonly place: string;
  readonly verb: string;
  readonly words: readonly string[];
  /** Undefined = the command has no outcome. */
  readonly expected: string | undefined;
}

export interface Breakage {
  /** Switched off together. */
  readonly without: readonly string[];
  readonly breaks: string;
}

export interface Scenario {
  /** Name of the file without its end. */
  readonly name: string;
  readonly breakages: readonly Breakage[];
  readonly commands: readonly Command[];
}

const folder = new URL("./", import.meta.url);

/** All scenarios of this folder, by name. */
export function readScenarios(): readonly Scenario[] {
  const files = readdirSync(fileURLToPath(folder)).filter((file) => file.endsWith(".txt"));
  return files.toSorted().map((file) => parseScenario(file, readFileSync(new URL(file, folder), "utf8")));
}

/** Throws with file and line when the text is no scenario. */
export function parseScenario(file: string, text: string): Scenario {
  const headers: (readonly [name: string, value: string])[] = [];
  const commands: Command[] = [];
  const lines = text.split("\n");
  if (!/^# \S/.test(lines[0] ?? "")) throw new Error(`${file}:1: begin with a comment that says why`);
  for (const [index, line] of lines.entries()) {
    const place = `${file}:${index + 1}`;
    const content = line.trim();
    if (content === "" || content.startsWith("#")) continue;
    const header = /^(without|breaks): (.+)$/.exec(content);
    if (header === null) commands.push(parseCommand(place, content));
    else if (commands.length > 0) throw new Error(`${place}: "${header[1]}" belongs before the commands`);
    else headers.push([header[1] ?? "", header[2] ?? ""]);
  }
  return { name: file.replace(/\.txt$/, ""), breakages: breakagesOf(file, headers), commands };
}

/** "without:" and "breaks:" by turns. */
function breakagesOf(file: string, headers: readonly (readonly [name: string, value: string])[]): Breakage[] {
  const names = headers.map(([name]) => name).join(" ");
  if (!/^without breaks( without breaks)*$/.test(names))
    throw new Error(`${file}: "without:" and "breaks:" are missing, or not by turns`);
  return headers.flatMap(([, value], index) =>
    index % 2 === 0 ? [{ without: value.split(/, */), breaks: headers[index + 1]?.[1] ?? "" }] : [],
  );
}

function parseCommand(place: string, text: string): Command {
  const [command = "", expected, more] = text.split(/ +-> +/);
  const [verb = "", ...words] = command.trim().split(/ +/);
  if (more !== undefined || expected === "") throw new Error(`${place}: one outcome after "->"`);
  return { place, verb, words, expected };
}
