import assert from "node:assert/strict";
import { test } from "node:test";
import { causeOfLostKind, isLostKind, isOfLostKind } from "../../../../src/generator/mass-changes/lost-kinds.ts";
import { advancedStatefulSets } from "../../../../src/sources/advanced-stateful-set.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type OwnerKind, type SourceKind } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";

const { signal } = new AbortController();

function sourceOf(kind: SourceKind, ownerReferences: readonly object[] = []) {
  const metadata = { name: "db", namespace: "shop", uid: "u", resourceVersion: "1", ownerReferences };
  return readSource(kind, { metadata, spec: { selector: { matchLabels: { app: "db" } } } })!;
}

/** An API server that has lost these kinds; `asked` are those that it was asked for. */
function losing(...lost: readonly string[]) {
  const asked: string[] = [];
  const isLost = async ({ apiVersion, kind }: OwnerKind) => {
    asked.push(`${apiVersion} ${kind}`);
    return lost.includes(`${apiVersion} ${kind}`);
  };
  return { asked, isLost };
}

const own = "apps.kruise.io/v1beta1 StatefulSet";
const owners = "example.com/v1 App";
const owned = [{ apiVersion: "example.com/v1", kind: "App" }];

test("a kind that is being lost is a cause of its own, which names it as kubectl does", async () => {
  const cause = await causeOfLostKind(sourceOf(advancedStatefulSets), losing(own), signal);
  assert.deepEqual(cause, { text: "kind/StatefulSet.apps.kruise.io", isHalfTooMany: true });
  assert.ok(isLostKind("kind/StatefulSet.apps.kruise.io") && !isLostKind("owner/App.example.com"));
  assert.equal(await causeOfLostKind(sourceOf(advancedStatefulSets), losing(), signal), undefined);
});

test("kinds that are built in cannot be lost, and are not asked for", async () => {
  const questions = losing("apps/v1 StatefulSet");
  assert.equal(await causeOfLostKind(sourceOf(statefulSets), questions, signal), undefined);
  assert.equal(await isOfLostKind(sourceOf(statefulSets), questions, signal), false);
  assert.deepEqual(questions.asked, []);
});

test("the source's own kind counts as much as its owner's", async () => {
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets), losing(own), signal), true);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets), losing(owners), signal), false);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets, owned), losing(owners), signal), true);
  assert.equal(await isOfLostKind(sourceOf(statefulSets, owned), losing(owners), signal), true);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets, owned), losing(), signal), false);
});

test("without an answer there is no answer", async () => {
  const isLost = async () => Promise.reject(new Error("slow"));
  await assert.rejects(isOfLostKind(sourceOf(advancedStatefulSets), { isLost }, signal), /slow/);
});
