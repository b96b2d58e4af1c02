import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { hasProgram } from "../../scripts/demo/search-path.ts";

test("a program is found in any folder of the path, and a file that cannot be run is none", (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "podseidon-path-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "kubectl"), "", { mode: 0o755 });
  writeFileSync(path.join(folder, "notes"), "", { mode: 0o644 });
  const searchPath = ["", path.join(folder, "missing"), folder].join(path.delimiter);
  assert.equal(hasProgram("kubectl", searchPath), true);
  assert.equal(hasProgram("notes", searchPath), false);
  assert.equal(hasProgram("helm", searchPath), false);
});
