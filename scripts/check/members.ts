// No member of a class or an object type that nothing in src/ reads: what only tests use is no part of the product.
// knip sees exports, not members. Names alone would not do (every Map has a `size`), so the type checker says which
// declaration each name stands for.
import path from "node:path";
import type { Class, Expression, Node, TSInterfaceDeclaration, TSTypeAliasDeclaration } from "oxc-parser";
import type * as ts from "typescript/unstable/ast";
import { isIdentifier, isObjectBindingPattern } from "typescript/unstable/ast/is";
import { API, SymbolFlags, type Project, type Symbol as TypeSymbol, type Type } from "typescript/unstable/sync";
import { type Repository, type SourceFile } from "./repository.ts";
import { lineAt, nameOf, walk } from "./syntax.ts";

/** Types in these folders describe objects as clusters store them, whether we read every field or not. */
const wireFolders = ["src/api/", "src/kube/protobuf/"];
/** Members without a user that stay for a reason, as "<file> <owner>.<member>". The list may only shrink. */
const listPath = "test/house/unused-members.json";

type Owner = Class | TSInterfaceDeclaration | TSTypeAliasDeclaration;

interface Member {
  readonly file: SourceFile;
  readonly name: string;
  readonly owner: Owner;
  /** Of its name in the file. */
  readonly at: number;
  /** A property of an object type, which may be copied into another type: by spreading, or by name. */
  readonly isData: boolean;
}

/** A place that reads a member: `x.name`. */
interface Read {
  /** Of the name in the file. */
  readonly at: number;
  /** The class whose own member it is, when it is read from `this`. */
  readonly self: Class | undefined;
}

const isClass = (node: Node): node is Class => node.type === "ClassDeclaration" || node.type === "ClassExpression";

