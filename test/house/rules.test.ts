import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRules } from "../../scripts/check-rules.ts";
import { withPlantedTree } from "./planted-tree.ts";

const problemsOf = (planted: Readonly<Record<string, string>>): string[] => withPlantedTree(planted, checkRules);

const manifest = (version: string): string => `{ "dependencies": { "valibot": "${version}" } }`;
const unfinished = ["TO", "DO"].join("");
const lines = (count: number): string => "// a line\n".repeat(count);

const violations: readonly (readonly [what: string, planted: Readonly<Record<string, string>>, says: RegExp])[] = [
  [
    "Date.now",
    { "src/accounting/index.ts": "\nDate.now();" },
    /^src\/accounting\/index\.ts:2: Date\.now: take a Clock/,
  ],
  ["the present as a Date", { "src/accounting/index.ts": "new Date( );" }, /new Date\( \): take a Clock/],
  ["performance.now", { "src/accounting/index.ts": "performance.now();" }, /performance\.now: take a Clock/],
  ["setTimeout", { "src/accounting/index.ts": "setTimeout(() => {}, 1);" }, /setTimeout: take a Clock/],
  ["setInterval", { "src/accounting/index.ts": "setInterval(() => {}, 1);" }, /setInterval: take a Clock/],
  [
    "AbortSignal.timeout",
    { "src/accounting/index.ts": "AbortSignal.timeout(1);" },
    /AbortSignal\.timeout: take a Clock/,
  ],
  ["Math.random", { "src/accounting/index.ts": "Math.random();" }, /Math\.random: take an Rng/],
  ["process.env", { "src/kube/index.ts": "process.env.HOME;" }, /process\.env: read configuration in src\/config/],
  ["process.exit", { "src/kube/index.ts": "process.exit(1);" }, /process\.exit: return or throw/],
  [
    "a variable of a module",
    { "src/accounting/index.ts": "export let count = 0;" },
    /export let: no state in a module/,
  ],
  ["console", { "src/main.ts": "console.log(1);" }, /console\.log: take a Logger/],
  ["a banned API inside a template", { "src/accounting/index.ts": "`${Date.now()}`;" }, /Date\.now/],
  ["a file over 400 lines", { "test/unit/util/long.ts": lines(401) }, /^test\/unit\/util\/long\.ts: 401 lines/],
  [
    "a reason for length that stands too far down",
    { "test/unit/util/long.ts": `${lines(30)}// length: one table\n${lines(400)}` },
    /431 lines/,
  ],
  ["a mark of unfinished work", { "docs/plan.md": `# Plan\n\n${unfinished}: all\n` }, /^docs\/plan\.md:3: .*finish it/],
  ["a test that runs alone", { "test/unit/a.test.ts": `test.only("a", () => {});` }, /test\.only: run it/],
  ["a test that is left out", { "test/unit/a.test.ts": `describe.skip("a", () => {});` }, /describe\.skip: run it/],
  [
    "a test that is left out by an option",
    { "test/unit/a.test.ts": `test("a", { skip: true }, () => {});` },
    /skip: true/,
  ],
  ["a file called utils", { "test/kube/utils.ts": "" }, /name the file after its one idea/],
  ["a file called something-helpers", { "test/kube/list-helpers.ts": "" }, /name the file after its one idea/],
  ["a version range", { "package.json": manifest("^1.5.0") }, /valibot "\^1\.5\.0" is not an exact version/],
  ["a version by tag", { "package.json": manifest("latest") }, /valibot "latest" is not an exact version/],
  [
    "a lock file that names a server",
    { "package-lock.json": `{\n  "resolved": "https://example.test/valibot.tgz"\n}\n` },
    /package-lock\.json: carries "resolved"/,
  ],
  ["a package without a reason", { "docs/dependencies.md": "" }, /docs\/dependencies\.md: no reason for valibot/],
  [
    "a reason for a package that is gone",
    { "docs/dependencies.md": "| `valibot` | a | b |\n| `left` | a | b |\n" },
    /docs\/dependencies\.md: left is no dependency/,
  ],
  [
    "a registry host",
    { Dockerfile: `FROM ${["registry", "example", "com"].join(".")}/node\n` },
    /^Dockerfile:1: .*no registry host/,
  ],
  [
    "somebody's home folder",
    { Makefile: `all:\n\tcp a ${["", "home", "me"].join("/")}/bin\n` },
    /^Makefile:2: .*a path of one machine/,
  ],
  ["the path of this checkout", { "docs/a.md": "see <root>/src\n" }, /is a path of this machine/],
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
  test(`the rules refuse ${what}`, () => {
    const problems = problemsOf(planted);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", says);
  });
}

const fine: readonly (readonly [what: string, planted: Readonly<Record<string, string>>])[] = [
  [
    "a banned API in its home",
    {
      "src/util/system-clock.ts": "export const now = (): number => Date.now();",
      "test/unit/util/system-clock.test.ts": "",
    },
  ],
  [
    "a banned API in a comment, a string or a regular expression",
    { "src/accounting/index.ts": "// Date.now()\n'Date.now()';\n/Date.now/;" },
  ],
  ["a variable of a function", { "src/accounting/index.ts": "{\n  let count = 0;\n}" }],
  ["a Date of a given moment", { "src/accounting/index.ts": "new Date(0);" }],
  ["timers and console in a test", { "test/unit/a.test.ts": "setTimeout(() => console.log(1), 1);" }],
  ["a long file with a reason in its header", { "test/unit/util/long.ts": `// length: one table\n${lines(500)}` }],
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
  test(`the rules allow ${what}`, () => {
    assert.deepEqual(problemsOf(planted), []);
  });
}
