// Rules for tests: each source has a test of its own, and no test is switched off.
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

const listPath = "test/house/without-own-test.json";

/** Each source has a test at the mirrored path, or stands on a list that may only shrink, with the reason. */
function checkMirror(repository: Repository): string[] {
  const list = JSON.parse(repository.read(listPath) ?? "{}") as Record<string, string>;
  const listed = new Map(Object.entries(list));
  const tests = repository.files.map((file) => file.path).filter((file) => /\.(test|proof)\.ts$/.test(file));
  const problems: string[] = [];
  for (const { path: file, syntax } of repository.sourcesIn("src/")) {
    if (file.endsWith("/index.ts")) continue;
    const mirror = file.replace(/^src\/(.*)\.ts$/, "test/unit/$1.");
    const isTested = tests.some((test) => test.startsWith(mirror));
    const isListed = listed.delete(file);
    if (isTested && isListed) problems.push(`${listPath}: ${file} has a test now: strike it off`);
    if (!isTested && !isListed && hasBehaviour(syntax.program)) problems.push(`${file}: no ${mirror}test.ts`);
  }
  for (const [name, reason] of Object.entries(list)) {
    if (reason.trim() === "") problems.push(`${listPath}: ${name} has no reason`);
  }
  return [...problems, ...Array.from(listed.keys(), (name) => `${listPath}: ${name} is gone: strike it off`)];
}

/** Checks the tests; returns one line for each violation. */
export function checkTests(repository: Repository): string[] {
  return [...repository.sourcesIn("test/").flatMap(findSwitches), ...checkMirror(repository)];
}
