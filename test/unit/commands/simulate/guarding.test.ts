import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { readGuarding, withObject } from "../../../../src/commands/simulate/guarding.ts";
import { protector, rawProtector } from "./support.ts";

test("a valid PodProtector is taken with its counting selector and the name of its core", () => {
  const aggregationSelector = { matchLabels: { app: "web" } };
  const read = readGuarding("east", rawProtector("web", { spec: { aggregationSelector } }));
  assert(read !== undefined);
  assert.equal(read.id, "east/shop/web");
  assert.deepEqual(read.selector, aggregationSelector);
  assert.equal(read.isShadow, false);
  assert.equal(read.state.kind, "valid");
});

test("a released PodProtector is not in force, whether it is valid or not", () => {
  const metadata = { annotations: { [annotations.released]: "true" } };
  assert.equal(readGuarding("core", rawProtector("web", { metadata })), undefined);
  assert.equal(readGuarding("core", rawProtector("web", { metadata, spec: { minAvailable: "x" } })), undefined);
});

test("an invalid PodProtector keeps what the valid part of its selector selects", () => {
  const read = readGuarding("core", rawProtector("web", { spec: { minAvailable: "many" } }));
  assert.equal(read?.state.kind, "unusable");
  assert.deepEqual(read?.selector.matchLabels, { app: "web" });
});

test("a PodProtector in shadow says so", () => {
  const metadata = { annotations: { [annotations.mode]: "shadow" } };
  assert.equal(readGuarding("core", rawProtector("web", { metadata }))?.isShadow, true);
});

test("what is no object with a name is passed over", () => {
  assert.equal(readGuarding("core", null), undefined);
  assert.equal(readGuarding("core", { metadata: { name: "web" } }), undefined);
});

test("another status of the same object is judged by", () => {
  const { state } = protector("web", { cells: { a: 3 } });
  assert(state.kind === "valid");
  const { status: _, ...without } = state.view.protector;
  assert.equal(withObject(state.view, without).protector.status, undefined);
});
