import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import { decodeGeneratorState, encodeReleases, isLetGo } from "../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";

const release = {
  digest: digestOfUID("uid-1"),
  releasedAt: 1_700_000_000_123_456 as EpochMicros,
  cause: "deleted in namespace shop",
};

test("the generator's state holds its releases as they were written", () => {
  const state = decodeGeneratorState({
    metadata: { resourceVersion: "7" },
    data: { released: encodeReleases([release]) },
  });
  assert.equal(state.resourceVersion, "7");
  assert.deepEqual(state.releases, [release]);
  assert.equal(isLetGo(state, "uid-1"), true);
  assert.equal(isLetGo(state, "uid-2"), false);
});

test("whether one was let go is told without a walk through all releases", () => {
  const state = decodeGeneratorState({ data: { released: encodeReleases([release]) } });
  const unwalkable = {
    ...state,
    get releases(): never {
      throw new Error("10,000 lost PodProtectors among 5,000 releases stop a webhook for a second");
    },
  };
  assert.equal(isLetGo(unwalkable, "uid-1"), true);
  assert.equal(isLetGo(unwalkable, "uid-2"), false);
});

test("a person lets a vanished PodProtector go by a key with its UID", () => {
  const state = decodeGeneratorState({ metadata: {}, data: { "uid.uid-2": "" } });
  assert.equal(isLetGo(state, "uid-2"), true);
  assert.equal(isLetGo(state, "uid-1"), false);
});

test("a state of the generator that cannot be read releases nothing", () => {
  for (const released of ["", "{", "7", "[[]]", '[["x"]]', '[[1,"2026-01-01T00:00:00Z",""]]', "null"])
    assert.deepEqual(decodeGeneratorState({ data: { released } }).releases, [], released);
  for (const raw of [undefined, null, 7, "x", [], { data: 7, metadata: [] }, { data: { released: 7 } }])
    assert.deepEqual(decodeGeneratorState(raw).releases, []);
});
