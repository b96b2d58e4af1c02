import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compareResourceVersions,
  newerResourceVersion,
  parseResourceVersion,
} from "../../../src/api/resource-version.ts";
import { objectKey, partsOf, protectorID } from "../../../src/api/object-key.ts";

const version = (text: string): NonNullable<ReturnType<typeof parseResourceVersion>> => {
  const parsed = parseResourceVersion(text);
  assert.ok(parsed, text);
  return parsed;
};

test("a version is a positive decimal number without leading zeros, up to 128 bits", () => {
  for (const text of ["1", "10", "9".repeat(39)]) assert.equal(parseResourceVersion(text), text);
  for (const other of [
    "",
    "0",
    "01",
    "-1",
    "+1",
    "1.0",
    "1e3",
    " 1",
    "1\n",
    "９",
    "9".repeat(40),
    7,
    null,
    undefined,
    {},
  ]) {
    assert.equal(parseResourceVersion(other), undefined, JSON.stringify(other));
  }
});

test("versions compare as numbers, also beyond what a double holds", () => {
  const ascending = [
    "1",
    "2",
    "9",
    "10",
    "99",
    "100",
    "9007199254740992",
    "9007199254740993",
    "9".repeat(38),
    "9".repeat(39),
  ];
  for (const [i, a] of ascending.entries()) {
    for (const [j, b] of ascending.entries()) {
      assert.equal(Math.sign(compareResourceVersions(version(a), version(b))), Math.sign(i - j), `${a} ${b}`);
    }
  }
});

test("the newer one wins, and anything is newer than nothing", () => {
  assert.equal(newerResourceVersion(version("9"), version("10")), "10");
  assert.equal(newerResourceVersion(version("10"), version("9")), "10");
  assert.equal(newerResourceVersion(version("9"), undefined), "9");
  assert.equal(newerResourceVersion(undefined, version("9")), "9");
  assert.equal(newerResourceVersion(undefined, undefined), undefined);
});

test("an object key names namespace and name, and gives them back", () => {
  const key = objectKey("default", "web");
  assert.equal(key, "default/web");
  assert.deepEqual(partsOf(key), { namespace: "default", name: "web" });
});

test("the key of a cluster-scoped object is its name", () => {
  assert.equal(objectKey("", "default"), "default");
  assert.equal(objectKey(undefined, "default"), "default");
  assert.deepEqual(partsOf(objectKey("", "default")), { namespace: "", name: "default" });
});

test("a PodProtector is named by core, namespace and name", () => {
  assert.equal(protectorID("core", objectKey("default", "web")), "core/default/web");
});
