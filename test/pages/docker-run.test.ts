// The roles that the pages start by `docker run`: what stands behind the image has to be arguments of the program.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readDockerfile } from "../../scripts/image/image-root.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { roleRuns } from "./docker-runs.ts";

const dockerfile = readFileSync(path.join(import.meta.dirname, "../../Dockerfile"), "utf8");

test("every role that a page starts by docker run gets arguments that it accepts", () => {
  const runs = roleRuns();
  assert.deepEqual([...new Set(runs.map(({ file }) => file))].toSorted(), [
    "docs/install.md",
    "docs/local-clusters.md",
  ]);
  const { env } = readDockerfile(dockerfile);
  for (const { file, argv } of runs) {
    const loaded = loadConfig({ argv, env, readFile: () => assert.fail("no file of settings is named") });
    if (loaded.kind !== "config") assert.fail(`${file}: ${loaded.kind === "error" ? loaded.message : loaded.kind}`);
  }
});
