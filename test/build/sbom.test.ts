import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { billOfMaterials, normalized } from "../../scripts/sea/sbom.ts";

const root = path.join(import.meta.dirname, "..", "..");

interface Bill {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component: { readonly name: string } };
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
}

test("the bill of materials names the packages of the executable and Node, and none that only tests use", () => {
  const { components, metadata } = JSON.parse(billOfMaterials(root)) as Bill;
  const names = new Set(components.map(({ name }) => name));
  for (const name of ["undici", "hono", "prom-client", "valibot", "@kubernetes/client-node"])
    assert.ok(names.has(name), name);
  assert.ok(
    [...names].some((name) => /^node(?:-bin)?-(?:linux|darwin)-/.test(name)),
    [...names].join(),
  );
  for (const name of ["esbuild", "typescript", "ajv"]) assert.ok(!names.has(name), name);
  assert.equal(metadata.component.name, "podseidon");
});

test("what is random, the time, or the name of a folder is not in it, so that two builds have the same", () => {
  const document = (serialNumber: string, timestamp: string, name: string): string =>
    JSON.stringify({ serialNumber, metadata: { timestamp, component: { name } }, components: [] });
  const first = normalized(document("urn:1", "2026-01-01", "checkout"), "podseidon");
  assert.equal(first, normalized(document("urn:2", "2027-01-01", "other"), "podseidon"));
  assert.doesNotMatch(first, /urn:|2026|checkout/);
});
