// Each gate of `make check`, run as `make check` runs it, passes on a sound tree and fails on a planted violation.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { repositoryRoot, withPlantedTree, type Planted } from "./planted-tree.ts";

/** A gate takes a second or two on a tiny tree. */
const gateTimeoutMs = 60_000;

function runGates(planted: Planted, ...gates: string[]): { status: number | null; output: string } {
  return withPlantedTree(planted, (root) => {
    const script = path.join(repositoryRoot, "scripts/check.ts");
    const result = spawnSync(process.execPath, [script, `--root=${root}`, ...gates], {
      encoding: "utf8",
      timeout: gateTimeoutMs,
    });
    return { status: result.status, output: result.stdout + result.stderr };
  });
}

interface Violation {
  readonly what: string;
  readonly gate: string;
  readonly planted: Planted;
  readonly says: RegExp;
}

const violations: readonly Violation[] = [
  {
    what: "a value of the wrong type",
    gate: "types",
    planted: { "src/util/answer.ts": `export function answer(): number {\n  return "42";\n}\n` },
    says: /answer\.ts.*TS2322/,
  },
  {
    what: "syntax that cannot be erased",
    gate: "types",
    planted: { "src/util/color.ts": `export enum Color {\n  red,\n}\n` },
    says: /color\.ts.*TS1294/,
  },
  {
    what: "a floating promise",
    gate: "lint",
    planted: { "src/main.ts": `async function run(): Promise<void> {}\nrun();\n` },
    says: /no-floating-promises/,
  },
  {
    what: "an async function where none is awaited",
    gate: "lint",
    planted: { "src/main.ts": `if ([1].some(async () => true)) process.exitCode = 1;\n` },
    says: /no-misused-promises/,
  },
  {
    what: "a switch that forgets a case",
    gate: "lint",
    planted: {
      "src/util/name.ts": `export function name(kind: "a" | "b"): string {
  switch (kind) {
    case "a":
      return "A";
  }
  return "";
}
`,
    },
    says: /switch-exhaustiveness-check/,
  },
  {
    what: "an explicit any",
    gate: "lint",
    planted: { "src/util/any.ts": `export const anything: any = 1;\n` },
    says: /no-explicit-any/,
  },
  {
    what: "a thrown string",
    gate: "lint",
    planted: { "src/util/fail.ts": `export function fail(): never {\n  throw "no";\n}\n` },
    says: /only-throw-error/,
  },
  {
    what: "a type imported as a value",
    gate: "lint",
    planted: {
      "src/util/kind.ts": `export interface Kind {\n  a: 1;\n}\n`,
      "src/util/use.ts": `import { Kind } from "./kind.ts";\nexport const kind: Kind = { a: 1 };\n`,
    },
    says: /consistent-type-imports/,
  },
  {
    what: "a cycle of imports",
    gate: "lint",
    planted: {
      "src/util/hen.ts": `import { egg } from "./egg.ts";\nexport const hen = (): unknown => egg;\n`,
      "src/util/egg.ts": `import { hen } from "./hen.ts";\nexport const egg = (): unknown => hen;\n`,
    },
    says: /no-cycle/,
  },
  {
    what: "a function that is too long",
    gate: "lint",
    planted: {
      "src/util/long.ts": `export function long(): number {
  let sum = 0;
${"  sum += 1;\n".repeat(70)}  return sum;
}
`,
    },
    says: /max-lines-per-function/,
  },
  {
    what: "a line that is not formatted",
    gate: "format",
    planted: { "src/util/answer.ts": `export function answer( ) { return 42 }\n` },
    says: /src\/util\/answer\.ts/,
  },
  {
    what: "an upward import",
    gate: "imports",
    planted: { "src/util/answer.ts": `export { schema as answer } from "../../src/api/v1alpha1/decode.ts";\n` },
    says: /util imports api, which is above it/,
  },
  {
    what: "an export that nothing uses",
    gate: "dead-code",
    planted: { "src/util/answer.ts": `export const answer = (): number => 42;\nexport const question = 6;\n` },
    says: /question/,
  },
  {
    what: "a file that nothing uses",
    gate: "dead-code",
    planted: { "src/util/forgotten.ts": `export const forgotten = 1;\n` },
    says: /src\/util\/forgotten\.ts/,
  },
  {
    what: "a package that nothing uses",
    gate: "dead-code",
    planted: { "package.json": `{ "type": "module", "dependencies": { "valibot": "1.5.0", "undici": "8.12.4" } }\n` },
    says: /undici/,
  },
  {
    what: "a circle of types",
    gate: "circles",
    planted: {
      "src/util/hen.ts": `import { type Egg } from "./egg.ts";\nexport type Hen = Egg[];\n`,
      "src/util/egg.ts": `import { type Hen } from "./hen.ts";\nexport type Egg = Hen[];\n`,
    },
    says: /egg\.ts > src\/util\/hen\.ts > src\/util\/egg\.ts/,
  },
  {
    what: "a member that nothing uses",
    gate: "members",
    planted: { "src/util/box.ts": "export class Box {\n  lid = 1;\n}\n" },
    says: /box\.ts:2: Box\.lid/,
  },
  {
    what: "a line that is too long",
    gate: "width",
    planted: { "README.md": `${"long ".repeat(30)}\n` },
    says: /README\.md:1: 150 columns/,
  },
  {
    what: "a section that does not exist",
    gate: "references",
    planted: { "src/main.ts": "// docs/dependencies.md#why\n" },
    says: /main\.ts:1: docs\/dependencies\.md has no section #why/,
  },
  {
    what: "a second clock",
    gate: "apis",
    planted: { "src/main.ts": "process.exitCode = Date.now();\n" },
    says: /main\.ts:1: Date\.now/,
  },
  {
    what: "a test that is switched off",
    gate: "tests",
    planted: { "test/unit/util/answer.test.ts": `import { test } from "node:test";\ntest.skip("later", () => {});\n` },
    says: /test\.skip/,
  },
  {
    what: "a file that is named after nothing",
    gate: "files",
    planted: { "test/unit/util/helpers.ts": "" },
    says: /helpers\.ts: name the file/,
  },
  {
    what: "a folder that is too full",
    gate: "folders",
    planted: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`test/unit/util/${index}.ts`, ""])),
    says: /test\/unit\/util: 18 sources/,
  },
  {
    what: "a folder that has grown",
    gate: "budgets",
    planted: { "src/util/question.ts": "" },
    says: /src\/util: 2 files \(at most 1\)/,
  },
  {
    what: "a version range",
    gate: "packages",
    planted: { "package.json": `{ "dependencies": { "valibot": "^1.5.0" } }\n` },
    says: /is not an exact version/,
  },
  {
    what: "a source that cannot be parsed",
    gate: "imports",
    planted: { "src/main.ts": "const a = ;\n" },
    says: /src\/main\.ts:1: /,
  },
];

test("all gates pass on a sound tree", () => {
  const { status, output } = runGates({});
  assert.equal(status, 0, output);
  assert.match(output, /check: all gates passed/);
});

for (const { what, gate, planted, says } of violations) {
  test(`the gate "${gate}" fails on ${what}`, () => {
    const { status, output } = runGates(planted, gate);
    assert.match(output, says);
    assert.match(output, new RegExp(`check: FAILED: ${gate}`));
    assert.equal(status, 1);
  });
}

test("a gate that does not exist is refused by name", () => {
  const { status, output } = runGates({}, "typos");
  assert.match(output, /no such gate: typos; gates: types, lint/);
  assert.equal(status, 2);
});
