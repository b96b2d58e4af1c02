import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { checkBudgets } from "../../scripts/check/budgets.ts";
import { Repository } from "../../scripts/check/repository.ts";
import { withPlantedTree } from "./planted-tree.ts";

const file = "scripts/check/budgets.json";
const others = {
  ...Object.fromEntries(
    ["docs", "scripts", "src", "src/api", "test/unit"].map((name) => [name, { lines: 99, files: 9 }]),
  ),
  ...Object.fromEntries(["flags", "metrics", "commands", "kinds"].map((name) => [name, { number: 0 }])),
};

const raises: readonly (readonly [what: string, before: object, now: object, problems: readonly string[]])[] = [
  ["shrinks", { lines: 101, files: 2 }, { lines: 100, files: 2 }, []],
  ["grows to the next fifty", { lines: 99, files: 2 }, { lines: 100, files: 2 }, []],
  [
    "grows without a reason",
    { lines: 100, files: 2 },
    { lines: 101, files: 2 },
    [`${file}: src/util grew from 100 to 101: say why in a new "because"`],
  ],
  [
    "grows with the reason of the last time",
    { lines: 100, files: 2, because: "a clock" },
    { lines: 101, files: 2, because: "a clock" },
    [`${file}: src/util grew from 100 to 101: say why in a new "because"`],
  ],
  ["grows with a reason", { lines: 100, files: 2 }, { lines: 101, files: 2, because: "a clock" }, []],
];
const noGit = spawnSync("git", ["--version"]).status === 0 ? false : "no git here";
for (const [what, before, now, problems] of raises) {
  const verdict = problems.length === 0 ? "allowed" : "refused";
  test(`a budget that ${what} is ${verdict}, before the commit and after it`, { skip: noGit }, () => {
    withPlantedTree({ [file]: JSON.stringify({ ...others, "src/util": before }) }, (root) => {
      commit(root, "init -q", "add .", "commit -qm before");
      writeFileSync(path.join(root, file), JSON.stringify({ ...others, "src/util": now }));
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
