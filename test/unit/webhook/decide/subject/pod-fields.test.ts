import assert from "node:assert/strict";
import { test } from "node:test";
import { readPodRecord } from "../../../../../src/api/pod.ts";
import { controllerUIDOf, parsePod } from "../../../../../src/webhook/decide/subject/pod-fields.ts";
import { pod } from "../../support/objects.ts";

test("a pod of which only some fields are parsed is read as the whole one", () => {
  const whole = { ...pod("p", { annotations: { a: "b" }, nodeName: "n1" }), more: [[[[1]]]] };
  const parsed = parsePod(Buffer.from(JSON.stringify(whole)));
  assert.deepEqual(
    readPodRecord(parsed, undefined, () => undefined),
    readPodRecord(whole, undefined, () => undefined),
  );
  assert.ok(!JSON.stringify(parsed).includes("more"));
});

test("an answer that is no JSON, or holds more labels than any pod, is no pod", () => {
  assert.equal(parsePod(Buffer.from("<html>")), undefined);
  assert.equal(parsePod(Buffer.from('{"metadata":{"labels":nul}}')), undefined);
  const labels = Object.fromEntries(Array.from({ length: 21_000 }, (_, index) => [`k${index}`, ""]));
  assert.equal(parsePod(Buffer.from(JSON.stringify({ metadata: { labels } }))), undefined);
});

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
