import assert from "node:assert/strict";
import { test } from "node:test";
import { apply } from "../../../../src/commands/install/apply.ts";
import { type InstallOptions, readInstallOptions } from "../../../../src/commands/install/options.ts";
import {
  base64,
  readCells,
  readSecret,
  readSettings,
  secretWith,
  settingsObject,
} from "../../../../src/commands/install/settings.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { createStage } from "./empty-cluster.ts";

function options(given: Readonly<Record<string, string>>): InstallOptions {
  const read = readInstallOptions("core", new Map(Object.entries(given).map(([name, value]) => [name, [value]])));
  assert.ok(!(read instanceof Problem));
  return read;
}

test("what was said before holds until something else is said", async () => {
  const site = createStage().siteOf("core");
  const first = { image: "a", webhookAddress: "x", callers: "network" } as const;
  await apply(site, settingsObject(first));
  assert.deepEqual(await readSettings(site, options({}), "install core"), first);
  assert.deepEqual(await readSettings(site, options({ image: "b" }), "install core"), { ...first, image: "b" });
});

test("the cells of a core are those that it has a kubeconfig for", async () => {
  const site = createStage().siteOf("core");
  assert.deepEqual(await readCells(site), []);
  await apply(site, secretWith("podseidon-worker-kubeconfigs", { b: "", "b.token": "", a: "", "a.token": "" }));
  assert.deepEqual(await readCells(site), ["a", "b"]);
});

test("settings that may not be read are a problem", async () => {
  const stage = createStage();
  stage.clusters.core.forbidden = /./;
  const site = stage.siteOf("core");
  for (const read of [await readSettings(site, options({}), "install core"), await readCells(site)])
    assert.match(read instanceof Problem ? read.message : "", /you may not get/);
});

test("what is written into a Secret is read, beside what was in it before", async () => {
  const site = createStage().siteOf("core");
  assert.deepEqual(await readSecret(site, "x"), { ok: true, value: undefined });
  await apply(site, secretWith("x", { a: base64("ä") }));
  await apply(site, secretWith("x", { b: base64("2") }));
  const read = await readSecret(site, "x");
  assert.deepEqual(read.ok && [...(read.value ?? [])], [
    ["a", "ä"],
    ["b", "2"],
  ]);
});
