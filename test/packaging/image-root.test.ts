import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import {
  assembleImageRoot,
  packagesOf,
  parseLdd,
  readDockerfile,
  sharedLibraries,
} from "../../scripts/image/image-root.ts";
import { readPins } from "../../scripts/image/pins.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { type Deployment, render } from "../manifests/manifest-files.ts";

const repository = path.join(import.meta.dirname, "../..");
const dockerfile = path.join(repository, "Dockerfile");
const text = readFileSync(dockerfile, "utf8");
const facts = readDockerfile(text);

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-image-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const lddOutput = `\tlinux-vdso.so.1 (0x00007f627faa6000)
\tlibatomic.so.1 => /lib/x86_64-linux-gnu/libatomic.so.1 (0x00007f627fa8b000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f627f41e000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f627faa8000)
`;

test("the libraries of an executable are the files that ldd names, with the loader, without the kernel's", () => {
  assert.deepEqual(parseLdd(lddOutput), [
    "/lib/x86_64-linux-gnu/libatomic.so.1",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
  ]);
});

test("a library that is not on the machine is an error that names it", () => {
  assert.throws(() => parseLdd("\tlibatomic.so.1 => not found\n"), /libatomic\.so\.1 is not on this machine/);
});

test("libraries are put down to their packages, and one of an unknown package is an error that names it", () => {
  assert.deepEqual(packagesOf(parseLdd(lddOutput)), ["libatomic1"]);
  assert.throws(() => packagesOf(["/lib/libz.so.1"]), /the package of libz\.so\.1 is unknown/);
});

test("the image does not run as root, has an entry point that exists, and opens the program's ports", () => {
  assert.notEqual(facts.user.uid, 0);
  assert.notEqual(facts.user.gid, 0);
  assert.equal(facts.executablePath, "/usr/local/bin/podseidon");
  assert.deepEqual(facts.ports, [8080, 8843, 8081, 9090]);
});

test("the pods of the manifests run as the user of the image", () => {
  for (const object of render("overlays/single-cluster")) {
    if (object.kind !== "Deployment") continue;
    const { runAsUser, runAsGroup } = (object as Deployment).spec.template.spec.securityContext;
    assert.deepEqual([runAsUser, runAsGroup], [facts.user.uid, facts.user.gid]);
  }
});

test("the environment of the image makes every server listen on all addresses, whatever the role", () => {
  for (const role of ["generator", "aggregator", "webhook", "update-trigger"]) {
    const listener = role === "webhook" ? ["--webhook-enable"] : [];
    const loaded = loadConfig({ argv: [`--role=${role}`, ...listener], env: facts.env, readFile: () => "" });
    if (loaded.kind !== "config") assert.fail(`${role}: ${loaded.kind === "error" ? loaded.message : loaded.kind}`);
    for (const [name, { value }] of loaded.effective)
      if (/^(healthz|prometheus-http|webhook)-bind-addr$|^webhook-https-bind-addr$/.test(name))
        assert.equal(value, "::", name);
  }
});

test("in the image a webhook serves plain HTTP only where it is asked to", () => {
  const argv = ["--role=webhook"];
  const { kind } = loadConfig({ argv, env: facts.env, readFile: () => "" });
  assert.equal(kind, "error", "no listener");
});

test("an instruction that image-root cannot read is an error that names it", () => {
  for (const [instruction, broken] of [
    ["USER", text.replace("USER 65532:65532", "USER podseidon")],
    ["FROM", text.replace("FROM scratch", "FROM other")],
    ["COPY", text.replace("COPY dist/image", "COPY dist/other")],
    ["EXPOSE", text.replace(/^EXPOSE.*$/m, "")],
    ["ENTRYPOINT", text.replace('ENTRYPOINT ["/usr/local/bin/podseidon"]', "ENTRYPOINT podseidon")],
    ["ENV", `${text}ENV NOTHING\n`],
  ] as const)
    assert.throws(() => readDockerfile(broken), new RegExp(`Dockerfile: .*${instruction}`), instruction);
});

test("the build context of the image holds the assembled root file systems, and nothing else", () => {
  const lines = readFileSync(path.join(repository, ".dockerignore"), "utf8").split("\n");
  assert.deepEqual(
    lines.filter((line) => line !== "" && !line.startsWith("#")),
    ["*", "!dist/image/root-*"],
  );
});

// Only Linux has ldd and the container; on other hosts these tests do not exist.
if (process.platform === "linux") {
  test("all packages that the pinned Node needs are pinned", () => {
    const { packages } = readPins();
    for (const name of packagesOf(sharedLibraries(process.execPath))) assert.ok(name in packages, name);
  });

  test("an image root holds the executable, its libraries and /etc, and nothing that the user could write", (t) => {
    const folder = path.join(temporaryFolder(t), "root");
    // A small program stands in for dist/podseidon; what matters here is where things go.
    const root = assembleImageRoot({ executable: "/usr/bin/env", dockerfile, folder });
    assert.deepEqual(root, { folder, facts });
    assert.ok(statSync(path.join(folder, facts.executablePath)).mode & 0o001);
    for (const library of sharedLibraries("/usr/bin/env")) assert.ok(existsSync(path.join(folder, library)), library);
    assert.deepEqual(readdirSync(path.join(folder, "etc")).toSorted(), [
      "group",
      "hosts",
      "nsswitch.conf",
      "passwd",
      "resolv.conf",
    ]);
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
      assert.equal(statSync(path.join(folder, name)).mode & 0o002, 0, name);
    assert.ok(!existsSync(path.join(folder, "bin/sh")));
  });

  test("a missing executable and a folder that is not empty are errors that say so", (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(path.join(folder, "old"), "");
    assert.throws(() => assembleImageRoot({ executable: "/nonexistent", dockerfile, folder }), /does not exist; run/);
    assert.throws(() => assembleImageRoot({ executable: "/usr/bin/env", dockerfile, folder }), /is not empty/);
  });
}
