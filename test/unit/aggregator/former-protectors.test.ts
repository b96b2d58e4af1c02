import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { FormerProtectors } from "../../../src/aggregator/former-protectors.ts";
import { type StoredProtector } from "../../../src/kube/resources.ts";
import { storedProtector } from "./protectors.ts";

function released(stored: StoredProtector): StoredProtector {
  const { protector } = stored;
  const metadata = { ...protector.metadata, annotations: { [annotations.released]: "" } };
  return { ...stored, protector: { ...protector, metadata } };
}

test("a PodProtector is made again when another one of its name vanished without a release", () => {
  const former = new FormerProtectors();
  assert.equal(former.isRemade(storedProtector(2)), false);
  former.left(storedProtector(2));
  assert.equal(former.isRemade(storedProtector(3, { uid: "other" })), true);
  assert.equal(former.isRemade(storedProtector(3, { uid: "other" })), false, "known since");
});

test("a PodProtector that comes back is not made again, nor one after a release", () => {
  const former = new FormerProtectors();
  former.left(storedProtector(2));
  assert.equal(former.isRemade(storedProtector(1)), false);
  former.left(released(storedProtector(2)));
  assert.equal(former.isRemade(storedProtector(3, { uid: "other" })), false);
});