/** The type that a property of an object type is part of; undefined for the parameters of functions in it. */
function ownerOfProperty(ancestors: readonly Node[]): Owner | undefined {
  for (const node of ancestors.toReversed()) {
    if (node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration") return node;
    if (
      !/^TS(?:InterfaceBody|TypeLiteral|PropertySignature|TypeAnnotation|UnionType|IntersectionType)$/.test(node.type)
    )
      return undefined;
  }
  return undefined;
}

/** The member that `node` declares, by a name. An override is read through the class that it overrides. */
function declaredBy(node: Node, ancestors: readonly Node[]): Omit<Member, "file"> | undefined {
  if (node.type === "MethodDefinition" || node.type === "PropertyDefinition") {
    const owner = ancestors.findLast(isClass);
    const name = nameOf(node.key, node.computed);
    const isConstructor = node.type === "MethodDefinition" && node.kind === "constructor";
    if (owner === undefined || name === undefined || isConstructor || node.override === true) return undefined;
    return { name, owner, at: node.key.start, isData: false };
  }
  if (node.type !== "TSPropertySignature" && node.type !== "TSMethodSignature") return undefined;
  const owner = ownerOfProperty(ancestors);
  const name = nameOf(node.key, node.computed);
  return owner === undefined || name === undefined
    ? undefined
    : { name, owner, at: node.key.start, isData: node.type === "TSPropertySignature" };
}

function declaredIn(file: SourceFile): Member[] {
  const members: Member[] = [];
  walk(file.syntax.program, (node, ancestors) => {
    const member = declaredBy(node, ancestors);
    if (member !== undefined) members.push({ file, ...member });
  });
  return members;
}

/** The member that `node` reads. An assignment alone reads nothing. */
function readBy(node: Node, ancestors: readonly Node[]): Read | undefined {
  if (node.type !== "MemberExpression" || node.property.type === "PrivateIdentifier") return undefined;
  const parent = ancestors.at(-1);
  const isAssigned = parent?.type === "AssignmentExpression" && parent.left === node && parent.operator === "=";
  if (isAssigned || nameOf(node.property, node.computed) === undefined) return undefined;
  const self = node.object.type === "ThisExpression" ? ancestors.findLast(isClass) : undefined;
  return { at: node.property.start, self };
}

/** Which declarations are read, and by whom. */
class Uses {
  readonly #root: string;
  readonly #project: Project;
  /** Names under which a type of src/ is read. */
  readonly #names = new Set<string>();
  /** Declaration to the classes that read it from `this`, or undefined for any other reader. */
  readonly #readers = new Map<string, Set<Class | undefined>>();

  constructor(root: string, project: Project) {
    this.#root = root;
    this.#project = project;
  }

  /** Notes all that a file reads. */
  add(file: SourceFile): void {
    const reads: Read[] = [];
    let hasPatterns = false;
    walk(file.syntax.program, (node, ancestors) => {
      const read = readBy(node, ancestors);
      if (read !== undefined) reads.push(read);
      if (node.type === "ObjectPattern") hasPatterns = true;
    });
    const symbols = this.#symbols(
      file,
      reads.map(({ at }) => at),
    );
    symbols.forEach((symbol, index) => this.#note(symbol, reads[index]?.self));
    if (hasPatterns) this.#addPatterns(file);
  }

  /** The members that nothing reads by their own type. */
  unread(file: SourceFile, members: readonly Member[]): Member[] {
    const symbols = this.#symbols(
      file,
      members.map(({ at }) => at),
    );
    return members.filter((member, index) => !this.#isRead(symbols[index], member.owner));
  }

  /** Tells whether a member is read through what its class implements or extends. */
  isReadFromAbove({ file, owner, name }: Member): boolean {
    if (!isClass(owner)) return false;
    const above = [owner.superClass, ...(owner.implements ?? []).map(({ expression }) => expression)];
    return above.some((expression) => {
      const property = expression === null ? undefined : this.#propertyOf(file, lastName(expression), name);
      return declarationsOf(property).some(isOfLibrary) || this.#isRead(property, owner);
    });
  }

  /** Tells whether a member is read through another type of src/ with a member of that name. */
  isReadAs(member: Member, others: readonly Member[]): boolean {
    return member.isData ? this.#names.has(member.name) : others.some((other) => this.#isReadAsOther(member, other));
  }

  /** Tells whether a member is read through `other`, whose type its own type fits. */
  #isReadAsOther(member: Member, other: Member): boolean {
    const { checker } = this.#project;
    const [symbol] = this.#symbols(other.file, [other.at]);
    if (other.owner === member.owner || !this.#isRead(symbol, other.owner)) return false;
    const [own, wanted] = [this.#typeOf(member), this.#typeOf(other)];
    return own !== undefined && wanted !== undefined && checker.isTypeAssignableTo(own, wanted);
  }

  /** `const { name } = x`: the pattern's type says whose member it is. */
  #addPatterns(file: SourceFile): void {
    const patterns: ts.ObjectBindingPattern[] = [];
    const collect = (node: ts.Node): void => {
      if (isObjectBindingPattern(node)) patterns.push(node);
      node.forEachChild(collect);
    };
    this.#project.program.getSourceFile(this.#fullPath(file))?.forEachChild(collect);
    const types = this.#project.checker.getTypeAtLocation(patterns);
    for (const [index, pattern] of patterns.entries()) {
      const type = types[index];
      for (const element of pattern.elements) {
        const key = element.propertyName ?? element.name;
        if (type === undefined || key === undefined || !isIdentifier(key)) continue;
        this.#note(this.#project.checker.getPropertyOfType(type, key.text), undefined);
      }
    }
  }

  /** The declared type of the name at an offset. */
  #typeAt(file: SourceFile, at: number): Type | undefined {
    const { checker } = this.#project;
    const [symbol] = this.#symbols(file, [at]);
    if (symbol === undefined) return undefined;
    const isImported = (symbol.flags & SymbolFlags.Alias) !== 0;
    return checker.getDeclaredTypeOfSymbol(isImported ? checker.getAliasedSymbol(symbol) : symbol);
  }

  #typeOf({ file, owner }: Member): Type | undefined {
    return owner.id === null ? undefined : this.#typeAt(file, owner.id.start);
  }

  #propertyOf(file: SourceFile, at: number, name: string): TypeSymbol | undefined {
    const type = this.#typeAt(file, at);
    return type === undefined ? undefined : this.#project.checker.getPropertyOfType(type, name);
  }

  #isRead(symbol: TypeSymbol | undefined, owner: Owner): boolean {
    return declarationsOf(symbol).some((declaration) =>
      Array.from(this.#readers.get(declaration) ?? []).some((reader) => reader !== owner),
    );
  }

  #note(symbol: TypeSymbol | undefined, reader: Class | undefined): void {
    for (const declaration of declarationsOf(symbol)) {
      if (symbol !== undefined && !isOfLibrary(declaration)) this.#names.add(symbol.name);
      const readers = this.#readers.get(declaration) ?? new Set();
      this.#readers.set(declaration, readers.add(reader));
    }
  }

  #symbols(file: SourceFile, positions: readonly number[]): (TypeSymbol | undefined)[] {
    return this.#project.checker.getSymbolAtPosition(this.#fullPath(file), positions);
  }

  #fullPath(file: SourceFile): string {
    return path.join(this.#root, file.path);
  }
}

