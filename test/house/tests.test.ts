import assert from "node:assert/strict";
import { test } from "node:test";
import { checkTests } from "../../scripts/check/tests.ts";
import { problemsOf, type Planted } from "./planted-tree.ts";

const violations: readonly (readonly [what: string, planted: Planted, says: RegExp])[] = [
  ["a test that runs alone", { "test/unit/a.test.ts": `test.only("a", () => {});` }, /test\.only: run it/],
  ["a test that is left out", { "test/unit/a.test.ts": `describe.skip("a", () => {});` }, /describe\.skip: run it/],
  [
    "a test that is left out by an option",
    { "test/unit/a.test.ts": `test("a", { skip: true }, () => {});` },
    /skip: true/,
  ],
  [
    "a source without a test",
    { "src/util/new.ts": "export function f(): void {}" },
    /new\.ts: no test\/unit\/util\/new\.test\.ts/,
  ],
  [
    "a statement without a test",
    { "src/util/new.ts": `process.stdout.write("");` },
    /no test\/unit\/util\/new\.test\.ts/,
  ],
  [
    "an arrow function without a test",
    { "src/util/new.ts": "export const f = (): void => {};" },
    /no test\/unit\/util\/new/,
  ],
  [
    "a listed source that has a test",
    { "test/house/without-own-test.json": `{ "src/main.ts": "a process", "src/util/answer.ts": "none" }` },
    /src\/util\/answer\.ts has a test now: strike it off/,
  ],
  [
    "a listed source that is gone",
    { "test/house/without-own-test.json": `{ "src/main.ts": "a process", "src/gone.ts": "none" }` },
    /src\/gone\.ts is gone: strike it off/,
  ],
  [
    "a list without a reason",
    { "test/house/without-own-test.json": `{ "src/main.ts": " " }` },
    /src\/main\.ts has no reason/,
  ],
];

for (const [what, planted, says] of violations) {
  test(`the rules for tests refuse ${what}`, () => {
    const problems = problemsOf(checkTests, planted);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", says);
  });
}

const fine: readonly (readonly [what: string, planted: Planted])[] = [
  [
    "a test that says when it cannot run",
    { "test/unit/a.test.ts": `test("a", { skip: hasTool ? false : "no tool" }, () => {});` },
  ],
  [
    "types and constants without a test",
    {
      "src/util/names.ts": `export type F = () => void;\nexport const name = "a";\nexport const all = [\n  name,\n];\n`,
    },
  ],
  ["a folder's index", { "src/util/index.ts": "export const f = (): void => {};" }],
  [
    "a test with a topic in its name",
    { "src/util/new.ts": "export function f(): void {}", "test/unit/util/new.limits.test.ts": "" },
  ],
];

for (const [what, planted] of fine) {
  test(`the rules for tests allow ${what}`, () => {
    assert.deepEqual(problemsOf(checkTests, planted), []);
  });
}
