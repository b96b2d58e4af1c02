import assert from "node:assert/strict";
import { test } from "node:test";
import { countedSpec } from "../../../../../src/accounting/count/counted-spec.ts";
import { objectKey } from "../../../../../src/api/object-key.ts";
import { compileSelector, formatSelector } from "../../../../../src/label-index/index.ts";
import { editedBackSettleMs } from "../../../../../src/webhook/protector/doubts/edited-back.ts";
import { Protector } from "../../../../../src/webhook/protector/protector.ts";
import { createTestCore } from "../../support/core.ts";
import { cell, type Json } from "../../support/objects.ts";
import { deletionOf, protectorView } from "../../support/views.ts";

const web = { matchLabels: { app: "web" } };
const all = { matchExpressions: [{ key: "app", operator: "Exists" }] };

function countedAs(selector: Json, minReadySeconds = 0) {
  const compiled = compileSelector(selector);
  assert.ok(compiled.ok);
  return {
    countedSpec: countedSpec("uid-of-web", formatSelector(compiled.selector), minReadySeconds),
    countedMinReadySeconds: minReadySeconds,
  };
}

let version = 0;
/** A newer state of the object, with 100 pods in the cell c1. */
function state(selector: Json, counts: Json, minReadySeconds = 0) {
  version += 1;
  return protectorView({ selector, minReadySeconds, cells: [cell("c1", 100, counts)] }, version);
}

function protectorIn(...states: readonly ReturnType<typeof state>[]) {
  const { clock, core } = createTestCore();
  const protector = new Protector(core, objectKey("ns", "web"), () => {});
  for (const view of states) protector.watched(view);
  const verdict = () => protector.judge([deletionOf("p")]).verdicts[0]?.kind;
  return { clock, protector, verdict };
}

const byWeb = countedAs(web);

test("counts from before an edit that was undone are not in force until what went meanwhile is seen", async () => {
  const { clock, verdict } = protectorIn(state(web, byWeb), state(all, byWeb), state(web, byWeb));
  assert.equal(verdict(), "counts-pending");
  await clock.advance(editedBackSettleMs - 1);
  assert.equal(verdict(), "counts-pending");
  await clock.advance(1);
  assert.equal(verdict(), "admitted");
});

test("counts that were made for the edit are in force at once", () => {
  const { verdict } = protectorIn(
    state(web, byWeb),
    state(all, byWeb),
    state(all, countedAs(all)),
    state(web, countedAs(all)),
    state(web, byWeb),
  );
  assert.equal(verdict(), "admitted");
});

test("an edit of other fields leaves counts in force, also one that is undone", () => {
  const longer = countedAs(web, 30);
  const { verdict } = protectorIn(state(web, longer, 30), state(web, longer, 10), state(web, longer, 30));
  assert.equal(verdict(), "admitted");
});

test("counts of a Go aggregator do not say what they are for, and stay in force", () => {
  const { verdict } = protectorIn(state(web, {}), state(all, {}), state(web, {}));
  assert.equal(verdict(), "admitted");
});

test("an undone edit that only a live read has shown counts as well", () => {
  const { protector, verdict } = protectorIn(state(web, byWeb), state(all, byWeb));
  const known = protector.view;
  assert.ok(known !== undefined);
  protector.readLive(state(web, byWeb), known);
  assert.equal(verdict(), "counts-pending");
});

test("another object of the name starts without a history of edits", () => {
  const { protector, verdict } = protectorIn(state(web, byWeb), state(all, byWeb), state(web, byWeb));
  protector.watched(protectorView({ uid: "uid-2", cells: [cell("c1", 100)] }, (version += 1)));
  assert.equal(verdict(), "admitted");
});
