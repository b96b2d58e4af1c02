import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { checkBudgets } from "../../scripts/check/budgets.ts";
import { Repository } from "../../scripts/check/repository.ts";
import { allows, refuses, withPlantedTree } from "./planted-tree.ts";

const file = "scripts/check/budgets.json";
const folders = ["docs", "scripts", "src", "src/api", "src/commands", "src/config", "src/util", "test/unit"];
const counts = ["flags", "metrics", "commands", "kinds"];
const budgets = {
  ...Object.fromEntries(folders.map((name) => [name, { lines: 99, files: 2 }])),
  ...Object.fromEntries(counts.map((name) => [name, { number: 1 }])),
};
/** One of each that is counted, beside some that are not. */
const beside = {
  [file]: JSON.stringify(budgets),
  "docs/dependencies.md": "| `--no-flag` |\n",
  "src/commands/index.ts": "const commands: readonly Command[] = [\n  status,\n];\nconst others = [\n  release,\n];\n",
  "src/config/generator-rules.ts": `const sourceIDs = ["deployments.apps"] as const;\nconst modes = ["off"];\n`,
};
const flags = "# Flags\n| `--help` |\n## Process\n| `--a` |\n";
const metrics = "# Metrics\n| `a_total` | counter |\n";
const ending = `take as much away, or raise it in ${file} with a reason`;

refuses(
  checkBudgets,
  "the budgets refuse",
  [
    ["more lines", { "src/util/answer.ts": "a();\n".repeat(100) }, `src/util: 100 lines (at most 99): ${ending}`],
    ["more files", { "src/api/a.ts": "", "src/api/b.ts": "" }, `src/api: 3 files (at most 2): ${ending}`],
    ["a page more", { "docs/a.md": "", "docs/b.md": "" }, `docs: 3 files (at most 2): ${ending}`],
    ["a folder without a budget", { "src/kube/a.ts": "" }, `src/kube: 1 files (at most 0): ${ending}`],
    ["a flag more", { "docs/flags.md": `${flags}| \`--b\` |\n` }, `flags: 2 (at most 1): ${ending}`],
    ["a metric more", { "docs/metrics.md": `${metrics}| \`b\` | gauge |\n` }, `metrics: 2 (at most 1): ${ending}`],
    [
      "a command more",
      { "src/commands/index.ts": "const commands: readonly Command[] = [\n  status,\n  check,\n];\n" },
      `commands: 2 (at most 1): ${ending}`,
    ],
    [
      "a kind of sources more",
      { "src/config/generator-rules.ts": `const sourceIDs = [\n  "a",\n  "b",\n];\n` },
      `kinds: 2 (at most 1): ${ending}`,
    ],
    [
      "a budget of a folder that is gone",
      { [file]: JSON.stringify({ ...budgets, "src/gone": { lines: 1, files: 1 } }) },
      `${file}: src/gone is gone: strike it off`,
    ],
  ],
  beside,
);

allows(
  checkBudgets,
  "the budgets allow",
  [
    ["what is less than they say", {}],
    [
      "flags and metrics that are only the original's",
      {
        "docs/flags.md": `${flags}## Without effect\n| \`--b\` |\n`,
        "docs/metrics.md": `${metrics}## Metrics of the Go original\n| \`b\` |\n`,
        "docs/dependencies.md": "",
        [file]: JSON.stringify({ ...budgets, docs: { lines: 99, files: 3 } }),
      },
    ],
  ],
  beside,
);

const raises: readonly (readonly [what: string, before: object, now: object, problems: readonly string[]])[] = [
  ["shrinks", { lines: 99, files: 2 }, { lines: 98, files: 2 }, []],
  [
    "grows without a reason",
    { lines: 98, files: 2 },
    { lines: 99, files: 2 },
    [`${file}: src/util grew from 98 to 99: say why in a new "because"`],
  ],
  [
    "grows with the reason of the last time",
    { lines: 98, files: 2, because: "a clock" },
    { lines: 99, files: 2, because: "a clock" },
    [`${file}: src/util grew from 98 to 99: say why in a new "because"`],
  ],
  ["grows with a reason", { lines: 98, files: 2 }, { lines: 99, files: 2, because: "a clock" }, []],
];
for (const [what, before, now, problems] of raises) {
  const verdict = problems.length === 0 ? "allowed" : "refused";
  test(`a budget that ${what} is ${verdict}, before the commit and after it`, () => {
    withPlantedTree({ ...beside, [file]: JSON.stringify({ ...budgets, "src/util": before }) }, (root) => {
      commit(root, "init -q", "add .", "commit -qm before");
      writeFileSync(path.join(root, file), JSON.stringify({ ...budgets, "src/util": now }));
      assert.deepEqual(checkBudgets(new Repository(root)), problems);
      commit(root, "commit -qam after");
      assert.deepEqual(checkBudgets(new Repository(root)), problems);
    });
  });
}

function commit(root: string, ...commands: readonly string[]): void {
  for (const command of commands) {
    const who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    const { status, stderr } = spawnSync("git", ["-C", root, ...who, ...command.split(" ")], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
  }
}
