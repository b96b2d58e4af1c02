import assert from "node:assert/strict";
import { test } from "node:test";
import { createIdentity } from "../../../../src/kube/leader-election/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";

test("two processes on one host have different identities", () => {
  const rng = createSeededRng(1);
  assert.match(createIdentity(rng), /^.+_[0-9a-f]{32}$/);
  assert.notEqual(createIdentity(rng), createIdentity(rng));
});
