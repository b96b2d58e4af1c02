import assert from "node:assert/strict";
import { test } from "node:test";
import { Repository } from "../../scripts/check/repository.ts";
import { lineAt, parse } from "../../scripts/check/syntax.ts";
import { repositoryRoot } from "./planted-tree.ts";

const importsOf = (text: string): string[] =>
  parse("a.ts", text).imports.map(({ specifier, line }) => `${line} ${specifier ?? "computed"}`);

test("every form of import is found, with its line", () => {
  const text = `import a from "./a.ts";
import type { B } from './b.ts';
import { c,
  type D } from "./c.ts";
import "./e.ts";
export * from "./f.ts";
export { g } from "./g.ts";
const h = await import("./h.ts");
type I = import("./i.ts").I;
const j = require("./j.ts");
const k = import(\`./k.ts\`);
type L = typeof import("./l.ts");
const m = import(text);
const n = \`\${await import("./n.ts")}\`;
`;
  assert.deepEqual(importsOf(text), [
    "1 ./a.ts",
    "2 ./b.ts",
    "4 ./c.ts",
    "5 ./e.ts",
    "6 ./f.ts",
    "7 ./g.ts",
    "8 ./h.ts",
    "9 ./i.ts",
    "10 ./j.ts",
    "11 ./k.ts",
    "12 ./l.ts",
    "13 computed",
    "14 ./n.ts",
  ]);
});

test("what only looks like an import is not one", () => {
  const text = `// import "a";
const text = 'import "b"';
const c = Array.from("c");
const d = \`from "d"\`;
const e = { import: "e" };
const f = /import "f"/;
const g = a / import.meta.dirname / b;
`;
  assert.deepEqual(importsOf(text), []);
});

test("no import of this repository escapes the parser", () => {
  const { sources } = new Repository(repositoryRoot);
  for (const { path: file, text, syntax } of sources.filter(({ path: name }) => name.startsWith("src/"))) {
    const expected = Array.from(text.matchAll(/^(?:import|export|\}).* from "([^"]+)";$/gm), (match) => match[1] ?? "");
    const found = new Set(syntax.imports.map(({ specifier }) => specifier));
    assert.deepEqual(
      expected.filter((specifier) => !found.has(specifier)),
      [],
      file,
    );
  }
  assert.ok(sources.length > 0);
});

test("a file that cannot be parsed is named, with the line", () => {
  assert.throws(() => parse("src/a.ts", "const a = 1;\nconst b = ;\n"), /^Error: src\/a\.ts:2: /);
});

test("the line of an offset counts from 1", () => {
  assert.equal(lineAt("a\nb\nc", 0), 1);
  assert.equal(lineAt("a\nb\nc", 4), 3);
});
