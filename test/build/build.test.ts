// Cheap facts about what goes into the executable. The finished file itself is tried by scripts/check-build.ts after
// `make build`.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import type { Metafile } from "esbuild";
import { bundle, filesInBundle, filesLoadedAtStart } from "../../scripts/sea/bundle.ts";
import { describeLicences } from "../../scripts/sea/licences.ts";

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

test("each bundled package and Node itself come with their licence text", () => {
  const text = describeLicences(root, filesInBundle(metafile), process.execPath);
  for (const name of ["valibot", "undici", "hono", "@kubernetes/client-node", "Node.js"]) {
    assert.match(text, new RegExp(`^${name} v?\\d+\\.\\d+\\.\\d+`, "m"));
  }
  assert.match(text, /Permission is hereby granted, free of charge/);
});
