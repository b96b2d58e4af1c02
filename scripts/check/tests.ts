// Rules for tests: each folder says what is tested where, and no test is switched off.
import path from "node:path";
import type { Node, Program } from "oxc-parser";
import { type Repository, type SourceFile } from "./repository.ts";
import { contains, lineAt, nameOf, textOf, walk } from "./syntax.ts";

const testObjects = new Set(["test", "it", "describe", "suite", "t", "context"]);
const switches = new Set(["only", "skip", "todo"]);

/** Tells whether a node switches a test off for good: `test.skip`, `{ skip: true }` or `{ todo: "reason" }`. */
function switchesOff(node: Node): boolean {
  if (node.type === "MemberExpression") {
    const object = node.object.type === "Identifier" ? node.object.name : "";
    return testObjects.has(object) && switches.has(nameOf(node.property, node.computed) ?? "");
  }
  if (node.type !== "Property" || !switches.has(nameOf(node.key, node.computed) ?? "")) return false;
  return textOf(node.value) !== undefined || (node.value.type === "Literal" && node.value.value === true);
}

function findSwitches({ path: file, text, syntax }: SourceFile): string[] {
  const problems: string[] = [];
  walk(syntax.program, (node) => {
    if (!switchesOff(node)) return;
    const switched = `${file}:${lineAt(text, node.start)}: ${text.slice(node.start, node.end)}`;
    problems.push(`${switched}: run it, or say when it cannot run: { skip: <condition> }`);
  });
  return problems;
}

const runs = (node: Node): boolean =>
  ["ArrowFunctionExpression", "FunctionExpression", "ClassExpression", "NewExpression"].includes(node.type);

/** Tells whether a source has anything to test: a function, a class, or a statement that runs. */
function hasBehaviour(program: Program): boolean {
  return program.body.some((statement) => {
    const declared =
      statement.type === "ExportNamedDeclaration" && statement.declaration !== null ? statement.declaration : statement;
    switch (declared.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ExportNamedDeclaration":
      case "TSInterfaceDeclaration":
      case "TSTypeAliasDeclaration":
        return false;
      case "VariableDeclaration":
        return contains(declared, runs);
      default:
        return !("declare" in declared && declared.declare);
    }
  });
}

/** The folder of a source just below src/, and that of its tests; of src/main.ts both are "". */
const topOf = (file: string): string => /^(?:src|test\/unit)\/([^/]+\/)/.exec(file)?.[1] ?? "";

/** Files by path, and what each of them takes from which others. */
class Imports {
  readonly #files: ReadonlyMap<string, SourceFile>;

  constructor(repository: Repository) {
    this.#files = new Map(repository.sources.map((file) => [file.path, file]));
  }

  /** The sources that `file` takes something from, itself or through an index.ts that only passes it on. */
  *takenBy(file: string, wanted?: ReadonlySet<string>): Generator<string> {
    for (const { specifier, names } of this.#files.get(file)?.syntax.imports ?? []) {
      const taken = names.filter((name) => name === "*" || wanted === undefined || wanted.has(name) || wanted.has("*"));
      if (specifier?.startsWith(".") !== true || taken.length === 0) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier);
      yield target;
      if (target.endsWith("/index.ts")) yield* this.takenBy(target, new Set(taken));
    }
  }

  /** Every file that `files` import, and those that these import. */
  reachedFrom(files: Iterable<string>): ReadonlySet<string> {
    const reached = new Set(files);
    for (const file of reached) for (const target of this.takenBy(file)) reached.add(target);
    return reached;
  }
}

const statement = "tested-through.json";

/**
 * Each source with behaviour is imported by a test of its folder (src/kube/: below test/unit/kube/), or that folder's
 * statement says through what it is tested: by the name of the file, or of a folder with all that is in it. So a file,
 * or a test, is moved without a word to anybody.
 */
function checkFolder(repository: Repository, imports: Imports, top: string, reached: ReadonlySet<string>): string[] {
  const inTop = ({ path: file }: { readonly path: string }): boolean => topOf(file) === top;
  const tests = repository
    .sourcesIn("test/unit/")
    .filter(inTop)
    .map(({ path: file }) => file);
  const direct = new Set(tests.flatMap((file) => [...imports.takenBy(file)]));
  const list = `test/unit/${top}${statement}`;
  const stated = Object.entries(JSON.parse(repository.read(list) ?? "{}") as Record<string, string>);
  const used = new Set<string>();
  const problems = stated.flatMap(([name, reason]) => (reason.trim() === "" ? [`${list}: ${name} has no reason`] : []));
  for (const { path: file, syntax } of repository.sourcesIn("src/").filter(inTop)) {
    if (file.endsWith("/index.ts") || direct.has(file) || !hasBehaviour(syntax.program)) continue;
    const line = stated.find(([name]) => file.endsWith(`/${name}`) || file.startsWith(`src/${top}${name}/`))?.[0];
    if (line === undefined)
      problems.push(`${file}: no test below test/unit/${top} imports it, and ${list} says nothing`);
    else if (top !== "" && !reached.has(file)) problems.push(`${file}: no test reaches it, whatever ${list} says`);
    if (line !== undefined) used.add(line);
  }
  const idle = stated.filter(([name]) => !used.has(name));
  return [...problems, ...idle.map(([name]) => `${list}: ${name} needs no word (any more): strike it off`)];
}

/** Checks the tests; returns one line for each violation. */
export function checkTests(repository: Repository): string[] {
  const imports = new Imports(repository);
  const tests = repository.sourcesIn("test/unit/").map(({ path: file }) => file);
  const reached = imports.reachedFrom(tests);
  const folders = new Set([...repository.sourcesIn("src/").map(({ path: file }) => file), ...tests].map(topOf));
  return [
    ...repository.sourcesIn("test/").flatMap(findSwitches),
    ...[...folders].flatMap((top) => checkFolder(repository, imports, top, reached)),
  ];
}
