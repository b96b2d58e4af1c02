import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerUIDOf } from "../../../../../src/webhook/decide/subject/controller-owner.ts";

const ownedBy = (ownerReferences: unknown) => ({ metadata: { ownerReferences } });

test("the controller of a pod is the owner that says so", () => {
  const owners = [{ uid: "a" }, { uid: "b", controller: false }, { uid: "c", controller: true }];
  assert.equal(controllerUIDOf(ownedBy(owners)), "c");
});

test("a pod without a controller has none, whatever it holds in its place", () => {
  const longest = "u".repeat(128);
  assert.equal(controllerUIDOf(ownedBy([{ uid: longest, controller: true }])), longest);
  for (const odd of [[], [null], "none", 7, [{ uid: 7, controller: true }], [{ uid: `${longest}u`, controller: true }]])
    assert.equal(controllerUIDOf(ownedBy(odd)), undefined);
  for (const odd of [undefined, null, "pod", {}, { metadata: [] }]) assert.equal(controllerUIDOf(odd), undefined);
});