/** Where the last name of `a.b.C` begins. */
const lastName = (expression: Expression): number =>
  expression.type === "MemberExpression" ? expression.property.start : expression.start;

const declarationsOf = (symbol: TypeSymbol | undefined): string[] =>
  (symbol?.declarations ?? []).map((declaration) => `${declaration.path} ${declaration.index}`);

/** TypeScript's own library is in node_modules, too. */
const isOfLibrary = (declaration: string): boolean => declaration.includes("/node_modules/");

/**
 * All names in the scripts of pages: they have no types, and read the properties of what the program sends them.
 * Programs of Node are .ts and .mjs.
 */
function namesInPageScripts({ files }: Repository): ReadonlySet<string> {
  const scripts = files.filter(({ path: name }) => name.startsWith("assets/") && name.endsWith(".js"));
  return new Set(scripts.flatMap(({ text }) => text.match(/[\w$]+/g) ?? []));
}

function findUnused(repository: Repository, project: Project): Member[] {
  const uses = new Uses(repository.root, project);
  const sources = repository.sourcesIn("src/");
  for (const file of sources) uses.add(file);
  const declared = sources.map((file) => ({ file, members: declaredIn(file) }));
  const byName = Map.groupBy(
    declared.flatMap(({ members }) => members),
    ({ name }) => name,
  );
  const isOnTheWire = ({ owner, file }: Member): boolean =>
    !isClass(owner) && wireFolders.some((folder) => file.path.startsWith(folder));
  const ofPages = namesInPageScripts(repository);
  const isOnAPage = ({ name, isData }: Member): boolean => isData && ofPages.has(name);
  return declared
    .flatMap(({ file, members }) => uses.unread(file, members))
    .filter((member) => !isOnTheWire(member) && !isOnAPage(member) && !uses.isReadFromAbove(member))
    .filter((member) => !uses.isReadAs(member, byName.get(member.name) ?? []));
}

/** Checks the members of all types in src/; returns one line for each that nothing in src/ reads. */
export function checkMembers(repository: Repository): string[] {
  const api = new API({ cwd: repository.root });
  try {
    const project = api
      .updateSnapshot({ openProjects: [path.join(repository.root, "tsconfig.json")] })
      .getProjects()[0];
    if (project === undefined) return ["tsconfig.json: no project"];
    const list = JSON.parse(repository.read(listPath) ?? "{}") as Record<string, string>;
    const listed = new Map(Object.entries(list));
    const problems = findUnused(repository, project).flatMap((member) => {
      const name = `${member.owner.id?.name ?? "class"}.${member.name}`;
      if (listed.delete(`${member.file.path} ${name}`)) return [];
      return [`${member.file.path}:${lineAt(member.file.text, member.at)}: ${name}: nothing in src/ reads it`];
    });
    const used = Array.from(listed.keys(), (name) => `${listPath}: ${name} is used or gone: strike it off`);
    const reasonless = Object.keys(list).filter((name) => list[name]?.trim() === "");
    return [...problems, ...used, ...reasonless.map((name) => `${listPath}: ${name} has no reason`)];
  } finally {
    api.close();
  }
}
