import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { FormerProtectors } from "../../../../src/aggregator/counting/former-protectors.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { storedProtector } from "../protectors.ts";

function released(stored: StoredProtector): StoredProtector {
  const { protector } = stored;
  const metadata = { ...protector.metadata, annotations: { [annotations.released]: "" } };
  return { ...stored, protector: { ...protector, metadata } };
}

const ms = (value: number): MonotonicMs => value as MonotonicMs;
const another = storedProtector(3, { uid: "other" });

test("a PodProtector is made again when another one of its name vanished without a release", () => {
  const former = new FormerProtectors();
  assert.equal(former.appeared(storedProtector(2), ms(1)), undefined);
  former.left(storedProtector(2), undefined);
  assert.equal(former.appeared(another, ms(2)), 2);
  assert.equal(former.appeared(another, ms(3)), undefined, "known since");
});

test("a PodProtector that was seen deleted and is made again waits since then, and not days later once more", () => {
  const former = new FormerProtectors();
  former.left(storedProtector(2), ms(1));
  assert.equal(former.appeared(another, ms(200_000)), 1);
});

test("a PodProtector that comes back is not made again, nor one after a release", () => {
  const former = new FormerProtectors();
  former.left(storedProtector(2), ms(1));
  assert.equal(former.appeared(storedProtector(1), ms(2)), undefined);
  former.left(released(storedProtector(2)), ms(3));
  assert.equal(former.appeared(another, ms(4)), undefined);
});
