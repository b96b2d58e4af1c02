// scripts/n.mjs, through which everything is started.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "./planted-tree.ts";

const launcher = path.join(repositoryRoot, "scripts/n.mjs");
/** A start takes a tenth of a second. */
const timeoutMs = 20_000;

function launch(script: string): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [launcher, "-e", script], { encoding: "utf8", timeout: timeoutMs });
}

test("the launcher runs the Node that package.json pins", () => {
  const manifest = JSON.parse(readFileSync(path.join(repositoryRoot, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const pinned = new Set(Object.values(manifest.optionalDependencies).map((version) => `v${version}`));
  assert.equal(pinned.size, 1);
  assert.deepEqual(new Set([launch("console.log(process.version)").stdout.trim()]), pinned);
});

test("programs that the launched one starts find the same Node", () => {
  const script = `console.log(require("node:child_process").execFileSync("node", ["--version"]).toString())`;
  assert.equal(launch(script).stdout.trim(), launch("console.log(process.version)").stdout.trim());
});

test("the launcher ends with the exit code of what it runs", () => {
  assert.equal(launch("process.exit(0)").status, 0);
  assert.equal(launch("process.exit(7)").status, 7);
});

test("a program that dies of a signal ends the launcher with 128 and the signal's number", () => {
  assert.equal(launch(`process.kill(process.pid, "SIGKILL")`).status, 137);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} sent to the launcher alone reaches the program once`, async () => {
    const script = `let count = 0;
      process.on("${signal}", () => { count += 1; setImmediate(() => process.exit(40 + count)); });
      setInterval(() => {}, 1000);
      console.log("ready");`;
    const child = spawn(process.execPath, [launcher, "-e", script], {
      stdio: ["ignore", "pipe", "ignore"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    await once(child.stdout, "data");
    child.kill(signal);
    assert.deepEqual(await once(child, "exit"), [41, null]);
  });
}
