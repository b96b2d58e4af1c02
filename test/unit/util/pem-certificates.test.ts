import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { createPem } from "../server/certificates.ts";
import { readRegularFile } from "../../../src/util/regular-file.ts";

const subjects = (pem: string): string[] => readCertificates(pem).map(({ subject }) => subject);

test("all certificates of a PEM file are read, whatever stands between them", async () => {
  const [one, two] = await Promise.all([createPem("one"), createPem("two")]);
  const text = `# the first\n${one.cert}\n${one.key}\r\nsubject=two\n${two.cert.replaceAll("\n", "\r\n")}`;
  assert.deepEqual(subjects(text), ["CN=one", "CN=two"]);
  assert.deepEqual(subjects(""), []);
  assert.deepEqual(subjects(one.key), []);
});

test("a broken certificate is an error that says which one it is, wherever it stands", async () => {
  const [one, two, three] = (await Promise.all(["1", "2", "3"].map((name) => createPem(name)))).map(
    ({ cert }) => `${cert.trim()}\n`,
  );
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const [head, ...lines] = two.split("\n");
  const damages = [
    [head, "AAAA", ...lines].join("\n"),
    [head, ...lines.slice(2)].join("\n"),
    two.replace("-----END CERTIFICATE-----", ""),
    two.replace("END CERTIFICATE", "END"),
    two.trim(),
    ` ${two}`,
    `${head}\n-----END CERTIFICATE-----\n`,
  ];
  for (const damaged of damages) {
    assert.throws(() => readCertificates(`${one}${damaged}${three}`), /^Error: certificate 2 of 3 is broken$/, damaged);
  }
});

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
