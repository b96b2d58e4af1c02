// APIs of Node that only one place of the product may use, such as the clock: elsewhere they are injected, so that
// tests and simulations can replace them. docs/contributing.md#injection
import type { ImportDeclaration, Node, Program } from "oxc-parser";
import { type Repository, type SourceFile } from "./repository.ts";
import { lineAt, nameOf, walk } from "./syntax.ts";

interface BannedApi {
  /** `a.b` is the member b of a global a; a name alone is a global, or an export of any module of Node. */
  readonly names: readonly string[];
  /** Prefixes below the root where the API may be used. */
  readonly homes: readonly string[];
  readonly instead: string;
}

const clockHome = { homes: ["src/util/system-clock.ts"], instead: "take a Clock (src/util/clock.ts)" };
const bannedApis: readonly BannedApi[] = [
  { names: ["Date.now", "new Date()", "performance.now", "performance.timeOrigin", "process.hrtime"], ...clockHome },
  { names: ["setTimeout", "setInterval", "setImmediate", "AbortSignal.timeout", "scheduler.wait"], ...clockHome },
  {
    names: ["Math.random", "randomUUID", "randomBytes", "randomInt", "getRandomValues"],
    homes: ["src/util/rng.ts"],
    instead: "take an Rng (src/util/rng.ts)",
  },
  { names: ["process.env"], homes: ["src/config/", "src/main.ts"], instead: "read configuration in src/config" },
  {
    names: ["process.exit", "process.abort"],
    homes: ["src/main.ts"],
    instead: "return or throw; main.ts ends the process",
  },
  {
    names: ["process.kill"],
    homes: ["src/main.ts", "src/kube/transport/exec-plugin.ts"],
    instead: "return or throw; only exec plugins are child processes",
  },
  { names: ["console"], homes: [], instead: "take a Logger (src/util/logger.ts)" },
];
const noModuleState = "no state in a module: two roles in one process would share it";

type Ancestors = readonly Node[];
/** The names that a file gives to imports from Node, each with the API's own: `sleep` is `timers.setTimeout`. */
type Aliases = ReadonlyMap<string, string>;

const isOfNode = (node: ImportDeclaration): boolean => node.source.value.startsWith("node:");

function readAliases(program: Program): Aliases {
  const aliases = new Map<string, string>();
  for (const node of program.body) {
    if (node.type !== "ImportDeclaration" || !isOfNode(node)) continue;
    const [module = ""] = node.source.value.slice("node:".length).split("/");
    for (const specifier of node.specifiers) {
      const member = specifier.type === "ImportSpecifier" ? nameOf(specifier.imported, false) : undefined;
      aliases.set(specifier.local.name, member === undefined ? module : `${module}.${member}`);
    }
  }
  return aliases;
}

/** Tells whether a pattern, a declaration or a parameter binds `name`. */
function binds(node: Node | null | undefined, name: string): boolean {
  switch (node?.type) {
    case "Identifier":
      return node.name === name;
    case "VariableDeclaration":
      return node.declarations.some(({ id }) => binds(id, name));
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return binds(node.id, name);
    case "ImportDeclaration":
      return !isOfNode(node) && node.specifiers.some(({ local }) => local.name === name);
    case "ExportNamedDeclaration":
      return binds(node.declaration, name);
    case "AssignmentPattern":
      return binds(node.left, name);
    case "RestElement":
      return binds(node.argument, name);
    case "ArrayPattern":
      return node.elements.some((element) => binds(element, name));
    case "ObjectPattern":
      return node.properties.some((property) => binds(property.type === "Property" ? property.value : property, name));
    default:
      return false;
  }
}

/** Tells whether one of the surrounding functions, blocks or loops, or the module, declares `name` itself. */
function isDeclared(name: string, ancestors: Ancestors): boolean {
  return ancestors.some((scope) => {
    switch (scope.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return scope.params.some((parameter) => binds(parameter, name));
      case "Program":
      case "BlockStatement":
        return scope.body.some((statement) => binds(statement, name));
      case "ForStatement":
        return binds(scope.init, name);
      case "ForOfStatement":
      case "ForInStatement":
        return binds(scope.left, name);
      case "CatchClause":
        return binds(scope.param, name);
      default:
        return false;
    }
  });
}

