// Cheap facts about what goes into the executable. The finished file itself is tried by scripts/check-build.ts after
// `make build`.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import type { Metafile } from "esbuild";
import { bundle, filesInBundle, filesLoadedAtStart } from "../../scripts/sea/bundle.ts";
import { describeLicences } from "../../scripts/sea/licences.ts";
import { billOfMaterials } from "../../scripts/sea/sbom.ts";

const root = path.join(import.meta.dirname, "..", "..");
const entry = "src/main.ts";
let folder = "";
let metafile: Metafile;

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-build-"));
  metafile = await bundle(root, entry, path.join(folder, "bundle.mjs"), { commit: "none" });
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("every role is in the bundle, and none is loaded before it is started", () => {
  const roles = /^src\/(?:roles|generator|aggregator|webhook|update-trigger)\//;
  const all = Object.keys(metafile.inputs).filter((file) => roles.test(file));
  const folders = new Set(all.map((file) => file.split("/")[1]));
  assert.deepEqual(folders, new Set(["roles", "generator", "aggregator", "webhook", "update-trigger"]));
  const early = Array.from(filesLoadedAtStart(metafile, entry)).filter((file) => roles.test(file));
  assert.deepEqual(early, []);
});

test("the Kubernetes client and the HTTP libraries are not loaded before a role is started", () => {
  const heavy = /node_modules\/(?:@kubernetes\/client-node|undici|hono|prom-client)\//;
  const early = Array.from(filesLoadedAtStart(metafile, entry)).filter((file) => heavy.test(file));
  assert.deepEqual(early, []);
});

test("client-node's KubeConfig and what it brings are not loaded with a role, but only for an auth-provider", () => {
  const heavy =
    /node_modules\/(?:@kubernetes\/client-node\/dist\/config\.js|openid-client|socks|hpagent|jsonpath-plus)/;
  const isHeavy = (file: string): boolean => heavy.test(file);
  const all = Object.keys(metafile.inputs).filter(isHeavy);
  assert.ok(all.length > 4, all.join());
  const early = Array.from(filesLoadedAtStart(metafile, "src/roles/runtime.ts")).filter(isHeavy);
  assert.deepEqual(early, []);
});

test("what makes certificates is loaded by a generator that issues them, and by nothing else", () => {
  const isMaker = (file: string): boolean => /node_modules\/(?:@peculiar\/x509|reflect-metadata)\//.test(file);
  assert.ok(Object.keys(metafile.inputs).some(isMaker));
  for (const role of ["generator", "aggregator", "webhook"])
    assert.deepEqual(Array.from(filesLoadedAtStart(metafile, `src/roles/${role}.ts`)).filter(isMaker), [], role);
});

test("no test, script or test library is in the bundle", () => {
  const strangers = Object.keys(metafile.inputs).filter(
    (file) => !/^(?:src\/|node_modules\/|package\.json$)/.test(file),
  );
  assert.deepEqual(strangers, []);
  const testLibraries = /node_modules\/(?:ajv|rfc6902)\//;
  assert.deepEqual(
    Object.keys(metafile.inputs).filter((file) => testLibraries.test(file)),
    [],
  );
});

test("client-node's models are left out", () => {
  const bytes = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {})
    .filter(([file]) => file.includes("@kubernetes/client-node/dist/gen/models/"))
    .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  assert.ok(bytes < 100_000, `${bytes} bytes of models`);
});

interface Component {
  readonly name: string;
  readonly version: string;
}

/** Name and version of each npm package with a file in the bundle. */
function bundledPackages(): readonly Component[] {
  const files = filesInBundle(metafile);
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  assert.ok(folders.size > 30, `${folders.size} packages`);
  return [...folders].map((one) => JSON.parse(readFileSync(path.join(root, one, "package.json"), "utf8")) as Component);
}

test("each bundled package and Node itself come with their licence text", () => {
  const text = describeLicences(root, filesInBundle(metafile), process.execPath);
  const sections = new Map(
    Array.from(
      text.matchAll(/^(\S+) v?(\d\S*)(?: \(.*\))?\n+-{5,}\n([\s\S]*?)(?=\n\n\n\S.*\n+-{5,}\n|$(?![\s\S]))/gm),
    ).map(([, name = "", version = "", licence = ""]) => [`${name} ${version}`, licence]),
  );
  const node = { name: "Node.js", version: process.versions.node };
  const silent = [...bundledPackages(), node]
    .map(({ name, version }) => `${name} ${version}`)
    .filter((one) => !/copyright/i.test(sections.get(one) ?? "") || (sections.get(one) ?? "").length < 500);
  assert.deepEqual(silent, []);
});

test("a package without a file for its licence comes with what its files say, or is an error; Node as well", () => {
  const make = (source: string): (() => string) => {
    const made = path.join(folder, "node_modules/some");
    mkdirSync(made, { recursive: true });
    writeFileSync(path.join(made, "package.json"), '{"name":"some","version":"1.2.3","license":"BSD-3-Clause"}');
    writeFileSync(path.join(made, "index.js"), source);
    return () => describeLicences(folder, ["node_modules/some/index.js"], process.execPath);
  };
  assert.match(make("// Copyright 2001 Somebody\n// as is\nrun();\n")(), /^Copyright 2001 Somebody\nas is$/m);
  assert.match(make("/*!\n * Copyright 2001 Somebody\n */\nrun();\n")(), /^Copyright 2001 Somebody$/m);
  const withoutNodes = (): string => describeLicences(folder, [], path.join(folder, "bin/node"));
  assert.throws(withoutNodes, /Node\.js v\d+\.\d+\.\d+ comes without the text of its licence/);
  assert.throws(make("run();\n"), /some 1\.2\.3 \(BSD-3-Clause\) comes without the text of its licence/);
});

test("the bill of materials names every bundled package and Node, and none that only tests use", () => {
  const { components } = JSON.parse(billOfMaterials(root)) as { readonly components: readonly Component[] };
  const named = new Set(components.map(({ name, version }) => `${name} ${version}`));
  const missing = bundledPackages().filter(({ name, version }) => !named.has(`${name} ${version}`));
  assert.deepEqual(missing, []);
  const names = components.map(({ name }) => name);
  assert.ok(
    names.some((name) => /^node(?:-bin)?-(?:linux|darwin)-/.test(name)),
    names.join(),
  );
  for (const name of ["esbuild", "typescript", "ajv"]) assert.ok(!names.includes(name), name);
});
