import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import {
  decodeGeneratorState,
  encodeReleases,
  isLetGo,
  readGeneratorState,
} from "../../../src/kube/generator-state.ts";
import { KubeError, type KubeClient } from "../../../src/kube/kube-client.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";

const release = {
  digest: digestOfUID("uid-1"),
  releasedAt: 1_700_000_000_123_456 as EpochMicros,
  cause: "deleted in namespace shop",
  number: 12,
  namespace: "shop",
};
const encoded = encodeReleases([release], { newest: 12, dropped: 3 });

test("the generator's state holds its releases as they were written", () => {
  const state = decodeGeneratorState({
    metadata: { resourceVersion: "7" },
    data: encoded,
  });
  assert.equal(state.resourceVersion, "7");
  assert.deepEqual(state.releases, [release]);
  assert.deepEqual(state.numbers, { newest: 12, dropped: 3 });
  assert.equal(isLetGo(state, "uid-1"), true);
  assert.equal(isLetGo(state, "uid-2"), false);
});

test("whether one was let go is told without a walk through all releases", () => {
  const state = decodeGeneratorState({ data: encoded });
  const unwalkable = {
    ...state,
    get releases(): never {
      throw new Error("10,000 lost PodProtectors among 5,000 releases stop a webhook for a second");
    },
  };
  assert.equal(isLetGo(unwalkable, "uid-1"), true);
  assert.equal(isLetGo(unwalkable, "uid-2"), false);
});

test("a list that an earlier release of the generator has written has no numbers, so nobody has missed any", () => {
  const { digest, cause } = release;
  const released = JSON.stringify([[digest, "2026-01-01T00:00:00Z", cause]]);
  for (const numbers of [undefined, "", "7", "a-b", "-1-2", "1e9-1"]) {
    const state = decodeGeneratorState({ data: { released, "released-numbers": numbers } });
    assert.deepEqual(state.numbers, { newest: 0, dropped: 0 });
    assert.deepEqual(
      state.releases.map(({ number, namespace }) => [number, namespace]),
      [[0, ""]],
    );
  }
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

const whole = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "podseidon-generator-state", namespace: "shop", resourceVersion: "7" },
  data: encoded,
};

function read(answer: unknown) {
  const request = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
  return readGeneratorState({ request } as unknown as KubeClient, "shop", {});
}

test("a ConfigMap that does not exist is an empty state", async () => {
  assert.deepEqual((await read(whole)).releases, [release]);
  const none = await read(new KubeError("notFound", "not found", { code: 404 }));
  assert.deepEqual([none.resourceVersion, none.data], [undefined, {}]);
});

test("an answer that is not the ConfigMap that was asked for is an error, and no empty state", async () => {
  const { metadata } = whole;
  const answers: unknown[] = [
    undefined,
    null,
    "ok",
    7,
    [],
    {},
    { kind: "Status", apiVersion: "v1", status: "Success" },
    { ...whole, kind: "Secret" },
    { ...whole, kind: undefined },
    { ...whole, apiVersion: "v2" },
    { ...whole, metadata: undefined },
    { ...whole, metadata: { ...metadata, name: "another" } },
    { ...whole, metadata: { ...metadata, name: undefined } },
    { ...whole, metadata: { ...metadata, namespace: "default" } },
    { ...whole, metadata: { ...metadata, resourceVersion: undefined } },
    { ...whole, metadata: { ...metadata, resourceVersion: "new" } },
  ];
  const isOdd = (error: unknown) =>
    error instanceof KubeError &&
    error.kind === "malformed" &&
    error.message.endsWith("the answer is not the ConfigMap shop/podseidon-generator-state");
  for (const answer of answers) await assert.rejects(read(answer), isOdd, JSON.stringify(answer));
});
