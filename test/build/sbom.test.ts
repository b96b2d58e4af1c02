import assert from "node:assert/strict";
import { test } from "node:test";
import { normalized } from "../../scripts/sea/sbom.ts";

test("what is random, the time, or the name of a folder is not in it, so that two builds have the same", () => {
  const document = (serialNumber: string, timestamp: string, name: string): string =>
    JSON.stringify({ serialNumber, metadata: { timestamp, component: { name } }, components: [] });
  const first = normalized(document("urn:1", "2026-01-01", "checkout"), "podseidon");
  assert.equal(first, normalized(document("urn:2", "2027-01-01", "other"), "podseidon"));
  assert.doesNotMatch(first, /urn:|2026|checkout/);
});
