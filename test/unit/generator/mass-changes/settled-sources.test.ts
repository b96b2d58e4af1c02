import assert from "node:assert/strict";
import { test } from "node:test";
import { SettledSources } from "../../../../src/generator/mass-changes/settled-sources.ts";
import { protectorKeyOf } from "../../../../src/generator/sources/source-plan.ts";
import { deployment } from "./samples.ts";

const source = deployment(8);
const key = protectorKeyOf(source);

/** The namespace is in that mode by its label. */
function settledIn(mode: "off" | "shadow") {
  const by = { by: undefined };
  const switched = (namespace: string, to: string) => (namespace === "shop" && to === mode ? by : undefined);
  return { by, settled: new SettledSources({ switched }) };
}

test("a source is what it was when it last agreed, until that is forgotten", () => {
  const { settled } = settledIn("off");
  settled.set(key, source, false);
  assert.equal(settled.get(key), source);
  settled.delete(key);
  assert.equal(settled.get(key), undefined);
  settled.set(key, source, false);
  settled.clear();
  assert.equal(settled.get(key), undefined);
});

test("a release is the work of whoever has switched the namespace off, and a lower floor never is", () => {
  const { settled, by } = settledIn("off");
  const of = (to: number | "shadow" | undefined) => settled.switchedBy(key, { source, to });
  assert.deepEqual([of(undefined), of("shadow"), of(0)], [by, undefined, undefined]);
});

test("shadow is the work of whoever has switched the namespace to it, unless it is a repair", () => {
  const { settled, by } = settledIn("shadow");
  const shadowed = () => settled.switchedBy(key, { source, to: "shadow" });
  assert.equal(shadowed(), by);
  settled.set(key, source, true);
  assert.equal(shadowed(), undefined);
  settled.set(key, source, false);
  assert.equal(shadowed(), by);
  assert.equal(settled.switchedBy(key, { source, to: undefined }), undefined);
});
