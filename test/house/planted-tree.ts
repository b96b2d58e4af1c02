// A tiny repository in a temporary folder, with the configuration of this one, in which tests plant violations.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

export const repositoryRoot = path.join(import.meta.dirname, "..", "..");

/** Files by path. */
export type Planted = Readonly<Record<string, string>>;

/** Small, and free of violations: what a test plants on top is the only thing that can be wrong. */
const soundFiles: Planted = {
  "package.json": `{
  "name": "planted",
  "type": "module",
  "dependencies": {
    "valibot": "1.5.0"
  }
}
`,
  "package-lock.json": `{ "lockfileVersion": 3, "packages": {} }\n`,
  "docs/dependencies.md": "| package | home | why |\n| --- | --- | --- |\n| `valibot` | `src/api` | decodes |\n",
  "src/util/answer.ts": `export function answer(): number {\n  return 42;\n}\n`,
  "src/api/decode.ts": `import * as v from "valibot";
import { answer } from "../util/answer.ts";

export const schema = v.literal(answer());
`,
  "src/main.ts": `import { schema } from "./api/decode.ts";

process.stdout.write(schema.type);
`,
  "scripts/build.ts": "process.exitCode = 0;\n",
  "test/unit/util/answer.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../../../src/util/answer.ts";

test("the answer is 42", () => {
  assert.equal(answer(), 42);
});
`,
  "test/unit/api/decode.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { schema } from "../../../src/api/decode.ts";

test("the schema wants a literal", () => {
  assert.equal(schema.type, "literal");
});
`,
  "test/unit/tested-through.json": `{ "main.ts": "run as a process" }\n`,
  "scripts/check/budgets.json": `${JSON.stringify(soundBudgets(), undefined, 2)}\n`,
};

function soundBudgets(): object {
  const folders = ["docs", "scripts", "src", "src/api", "src/util"].map((name) => [name, { lines: 9, files: 1 }]);
  const counts = ["flags", "metrics", "commands", "kinds"].map((name) => [name, { number: 0 }]);
  return Object.fromEntries([...folders, ["test/unit", { lines: 99, files: 9 }], ...counts]) as object;
}

/**
 * Writes the sound files, then `planted` over them, with the configuration of this repository, and calls `use` with the
 * folder. `<root>` in a text becomes the folder's path. The folder is deleted afterwards.
 */
export function withPlantedTree<Result>(planted: Planted, use: (root: string) => Result): Result {
  const root = mkdtempSync(path.join(os.tmpdir(), "podseidon-house-"));
  try {
    for (const file of ["tsconfig.json", ".oxlintrc.json", ".oxfmtrc.json", "knip.json"]) {
      cpSync(path.join(repositoryRoot, file), path.join(root, file));
    }
    symlinkSync(path.join(repositoryRoot, "node_modules"), path.join(root, "node_modules"));
    for (const [file, text] of Object.entries({ ...soundFiles, ...planted })) {
      mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(root, file), text.replaceAll("<root>", root));
    }
    return use(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** A tree that is planted over the sound files, and what is wrong with it. */
interface Case {
  readonly what: string;
  readonly files: Record<string, string>;
  readonly problems: string[];
}

/**
 * The cases of planted/<gate>.txt. `== what` begins a case; a path, a file; `| `, a line of it; `> `, a problem that
 * the gate finds, and nothing but these. Files before the first case are in all of them. `|*3 text` are three lines,
 * `{x*3}` is xxx, and `{1..3}` in a path are three files. `¦` is nothing: it keeps the gates from finding the text in
 * the table.
 */
export function readCases(gate: string): readonly Case[] {
  const cases: Case[] = [{ what: "", files: {}, problems: [] }];
  let open: string[] = [];
  for (const line of readFileSync(new URL(`planted/${gate}.txt`, import.meta.url), "utf8").split("\n")) {
    const text = line
      .replaceAll("¦", "")
      .replaceAll(/\{([^{}*]+)\*(\d+)\}/g, (_, part: string, count) => part.repeat(count));
    const { files, problems } = cases.at(-1)!;
    const [, mark = "", times = "1", rest = ""] = /^(==|>|\|)(?:\*(\d+))?(?: (.*))?$/.exec(text) ?? [];
    if (mark === "==") cases.push({ what: rest, files: { ...cases[0]!.files }, problems: [] });
    else if (mark === ">") problems.push(rest);
    else if (mark === "|") for (const name of open) files[name] += `${rest}\n`.repeat(Number(times));
    else if (text !== "") {
      open = filesOf(text);
      for (const name of open) files[name] = "";
    }
  }
  return cases.slice(1);
}

function filesOf(text: string): string[] {
  const [, before, last, after] = /^(.*)\{1\.\.(\d+)\}(.*)$/.exec(text) ?? [];
  if (last === undefined) return [text];
  return Array.from({ length: Number(last) }, (_, index) => `${before}${index + 1}${after}`);
}