/** Tells whether an identifier stands for a value, and is not merely the name of a member, of a key or of an import. */
function isReference(node: Node, parent: Node | undefined): boolean {
  switch (parent?.type) {
    case "MemberExpression":
      return parent.object === node || parent.computed;
    case "Property":
      return parent.value === node;
    case "MethodDefinition":
    case "PropertyDefinition":
      return parent.key !== node;
    case "TSPropertySignature":
    case "TSMethodSignature":
    case "TSQualifiedName":
    case "ImportSpecifier":
    case "ExportSpecifier":
    case "LabeledStatement":
      return false;
    default:
      return true;
  }
}

/** The name of an expression, from its global or its module of Node on; undefined for what has none. */
function nameOfExpression(node: Node, parent: Node | undefined, aliases: Aliases): string | undefined {
  if (node.type === "Identifier") return isReference(node, parent) ? (aliases.get(node.name) ?? node.name) : undefined;
  if (node.type !== "MemberExpression") return undefined;
  const owner = nameOfExpression(node.object, node, aliases);
  return owner === undefined ? undefined : `${owner}.${nameOf(node.property, node.computed) ?? "*"}`;
}

/** The names of what a pattern takes out of an object: `const { env } = process`. */
function namesTaken(node: Node, aliases: Aliases): string[] {
  if (node.type !== "VariableDeclarator" || node.id.type !== "ObjectPattern" || node.init === null) return [];
  const owner = nameOfExpression(node.init, node, aliases);
  if (owner === undefined) return [];
  return node.id.properties.map((property) =>
    property.type === "Property" ? `${owner}.${nameOf(property.key, property.computed) ?? "*"}` : `${owner}.*`,
  );
}

/** Tells whether `node` is the Date of `new Date()` or `Date()`, which read the clock. */
const isPresentDate = (node: Node, name: string, parent: Node | undefined): boolean =>
  name === "Date" &&
  ((parent?.type === "CallExpression" && parent.callee === node) ||
    (parent?.type === "NewExpression" && parent.callee === node && parent.arguments.length === 0));

/** The name that is written first: `a` of `a.b.c`, of `const { b } = a` and of `a`. */
function rootOf(node: Node): string | undefined {
  if (node.type === "VariableDeclarator") return node.init === null ? undefined : rootOf(node.init);
  if (node.type === "MemberExpression") return rootOf(node.object);
  return node.type === "Identifier" ? node.name : undefined;
}

function findBannedApis({ path: file, text, syntax }: SourceFile): string[] {
  const banned = bannedApis.filter(({ homes }) => !homes.some((home) => file.startsWith(home)));
  const aliases = readAliases(syntax.program);
  const problems: string[] = [];
  walk(syntax.program, (node, ancestors) => {
    const parent = ancestors.at(-1);
    if (parent?.type === "MemberExpression" && parent.object === node) return; // judged with its members
    const own = nameOfExpression(node, parent, aliases);
    for (const full of own === undefined ? namesTaken(node, aliases) : [own]) {
      const name = isPresentDate(node, full, parent) ? "new Date()" : full;
      const found = banned.find(({ names }) => names.some((known) => `.${name}.`.includes(`.${known}.`)));
      if (found === undefined || isDeclared(rootOf(node) ?? "", ancestors)) continue;
      problems.push(`${file}:${lineAt(text, node.start)}: ${name}: ${found.instead}`);
    }
  });
  return problems;
}

function findModuleState({ path: file, text, syntax }: SourceFile): string[] {
  return syntax.program.body.flatMap((statement) => {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration" || !["let", "var"].includes(declaration.kind)) return [];
    return [`${file}:${lineAt(text, declaration.start)}: ${declaration.kind}: ${noModuleState}`];
  });
}

/** Checks the uses of these APIs in src/; returns one line for each violation. */
export function checkApis(repository: Repository): string[] {
  return repository.sourcesIn("src/").flatMap((file) => [...findBannedApis(file), ...findModuleState(file)]);
}
