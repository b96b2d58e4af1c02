import assert from "node:assert/strict";
import { test } from "node:test";
import { apply } from "../../../../src/commands/install/apply.ts";
import { base64, readSecret, secretWith } from "../../../../src/commands/install/secrets.ts";
import { createStage } from "./empty-cluster.ts";

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
