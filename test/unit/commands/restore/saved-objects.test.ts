import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { merged, nameOf, readSaved, writeSaved } from "../../../../src/commands/restore/saved-objects.ts";

function fileIn(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-saved-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "saved.json");
}

const item = (name: string, more: object = {}) => ({ metadata: { namespace: "shop", name }, ...more });

test("what is written is read again, by its owner alone, and is a list for kubectl", (t) => {
  const file = fileIn(t);
  const saved = { items: [item("a")], definitionUID: "u", isRestored: false };
  assert.equal(writeSaved(file, saved), undefined);
  assert.deepEqual(readSaved(file), saved);
  assert.equal(statSync(file).mode & 0o077, 0);
  assert.equal((JSON.parse(readFileSync(file, "utf8")) as { kind: string }).kind, "List");
});

test("a file that is not there is none; one that is no list is told", (t) => {
  const file = fileIn(t);
  assert.equal(readSaved(file), undefined);
  for (const text of ["{", "{}", '{"items":1}']) {
    writeFileSync(file, text);
    assert.ok(readSaved(file) instanceof Problem, text);
  }
});

test("a file that cannot be written is told, and the old one stays", (t) => {
  const file = fileIn(t);
  assert.ok(
    writeSaved(path.join(file, "below"), { items: [], definitionUID: "u", isRestored: false }) instanceof Problem,
  );
});

test("objects that are present take the place of saved ones of their name, and others stay", () => {
  const all = merged([item("a", { old: true }), item("b")], [item("a"), item("c")]);
  assert.deepEqual(all, [item("a"), item("b"), item("c")]);
  assert.equal(nameOf(item("a")), "shop/a");
});
