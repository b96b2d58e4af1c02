import assert from "node:assert/strict";
import { test } from "node:test";
import { checkFiles } from "../../scripts/check/files.ts";
import { problemsOf, type Planted } from "./planted-tree.ts";

const unfinished = ["TO", "DO"].join("");
const lines = (count: number): string => "// a line\n".repeat(count);

const violations: readonly (readonly [what: string, planted: Planted, says: RegExp])[] = [
  ["a file over 400 lines", { "test/unit/util/long.ts": lines(401) }, /^test\/unit\/util\/long\.ts: 401 lines/],
  ["a mark of unfinished work", { "docs/plan.md": `# Plan\n\n${unfinished}: all\n` }, /^docs\/plan\.md:3: .*finish it/],
  ["a file called utils", { "test/kube/utils.ts": "" }, /name the file after its one idea/],
  ["a file called something-helpers", { "test/kube/list-helpers.ts": "" }, /name the file after its one idea/],
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
];

for (const [what, planted, says] of violations) {
  test(`a file is refused for: ${what}`, () => {
    const problems = problemsOf(checkFiles, planted);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", says);
  });
}

const fine: readonly (readonly [what: string, planted: Planted])[] = [
  ["a file of exactly 400 lines", { "test/unit/util/long.ts": lines(400) }],
];

for (const [what, planted] of fine) {
  test(`the rules for files allow ${what}`, () => {
    assert.deepEqual(problemsOf(checkFiles, planted), []);
  });
}
