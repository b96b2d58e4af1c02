import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { archive, assemble, checkElfHeader, parseReadelf } from "../../scripts/image/assemble.ts";
import { goneMessage, packageFiles, sourcesFor, verify } from "../../scripts/image/debian-packages.ts";
import { type Pins, readPins } from "../../scripts/image/pins.ts";
import { sha256 } from "./sha256.ts";

interface Component {
  readonly name: string;
  readonly components?: readonly { readonly name: string; readonly hashes: readonly { readonly content: string }[] }[];
}

function temporaryFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "podseidon-image-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("each Debian package of the image is pinned for both architectures, by version and hash", () => {
  assert.ok(Object.keys(readPins().packages).length > 0);
  const pins = (pinned: object): string => JSON.stringify({ suite: "trixie", packages: { libc6: pinned } });
  const good = { version: "2.41-12+deb13u5", sha256: "0".repeat(64) };
  assert.doesNotThrow(() => readPins(pins({ amd64: good, arm64: good })));
  assert.throws(() => readPins(pins({ amd64: good })), /libc6 has no version for arm64/);
  assert.throws(
    () => readPins(pins({ amd64: { ...good, sha256: "1" }, arm64: good })),
    /libc6 has no SHA-256 for amd64/,
  );
});

test("packages come from the mirrors of the machine, in the pinned release", () => {
  const targets = "http://mirror.test/debian/ bookworm main\nhttp://mirror.test/security/ bookworm-security main\n";
  const lines = "deb http://mirror.test/debian/ trixie main\ndeb http://mirror.test/security/ trixie-security main\n";
  assert.equal(sourcesFor("trixie", `${targets}${targets}`), lines);
  assert.throws(() => sourcesFor("trixie", ""), /no mirror of Debian; see "Without apt"/);
});

test("a version that the mirrors have dropped is an error that says how to pin what they have", () => {
  assert.match(goneMessage("libc6", "arm64", "2.41-12"), /libc6 2\.41-12 for arm64 any more; .*--update-pins/);
});

test("a package with other bytes than the pinned ones, and one that is missing, are errors that name it", (t) => {
  const folder = temporaryFolder(t);
  const pin = { version: "1", sha256: "0".repeat(64) };
  const source = {
    pins: { suite: "trixie", packages: { a: { amd64: pin, arm64: pin } } },
    cache: folder,
    debs: folder,
  };
  assert.throws(() => packageFiles(source, "amd64"), /a_1_amd64\.deb is missing/);
  writeFileSync(path.join(folder, "a_1_amd64.deb"), "other");
  assert.throws(() => packageFiles(source, "amd64"), /not a 1: its SHA-256 is/);
  assert.deepEqual(readdirSync(path.join(folder, "debs")), [], "it is not kept");
  const file = path.join(folder, "a_1_amd64.deb");
  assert.doesNotThrow(() => verify(file, "a", { version: "1", sha256: sha256(file) }));
});

test("a file for another architecture, and one that is no ELF file, do not come into the image", () => {
  const head = Buffer.alloc(64);
  head.write("\u007fELF\u0002\u0001", "latin1");
  head.writeUInt16LE(183, 18);
  assert.doesNotThrow(() => checkElfHeader(head, "arm64", "node"));
  assert.throws(() => checkElfHeader(head, "amd64", "node"), /node is for ELF machine 183, not 62 \(amd64\)/);
  assert.throws(() => checkElfHeader(Buffer.from("#!/bin/sh"), "amd64", "node"), /not a 64-bit ELF file/);
});

test("what a program needs is read from its header, whatever its architecture", () => {
  const output =
    "      [Requesting program interpreter: /lib/ld-linux-aarch64.so.1]\n" +
    " 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n";
  assert.deepEqual(parseReadelf(output), { needed: ["libc.so.6"], loader: "/lib/ld-linux-aarch64.so.1" });
  assert.deepEqual(parseReadelf(""), { needed: [] });
});

