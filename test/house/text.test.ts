import assert from "node:assert/strict";
import { test } from "node:test";
import { blankNonCode, findImports, lineAt } from "../../scripts/check-text.ts";

const blanked: readonly (readonly [what: string, text: string, code: string])[] = [
  ["a line comment", "a; // b\nc", "a;     \nc"],
  ["a block comment over lines", "a /* b\nc */ d", "a     \n     d"],
  ["a string", `a("b\\"c")`, `a("    ")`],
  ["a quote inside a comment", "// it's\na", "       \na"],
  ["a comment inside a string", `"// a"; b`, `"    "; b`],
  ["a template with code in it", "`a ${b(`c ${d}`)} e`;f", "`  ${b(`  ${d}`)}  `;f"],
  ["braces inside a template's code", "`${{ a: '}' }.a} b`;c", "`${{ a: ' ' }.a}  `;c"],
  ["an escaped template", "`\\${a} \\` $b`;c", "`           `;c"],
  ["a regular expression with quotes", `x.match(/["'/]/g); "a"`, `x.match(/      g); " "`],
  ["a division", "a / b / c", "a / b / c"],
  ["a division after a call", "f(a) / 2 + g(b) / 3", "f(a) / 2 + g(b) / 3"],
];

for (const [what, text, code] of blanked) {
  test(`the lexer understands ${what}`, () => {
    assert.equal(blankNonCode(text), code);
  });
}

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
`;
  assert.deepEqual(
    findImports(text).map(({ specifier, line }) => `${line} ${specifier}`),
    [
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
    ],
  );
});

test("what only looks like an import is not one", () => {
  const text = `// import "a";
const text = 'import "b"';
const c = Array.from("c");
const d = \`from "d"\`;
const e = { import: "e" };
`;
  assert.deepEqual(findImports(text), []);
});

test("the line of an offset counts from 1", () => {
  assert.equal(lineAt("a\nb\nc", 0), 1);
  assert.equal(lineAt("a\nb\nc", 4), 3);
});
