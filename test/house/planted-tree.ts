// A tiny repository in a temporary folder, with the configuration of this one, in which tests plant violations.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Repository } from "../../scripts/check/repository.ts";

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
  "test/house/without-own-test.json": `{ "src/main.ts": "run as a process" }\n`,
};

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

/** What a gate finds in the sound files with `planted` over them. */
export function problemsOf(check: (repository: Repository) => string[], planted: Planted): string[] {
  return withPlantedTree(planted, (root) => check(new Repository(root)));
}