const hasTools = ["dpkg-deb", "readelf"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
const triplet = "x86_64-linux-gnu";
const hostLibraries = `/lib/${triplet}`;

/** Packages with the names and places of Debian's, with the libraries of this machine. */
function makePackages(folder: string): { readonly debs: ReadonlyMap<string, string>; readonly pins: Pins } {
  const debs = new Map<string, string>();
  const build = (name: string, fill: (content: string) => void): void => {
    const content = path.join(folder, name);
    mkdirSync(path.join(content, "DEBIAN"), { recursive: true });
    const control = { Package: name, Version: "1", Architecture: "amd64", Maintainer: "nobody", Description: name };
    const fields = Object.entries(control).map(([key, value]) => `${key}: ${value}\n`);
    writeFileSync(path.join(content, "DEBIAN/control"), fields.join(""));
    mkdirSync(path.join(content, "usr/share/doc", name), { recursive: true });
    writeFileSync(path.join(content, "usr/share/doc", name, "copyright"), `licence of ${name}`);
    fill(content);
    const built = spawnSync("dpkg-deb", ["--build", "--root-owner-group", content, `${content}.deb`], {
      encoding: "utf8",
    });
    assert.equal(built.status, 0, built.stderr);
    debs.set(name, `${content}.deb`);
  };
  build("base-files", (content) => {
    for (const made of ["usr/lib", "usr/lib64", "usr/share/common-licenses", "etc"])
      mkdirSync(path.join(content, made), { recursive: true });
    writeFileSync(path.join(content, "usr/lib/os-release"), "ID=debian\n");
    writeFileSync(path.join(content, "usr/share/common-licenses/GPL-3"), "text");
    symlinkSync("../usr/lib/os-release", path.join(content, "etc/os-release"));
    for (const name of ["lib", "lib64"]) symlinkSync(`usr/${name}`, path.join(content, name));
  });
  build("libc6", (content) => {
    const libraries = path.join(content, "usr/lib", triplet);
    mkdirSync(libraries, { recursive: true });
    mkdirSync(path.join(content, "usr/lib64"));
    for (const name of ["libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6"])
      copyFileSync(path.join(hostLibraries, name), path.join(libraries, name));
    const loader = "ld-linux-x86-64.so.2";
    symlinkSync(`../lib/${triplet}/${loader}`, path.join(content, "usr/lib64", loader));
  });
  const pinned = [...debs].map(([name, file]) => {
    const pin = { version: "1", sha256: sha256(file) };
    return [name, { amd64: pin, arm64: pin }];
  });
  return { debs, pins: { suite: "trixie", packages: Object.fromEntries(pinned) as Pins["packages"] } };
}

// Needs the tools that unpack packages, and a program with its libraries where Debian has them.
if (hasTools && process.arch === "x64" && existsSync(path.join(hostLibraries, "libm.so.6"))) {
  test("the root has only what the program needs, with all licences and a bill of every file, twice the same", (t) => {
    const folder = temporaryFolder(t);
    const { debs, pins } = makePackages(folder);
    const built = path.join(folder, "dist");
    mkdirSync(built);
    copyFileSync("/bin/true", path.join(built, "podseidon"));
    writeFileSync(path.join(built, "THIRD-PARTY-LICENSES.txt"), "licences");
    writeFileSync(path.join(built, "sbom.cdx.json"), JSON.stringify({ components: [{ name: "undici" }] }));
    const root = path.join(folder, "root");
    const executablePath = "/usr/local/bin/podseidon";
    const sums = [1, 2].map(() => {
      assemble({ architecture: "amd64", pins, debs, built, executablePath, root });
      return archive(root, path.join(folder, "image.tar"));
    });
    assert.equal(sums[0], sums[1]);

    const libraries = readdirSync(path.join(root, "usr/lib", triplet));
    assert.deepEqual(libraries.toSorted(), ["ld-linux-x86-64.so.2", "libc.so.6"], "libm is not needed");
    const doc = path.join(root, "usr/share/doc");
    for (const name of debs.keys())
      assert.equal(readFileSync(path.join(doc, name, "copyright"), "utf8"), `licence of ${name}`);
    assert.equal(readFileSync(path.join(doc, "podseidon/THIRD-PARTY-LICENSES.txt"), "utf8"), "licences");

    const bill = readFileSync(path.join(doc, "podseidon/sbom.cdx.json"), "utf8");
    const { components } = JSON.parse(bill) as { components: readonly Component[] };
    assert.deepEqual(
      components.map(({ name }) => name),
      ["undici", "base-files", "libc6"],
    );
    const files = components.flatMap((component) => component.components ?? []);
    for (const { name, hashes } of files) assert.equal(hashes[0]?.content, sha256(path.join(root, name)), name);
    const inBill = new Set(files.map(({ name }) => name));
    const own = /^\/(?:etc\/(?!os-release)|usr\/share\/doc\/podseidon\/|usr\/local\/|var\/lib\/dpkg\/)/;
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      // What is only seen through the links /lib and /lib64 is seen at its own place as well.
      if (realpathSync(entry.parentPath) !== entry.parentPath) continue;
      const name = file.slice(root.length);
      if (entry.isFile() && !own.test(name)) assert.ok(inBill.has(name), `${name} is in no package of the bill`);
      if (!entry.isSymbolicLink()) assert.equal(statSync(file).mode & 0o022, 0, `${name} is writable`);
    }
  });
}
