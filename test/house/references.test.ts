import { checkReferences } from "../../scripts/check/references.ts";
import { allows, type Planted, refuses } from "./planted-tree.ts";

const page = "# A page\n\n## Own *words*, and `code()`\n\n### Twice\n\n### Twice\n\n```\n## in code\n```\n";
const pages: Planted = { "docs/page.md": page, "test/sim/scenarios/07-one.txt": "" };
/** Spelt so that the gate does not find them in this file. */
const design = ["design", "2.3"].join(" ");

refuses(
  checkReferences,
  "the rules for references refuse",
  [
    [
      "a page that does not exist, in a comment",
      { "src/main.ts": "\n// See docs/gone.md.\n" },
      "src/main.ts:2: docs/gone.md does not exist",
    ],
    [
      "a page that does not exist, in a string",
      { "src/main.ts": `const hint = "docs/gone.md";\n` },
      "src/main.ts:1: docs/gone.md does not exist",
    ],
    [
      "a page that does not exist, in a template",
      { "src/main.ts": "const hint = `${1} docs/gone.md`;\n" },
      "src/main.ts:1: docs/gone.md does not exist",
    ],
    [
      "a section that does not exist",
      { "src/main.ts": "/**\n * Why: docs/page.md#other-words.\n */\n" },
      "src/main.ts:2: docs/page.md has no section #other-words",
    ],
    [
      "a heading that is only in a code block",
      { "src/main.ts": "// docs/page.md#in-code\n" },
      "src/main.ts:1: docs/page.md has no section #in-code",
    ],
    [
      "a third heading of a name that is there twice",
      { "src/main.ts": "// docs/page.md#twice-2\n" },
      "src/main.ts:1: docs/page.md has no section #twice-2",
    ],
    [
      "a scenario that does not exist",
      { "test/unit/a.test.ts": "// test/sim/scenarios/08-two.txt\n" },
      "test/unit/a.test.ts:1: test/sim/scenarios/08-two.txt does not exist",
    ],
    [
      "a source that does not exist",
      { "manifests/base/a.yaml": "# as in src/util/question.ts\n" },
      "manifests/base/a.yaml:1: src/util/question.ts does not exist",
    ],
    [
      "a source that does not exist, among those that do",
      { "src/main.ts": "// src/{util/answer,api/encode}.ts\n// src/api/*.mjs\n" },
      "src/main.ts:2: src/api/*.mjs does not exist",
    ],
    ["a folder that does not exist", { Makefile: "# test/unit/gone/\n" }, "Makefile:1: test/unit/gone/ does not exist"],
    [
      "the name of a file that does not exist",
      { "src/main.ts": "// decode.ts asks api/question.ts.\n" },
      "src/main.ts:1: no file is called api/question.ts",
    ],
    [
      "a link of a page to a page that does not exist",
      { "docs/a.md": "[a](gone.svg)\n" },
      "docs/a.md:1: docs/gone.svg does not exist",
    ],
    [
      "a link of a page to a section that does not exist",
      { "docs/a.md": "[a](page.md#gone)\n" },
      "docs/a.md:1: docs/page.md has no section #gone",
    ],
    [
      "a link of a page to a section of its own that does not exist",
      { "docs/a.md": "# A\n\n[a](#b)\n" },
      "docs/a.md:3: docs/a.md has no section #b",
    ],
    [
      "a document of elsewhere",
      { "docs/a.md": `As in ${design}.\n` },
      `docs/a.md:1: "${design}" is not in the repository`,
    ],
    [
      "a document of elsewhere, between two lines of a comment",
      { "src/main.ts": `// As in ${design.replace(" ", "\n// ")}.\n` },
      `src/main.ts:1: "${design}" is not in the repository`,
    ],
    [
      "a scenario by its number",
      { "test/unit/a.test.ts": `// as in ${["scenario", "23"].join(" ")}\n` },
      `test/unit/a.test.ts:1: "${["scenario", "23"].join(" ")}" is not in the repository`,
    ],
  ],
  pages,
);

allows(
  checkReferences,
  "the rules for references allow",
  [
    [
      "pages, sections, scenarios, sources, folders and patterns that exist",
      {
        "src/main.ts": `// docs/page.md, docs/page.md#own-words-and-code. docs/page.md#twice-1;
// test/sim/scenarios/07-one.txt
// src/util/answer.ts (src/util/*.ts, src/{util,api}/*.ts), test/unit/, test/unit/<folder>/<name>.test.ts
// answer.ts and api/decode.ts
export const hint = "see docs/page.md#twice";
`,
      },
    ],
    [
      "links to what exists, and to other places",
      {
        "docs/a/b.md": "# B\n\n[p](../page.md#twice) [b](#b) [s](../../src/main.ts) [h](https://example.test/a.md)\n",
      },
    ],
    [
      "paths of other places",
      { "src/main.ts": "// k8s.io/api/test/gone.go, /usr/src/gone, ../src/gone.ts, $ROOT/docs/a\n" },
    ],
    ["paths that are data of a test", { "test/unit/a.test.ts": `const text = "src/gone.ts";\n` }],
    [
      "words that only look like a citation",
      { "docs/a.md": "# A\n\nBy design, 2 scenarios; the upstream sectional view.\n" },
    ],
  ],
  pages,
);
