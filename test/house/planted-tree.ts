// A tiny repository in a temporary folder, with the configuration of this one, in which tests plant violations.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
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
import { answer } from "../../src/kube/transport/answer.ts";

export const schema = v.literal(answer());
`,
  "src/main.ts": `import { schema } from "../../src/api/v1alpha1/decode.ts";

process.stdout.write(schema.type);
`,
  "scripts/build.ts": "process.exitCode = 0;\n",
  "test/unit/util/answer.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../../src/kube/transport/answer.ts";

test("the answer is 42", () => {
  assert.equal(answer(), 42);
});
`,
  "test/unit/api/decode.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { schema } from "../../src/api/v1alpha1/decode.ts";

test("the schema wants a literal", () => {
  assert.equal(schema.type, "literal");
});
`,
  "test/unit/tested-through.json": `{ "main.ts": "run as a process" }\n`,
  "scripts/check/budgets.json": JSON.stringify({
    ...Object.fromEntries(
      ["docs", "scripts", "src", "src/api", "src/util"].map((name) => [name, { lines: 9, files: 1 }]),
    ),
    "test/unit": { lines: 99, files: 9 },
    ...Object.fromEntries(["flags", "metrics", "commands", "kinds"].map((name) => [name, { number: 0 }])),
  }),
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

type Check = (repository: Repository) => string[];

/**
 * A test for each planted violation, named `title` and what it is: the gate finds it, and nothing else. `beside`: files
 * that all of them need.
 */
export function refuses(
  check: Check,
  title: string,
  violations: readonly (readonly [what: string, planted: Planted, says: string | RegExp])[],
  beside: Planted = {},
): void {
  for (const [what, planted, says] of violations) {
    test(`${title} ${what}`, () => {
      const [problem = "", ...others] = problemsOf(check, { ...beside, ...planted });
      assert.deepEqual(others, []);
      if (typeof says === "string") assert.equal(problem, says);
      else assert.match(problem, says);
    });
  }
}

/** A test for each planted tree in which the gate finds nothing. */
export function allows(
  check: Check,
  title: string,
  fine: readonly (readonly [what: string, planted: Planted])[],
  beside: Planted = {},
): void {
  for (const [what, planted] of fine) {
    test(`${title} ${what}`, () => {
      assert.deepEqual(problemsOf(check, { ...beside, ...planted }), []);
    });
  }
}

/** What a gate finds in the sound files with `planted` over them. */
export function problemsOf(check: Check, planted: Planted): string[] {
  return withPlantedTree(planted, (root) => check(new Repository(root)));
}
