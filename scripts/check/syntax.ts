// What a TypeScript file says, from its syntax tree, so that text in a comment or a string cannot pass for code.
import { parseSync, visitorKeys, type Comment, type Node, type Program } from "oxc-parser";

export interface Syntax {
  readonly program: Program;
  readonly comments: readonly Comment[];
  /** Every module that the file names: import, export … from, `import()`, types by `import()`, and `require()`. */
  readonly imports: readonly ImportSite[];
}

export interface ImportSite {
  /** Undefined when the module is computed: `import(name)`. */
  readonly specifier: string | undefined;
  /** What is taken from it, "*" for all of it, under both names where it is passed on; empty for types alone. */
  readonly names: readonly string[];
  readonly line: number;
  /** Written as `import type … from` or `export type … from`: nothing is loaded when the program runs. */
  readonly isTypeOnly: boolean;
}

/** Parses a TypeScript or JavaScript file. Throws an Error that names the file and the line of the first error. */
export function parse(name: string, text: string): Syntax {
  const { program, comments, errors } = parseSync(name, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${name}:${lineAt(text, error.labels[0]?.start ?? 0)}: ${error.message}`);
  return { program, comments, imports: findImports(program, text) };
}

/** The line of `text`, from 1, in which the character at `offset` stands. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Calls `visit` for `node` and everything in it, outside first. `ancestors` ends with the parent; it is reused. */
export function walk(node: Node, visit: (node: Node, ancestors: readonly Node[]) => void): void {
  const ancestors: Node[] = [];
  const step = (current: Node): void => {
    visit(current, ancestors);
    ancestors.push(current);
    for (const child of childrenOf(current)) step(child);
    ancestors.pop();
  };
  step(node);
}

/** Tells whether `matches` holds of `node` or of anything in it. */
export function contains(node: Node, matches: (node: Node) => boolean): boolean {
  return matches(node) || childrenOf(node).some((child) => contains(child, matches));
}

function childrenOf(node: Node): Node[] {
  const fields = node as unknown as Readonly<Record<string, Node | readonly (Node | null)[] | null | undefined>>;
  return (visitorKeys[node.type] ?? [])
    .flatMap((key) => fields[key] ?? [])
    .filter((child) => child !== null && child !== undefined);
}

/** The text of a string or of a template without `${}`; undefined for anything else. */
export function textOf(node: Node | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
  return undefined;
}

/** The name of a member, a key or a property: of `a` in `x.a`, `x["a"]`, `{ a: 1 }`; undefined when computed. */
export function nameOf(key: Node, isComputed: boolean): string | undefined {
  return key.type === "Identifier" && !isComputed ? key.name : textOf(key);
}

/** The node that says which module is named; undefined for nodes that name none. */
function moduleOf(node: Node): Node | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return node.source;
    case "ExportNamedDeclaration":
      return node.source ?? undefined;
    case "TSExternalModuleReference":
      return node.expression;
    case "CallExpression":
      return node.callee.type === "Identifier" && node.callee.name === "require" ? node.arguments[0] : undefined;
    default:
      return undefined;
  }
}

function isTypeOnly(node: Node): boolean {
  if (node.type === "ImportDeclaration") return node.importKind === "type";
  return node.type === "ExportNamedDeclaration" && node.exportKind === "type";
}

function takenBy(node: Node): readonly string[] {
  switch (node.type) {
    case "TSImportType":
      return [];
    case "ImportDeclaration":
      if (node.importKind === "type") return [];
      if (node.specifiers.length === 0) return ["*"];
      return node.specifiers.flatMap((one) => {
        if (one.type !== "ImportSpecifier") return "*";
        return one.importKind === "type" ? [] : (nameOf(one.imported, false) ?? "*");
      });
    case "ExportNamedDeclaration":
      if (node.exportKind === "type") return [];
      return node.specifiers.flatMap((one) =>
        one.exportKind === "type" ? [] : [one.local, one.exported].map((name) => nameOf(name, false) ?? "*"),
      );
    default:
      return ["*"];
  }
}

function findImports(program: Program, text: string): ImportSite[] {
  const sites: ImportSite[] = [];
  walk(program, (node) => {
    const module = moduleOf(node);
    if (module === undefined) return;
    const names = takenBy(node);
    sites.push({ specifier: textOf(module), names, line: lineAt(text, module.start), isTypeOnly: isTypeOnly(node) });
  });
  return sites;
}
