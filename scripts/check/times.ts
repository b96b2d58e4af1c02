// Constants of time: each one in src/ is listed in docs/accounting.md as a pace, a patience or a proof, and a proof
// with its argument. Flags that are durations belong to them; docs/flags.md has them all.
import { type Node } from "oxc-parser";
import { type Repository, type SourceFile } from "./repository.ts";
import { contains, lineAt, nameOf, walk } from "./syntax.ts";

const page = "docs/accounting.md";
const heading = "## Constants of time";
const flagsPage = "docs/flags.md";
const flagWithEffect = /^\| `(--[\w.-]+)` \| duration \|/gm;

/** A time by its unit, or a rate by it: `waitMs`, `waitMsMax`, `bytesPerMs`. */
const timeName = /(?:Nanos|Micros|Millis|Ms|Seconds|Minutes|Hours|Days)(?:Max|Min|Default|Limit)?$/;
/** Constants are written with these. They stand for nothing. */
const unitName = /^(?:second|minute|hour|day)(?:Micros|Ms|Seconds)$/;

interface Constant {
  /** `--flag`, or the file without its extension, a dot, and the name: `src/kube/<file>.waitMs`. */
  readonly name: string;
  /** File and line. */
  readonly at: string;
}

/** A name in the table. */
interface Entry {
  readonly name: string;
  readonly at: string;
  readonly lacksArgument: boolean;
}

function declaredBy(node: Node): readonly [name: string | undefined, value: Node | null] | undefined {
  switch (node.type) {
    case "VariableDeclarator":
      return [nameOf(node.id, false), node.init];
    case "AssignmentPattern": // the default of a parameter or of a destructured field
      return [nameOf(node.left, false), node.right];
    case "Property":
    case "PropertyDefinition":
      return [node.key.type === "PrivateIdentifier" ? node.key.name : nameOf(node.key, node.computed), node.value];
    default:
      return undefined;
  }
}

/** Whether the value is the same in each run. Inside of functions a name may stand for anything. */
function isConstant(node: Node, isInside: boolean): boolean {
  const isAlso = (part: Node): boolean => isConstant(part, isInside);
  switch (node.type) {
    case "Literal":
      return typeof node.value === "number";
    case "Identifier":
    case "MemberExpression":
      return !isInside;
    case "BinaryExpression":
      return isAlso(node.left) && isAlso(node.right);
    case "TSAsExpression":
      return isAlso(node.expression);
    case "ObjectExpression":
      return node.properties.every((one) => one.type === "Property" && isAlso(one.value));
    case "CallExpression":
      return node.callee.type === "Identifier" && node.arguments.every(isAlso);
    default:
      return false;
  }
}

const isNumber = (node: Node): boolean => node.type === "Literal" && typeof node.value === "number" && node.value !== 0;

function constantsOf({ path: file, text, syntax }: SourceFile): Constant[] {
  const found: Constant[] = [];
  walk(syntax.program, (node, ancestors) => {
    const [name = "", value = null] = declaredBy(node) ?? [];
    if (value === null || !timeName.test(name) || unitName.test(name)) return;
    const isInside = ancestors.some(({ type }) => type.includes("Function"));
    if (!isConstant(value, isInside) || !contains(value, isNumber)) return;
    found.push({ name: `${file.replace(/\.ts$/, "")}.${name}`, at: `${file}:${lineAt(text, node.start)}` });
  });
  return found;
}

function flagsOf(repository: Repository): Constant[] {
  const [text = ""] = (repository.read(flagsPage) ?? "").split("\n## Without effect\n");
  return Array.from(text.matchAll(flagWithEffect), ({ 1: name = "", index }) => ({
    name,
    at: `${flagsPage}:${lineAt(text, index)}`,
  }));
}

const cellsOf = (line: string): string[] => line.split("|").slice(1, -1);

/** In `a.x`, `.y` the second is of the same file. */
function namesIn(cell: string): string[] {
  let file = "";
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = ""]) => {
    if (!text.startsWith(".")) file = text.replace(/\.\w+$/, "");
    return text.startsWith(".") ? file + text : text;
  });
}

/** The names in the columns "proof", "pace" and "patience" of the section's tables. */
function entriesOf(repository: Repository): Entry[] {
  const lines = (repository.read(page) ?? "").split("\n");
  const start = lines.indexOf(heading) + 1;
  const end = lines.findIndex((line, index) => index >= start && line.startsWith("## "));
  if (start === 0) return [];
  let columns: readonly string[] = [];
  return lines.slice(start, end < 0 ? undefined : end).flatMap((line, index) => {
    if (!line.startsWith("|")) columns = [];
    const cells = cellsOf(line);
    if (columns.length === 0) columns = cells.map((cell) => /\w+/.exec(cell)?.[0] ?? "");
    const argument = cells[columns.indexOf("argument")] ?? "";
    return columns.flatMap((column, at) => {
      if (!["proof", "pace", "patience"].includes(column)) return [];
      return namesIn(cells[at] ?? "").map((name) => ({
        name,
        at: `${page}:${start + index + 1}`,
        lacksArgument: column === "proof" && !/\]\([^()\s]*#[^()\s]+\)/.test(argument),
      }));
    });
  });
}

/** Checks the table against all constants of time; returns one line for each violation. */
export function checkTimes(repository: Repository): string[] {
  const found = [...repository.sourcesIn("src/").flatMap(constantsOf), ...flagsOf(repository)];
  // Of several with one name in a file, such as defaults of a parameter, the entry is for all.
  const constants = [...new Map(found.toReversed().map((one) => [one.name, one])).values()].toReversed();
  const listed = new Set<Constant>();
  const ofEntries = entriesOf(repository).flatMap(({ name, at, lacksArgument }) => {
    const meant = constants.filter((one) => one.name === name || one.name.endsWith(`/${name}`));
    const problems: string[] = [];
    if (lacksArgument) problems.push(`${at}: ${name}: a proof without a link to the section that has its argument`);
    if (meant.length > 1) problems.push(`${at}: ${name} are ${meant.length} constants: put the folder before it`);
    if (meant.length === 0) problems.push(`${at}: ${name}: there is no such constant of time`);
    if (meant.some((one) => listed.has(one))) problems.push(`${at}: ${name} is there twice`);
    for (const one of meant) listed.add(one);
    return problems;
  });
  const unlisted = constants.filter((one) => !listed.has(one));
  const what = `is it a pace, a patience or a proof? Put it into ${page}, ${heading.replace("## ", "")}`;
  return [...ofEntries, ...unlisted.map(({ name, at }) => `${at}: ${name.split("/").at(-1)}: ${what}`)];
}
