import assert from "node:assert/strict";
import { test } from "node:test";
import { neverHadFloor, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";

const made = (minAvailable: number, generation?: number) =>
  ({ metadata: { generation }, spec: { minAvailable } }) as unknown as PodProtector;

test("a PodProtector that asks for nothing never had a floor while its spec is the first one", () => {
  assert.equal(neverHadFloor(made(0, 1)), true);
  assert.equal(neverHadFloor(made(1, 1)), false);
});

test("a PodProtector whose spec was changed, or whose generation is not known, may have had a floor", () => {
  assert.equal(neverHadFloor(made(0, 2)), false);
  assert.equal(neverHadFloor(made(0)), false);
});
