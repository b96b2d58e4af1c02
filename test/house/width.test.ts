import { checkWidth } from "../../scripts/check/width.ts";
import { allows, refuses } from "./planted-tree.ts";

const wide = (columns: number): string => "x".repeat(columns);

refuses(checkWidth, "the width of lines is limited in", [
  ["a comment", { "src/api/a.ts": `\n// ${wide(118)}\n` }, "src/api/a.ts:2: 121 columns (at most 120)"],
  ["a string", { "test/unit/a.ts": `const text = "${wide(120)}";\n` }, "test/unit/a.ts:1: 136 columns (at most 120)"],
  ["a script", { "scripts/a.mjs": `// ${wide(120)}\n` }, "scripts/a.mjs:1: 123 columns (at most 120)"],
  ["prose", { "docs/a.md": `# A\n\n${wide(121)}\n` }, "docs/a.md:3: 121 columns (at most 120)"],
  [
    "prose with a link",
    { "docs/a.md": `See [this](b.md) for ${wide(110)}\n` },
    "docs/a.md:1: 131 columns (at most 120)",
  ],
  [
    "prose after a code block",
    { "docs/a.md": `~~~\n${wide(130)}\n~~~\n${wide(121)}\n` },
    "docs/a.md:4: 121 columns (at most 120)",
  ],
  ["a recipe", { Makefile: `all:\n\t${wide(113)}\n` }, "Makefile:2: 121 columns (at most 120)"],
  [
    "a comment in YAML",
    { "manifests/a.yaml": `a: 1 # ${wide(120)}\n` },
    "manifests/a.yaml:1: 127 columns (at most 120)",
  ],
  ["a shell script", { ".ci/run": `echo ${wide(120)}\n` }, ".ci/run:1: 125 columns (at most 120)"],
]);

allows(checkWidth, "the width of lines is not limited for", [
  ["a line of exactly 120 columns", { "src/api/a.ts": `// ${wide(117)}\n` }],
  ["characters that UTF-16 stores as two", { "src/api/a.ts": `// ${"𝄞".repeat(117)}\n` }],
  ["a table", { "docs/a.md": `| ${wide(120)} |\n| --- |\n` }],
  ["a code block", { "docs/a.md": `\`\`\`\n${wide(130)}\n\`\`\`\n` }],
  ["a line that is one link", { "docs/a.md": `- [text](${wide(120)})\n[name]: https://${wide(120)}\n` }],
  ["a value in YAML", { "manifests/a.yaml": `a: ${wide(130)}\n` }],
]);
