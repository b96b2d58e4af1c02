import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { planFor, protectorKeyOf } from "../../../../src/generator/sources/source-plan.ts";
import { askedBefore, askedNow } from "../../../../src/generator/mass-changes/asking.ts";
import { type HeldChanges } from "../../../../src/generator/mass-changes/held-changes.ts";
import { readProtector } from "../../../../src/kube/resources.ts";
import { deployment, protector, rule } from "./samples.ts";

const { signal } = new AbortController();
const source = deployment(8);
const wanted = planFor(source, rule);
const key = protectorKeyOf(source);
const storedWith = (floor: number) => {
  const read = readProtector(protector(floor));
  assert.ok(read.ok);
  return read.stored;
};
const beforeRestore = (found: unknown) => found;
const never = { beforeRestore, judge: () => assert.fail("is not asked"), resting: () => assert.fail("is not asked") };
const answering = (answer: unknown) =>
  ({ beforeRestore, judge: async () => answer, resting: () => answer }) as never as HeldChanges;

test("a floor that stays or rises, and a PodProtector that is not there, need no judgement", async () => {
  for (const stored of [undefined, storedWith(6), storedWith(1)]) {
    const asked = { stored, source, wanted };
    assert.equal((await askedNow(never as never, key, asked, signal)).kept, wanted);
    assert.deepEqual(askedBefore(never as never, key, asked), { kept: wanted });
  }
});

test("while a lower floor is held, everything else that is wanted is kept", async () => {
  const asked = { stored: storedWith(9), source, wanted };
  const kept = { ...wanted, spec: { ...wanted.spec, minAvailable: 9 } };
  assert.deepEqual(await askedNow(answering({ kind: "held" }), key, asked, signal), { kind: "held", kept });
  assert.deepEqual(askedBefore(answering("held"), key, asked), { kept });
  assert.deepEqual(askedBefore(answering({ waitMs: 5 }), key, asked), { waitMs: 5 });
  assert.equal((await askedNow(answering({ kind: "pass" }), key, asked, signal)).kept, wanted);
});

test("while a release is held, nothing is done", async () => {
  const asked = { stored: storedWith(9), source, wanted: undefined };
  assert.equal((await askedNow(answering({ kind: "held" }), key, asked, signal)).kept, undefined);
  assert.equal(askedBefore(answering("held"), key, asked), "held");
});

test("a floor that a restore has lowered is what it was before, until that is judged", async () => {
  const beforeRestore = () => storedWith(9);
  const changes = (answer: unknown) =>
    ({ beforeRestore, judge: async () => answer, resting: () => undefined }) as never as HeldChanges;
  const asked = { stored: storedWith(wanted.spec.minAvailable), source, wanted };
  const kept = { ...wanted, spec: { ...wanted.spec, minAvailable: 9 } };
  assert.deepEqual(askedBefore(changes({}), key, asked), { kept });
  assert.deepEqual(await askedNow(changes({ kind: "held" }), key, asked, signal), { kind: "held", kept });
  assert.equal((await askedNow(changes({ kind: "pass" }), key, asked, signal)).kept, wanted);
});

test("while shadow is held, the PodProtector stays out of it; one that is in it needs no leave", async () => {
  const shadowed = planFor(source, rule, { mode: "shadow", healthCriterion: undefined });
  const floor = wanted.spec.minAvailable;
  for (const present of [floor - 1, floor, floor + 1]) {
    const goals: unknown[] = [];
    const judge = async (_key: unknown, { to }: { readonly to: unknown }) => {
      goals.push(to);
      return { kind: "held" };
    };
    const changes = { beforeRestore, judge, resting: (_key: unknown, to: unknown) => goals.push(to) && "held" };
    const asked = { stored: storedWith(present), source, wanted: shadowed };
    const kept = { ...wanted, spec: { ...wanted.spec, minAvailable: Math.max(present, floor) } };
    assert.deepEqual(await askedNow(changes as never, key, asked, signal), { kind: "held", kept });
    assert.deepEqual(askedBefore(changes as never, key, asked), { kept });
    assert.deepEqual(goals, ["shadow", "shadow"]);
  }
  const read = readProtector(protector(floor, { [annotations.mode]: "shadow" }));
  assert.ok(read.ok);
  for (const stored of [read.stored, storedWith(0)]) {
    const asked = { stored, source, wanted: shadowed };
    assert.equal((await askedNow(never as never, key, asked, signal)).kept, shadowed);
  }
});
