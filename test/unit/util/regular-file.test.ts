import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { readRegularFile } from "../../../src/util/regular-file.ts";

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), "podseidon-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a file of up to the limit is read, also through symlinks as in a mounted Secret", (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, "file");
  const link = path.join(folder, "link");
  writeFileSync(file, "früh");
  symlinkSync(file, link);
  assert.equal(readRegularFile(file, 5), "früh");
  assert.equal(readRegularFile(link, 5), "früh");
  assert.throws(() => readRegularFile(file, 4), { message: "it has more than 4 bytes" });
  writeFileSync(file, "");
  assert.equal(readRegularFile(file, 4), "");
});

test("a device or a pipe, which may never end, is refused at once", (t) => {
  const fifo = path.join(temporaryFolder(t), "fifo");
  execFileSync("mkfifo", [fifo]);
  for (const file of [fifo, "/dev/zero"]) {
    assert.throws(() => readRegularFile(file, 100), { message: "it is not a regular file" }, file);
  }
  assert.throws(() => readRegularFile("/", 100), { message: "it is a directory" });
});

test("the error of a file that cannot be opened is passed on", () => {
  assert.throws(() => readRegularFile("/nowhere/file", 100), { code: "ENOENT", path: "/nowhere/file" });
});
