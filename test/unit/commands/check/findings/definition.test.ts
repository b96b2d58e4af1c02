import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionFindings } from "../../../../../src/commands/check/findings/definition.ts";
import { ownDefinition } from "../../../../../src/commands/carried/definition.ts";
import { read } from "../sound-facts.ts";

const found = (definition: unknown, release: string | undefined = "0.1.0"): readonly string[] =>
  definitionFindings({ definition: read(definition) }, release, "0.1.0").map(({ level, text }) => `${level} ${text}`);
const own = ownDefinition();
const without = (annotations: object): object => ({ ...own, metadata: { annotations } });

test("a CRD that is gone, and one that somebody has deleted, are failures with the way back", () => {
  assert.match(found(undefined)[0] ?? "", /^fail there is no CRD/);
  assert.match(found({ ...own, metadata: { deletionTimestamp: "x" } })[0] ?? "", /^fail somebody has deleted the CRD/);
});

test("the CRD of this release is in order, whoever runs", () => {
  assert.deepEqual(found(own), ["ok the CRD of PodProtectors keeps all fields"]);
  assert.deepEqual(found(own, undefined), ["ok the CRD of PodProtectors keeps all fields"]);
  assert.deepEqual(found(without({})), ["ok the CRD of PodProtectors keeps all fields"]);
});

test("a generator of another release than the CRD is told with both", () => {
  assert.deepEqual(found(own, "0.2.0"), ["warn the CRD is of release 0.1.0, the generator of 0.2.0"]);
});

test("a CRD that says no release is judged by its schema", () => {
  const text = JSON.stringify(without({})).replaceAll('"minimum":1', '"minimum":2');
  assert.ok(text !== JSON.stringify(without({})));
  assert.deepEqual(found(JSON.parse(text)), ["warn the CRD is of another release, the generator of 0.1.0"]);
  assert.deepEqual(found(JSON.parse(text), "0.2.0"), ["ok the CRD of PodProtectors keeps all fields"]);
});
