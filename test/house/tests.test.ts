import { checkTests } from "../../scripts/check/tests.ts";
import { allows, refuses } from "./planted-tree.ts";

const newSource = { "src/util/new.ts": "export type F = () => void;\nexport function f(): void {}\n" };

refuses(checkTests, "the rules for tests refuse", [
  ["a test that runs alone", { "test/unit/a.test.ts": `test.only("a", () => {});` }, /test\.only: run it/],
  ["a test that is left out", { "test/unit/a.test.ts": `describe.skip("a", () => {});` }, /describe\.skip: run it/],
  [
    "a test that is left out by an option",
    { "test/unit/a.test.ts": `test("a", { skip: true }, () => {});` },
    /skip: true/,
  ],
  [
    "a source that no test imports",
    { "src/util/new.ts": "export function f(): void {}" },
    "src/util/new.ts: no test below test/unit/util/ imports it, and test/unit/util/tested-through.json says nothing",
  ],
  [
    "a statement that no test imports",
    { "src/util/new.ts": `process.stdout.write("");` },
    /^src\/util\/new\.ts: no test/,
  ],
  [
    "an arrow function that no test imports",
    { "src/util/new.ts": "export const f = (): void => {};" },
    /^src\/util\/new\.ts: no test/,
  ],
  [
    "a source that only a test of another folder imports",
    { ...newSource, "test/unit/api/new.test.ts": `import { f } from "../../../src/util/new.ts";\nf();` },
    /no test below test\/unit\/util\/ imports it/,
  ],
  [
    "a source of which a test takes only a type",
    { ...newSource, "test/unit/util/new.test.ts": `import { type F } from "../../../src/util/new.ts";` },
    /no test below test\/unit\/util\/ imports it/,
  ],
  [
    "a source beside the one that a test takes from the same index",
    {
      ...newSource,
      "src/util/index.ts": `export { f } from "./new.ts";\nexport { answer } from "../../src/kube/transport/answer.ts";`,
      "test/unit/util/new.test.ts": `import { answer } from "../../../src/util/index.ts";\nanswer();`,
    },
    /no test below test\/unit\/util\/ imports it/,
  ],
  [
    "a word about a source that no test reaches",
    { ...newSource, "test/unit/util/tested-through.json": `{ "new.ts": "by the whole" }` },
    "src/util/new.ts: no test reaches it, whatever test/unit/util/tested-through.json says",
  ],
  [
    "a word about a source that a test imports",
    { "test/unit/util/tested-through.json": `{ "answer.ts": "by the whole" }` },
    "test/unit/util/tested-through.json: answer.ts needs no word (any more): strike it off",
  ],
  [
    "a word about a source that is gone",
    { "test/unit/util/tested-through.json": `{ "gone.ts": "by the whole" }` },
    "test/unit/util/tested-through.json: gone.ts needs no word (any more): strike it off",
  ],
  [
    "a word without a reason",
    { "test/unit/tested-through.json": `{ "main.ts": " " }` },
    "test/unit/tested-through.json: main.ts has no reason",
  ],
]);

allows(checkTests, "the rules for tests allow", [
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
    "a test of any name, anywhere in the folder of its source",
    { ...newSource, "test/unit/util/room/b.test.ts": `import { f } from "../../../../src/util/new.ts";\nf();` },
  ],
  [
    "a source that a test takes from an index",
    {
      ...newSource,
      "src/util/index.ts": `export { f as g } from "./new.ts";`,
      "test/unit/util/new.test.ts": `import { g } from "../../../src/util/index.ts";\ng();`,
    },
  ],
  [
    "a source that a test reaches, with a word about the folder that it is in",
    {
      "src/util/room/new.ts": "export function f(): void {}\n",
      "src/util/answer.ts": `import { f } from "./room/new.ts";\nexport function answer(): void {\n  f();\n}\n`,
      "test/unit/util/tested-through.json": `{ "room": "by the answer" }`,
    },
  ],
]);
