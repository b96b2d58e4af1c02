import assert from "node:assert/strict";
import { test } from "node:test";
import { readEditor } from "../../../../src/generator/protectors/protector-editor.ts";

const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const floor = { "f:spec": { "f:minAvailable": {} } };
const generated = { "f:metadata": { "f:annotations": { "f:podseidon.kubewharf.io/generated": {} } } };

test("the editor is who wrote one of the fields last", () => {
  const fields = [
    { manager: "podseidon", time: at(0), fieldsV1: { ...generated, "f:spec": { "f:selector": {} } } },
    { manager: "argocd", time: at(1), fieldsV1: floor },
    { manager: "kubectl-edit", time: at(2), fieldsV1: floor },
  ];
  assert.equal(readEditor(fields, ["minAvailable"]), "kubectl-edit");
  assert.equal(readEditor(fields, ["selector"]), undefined, "the generator's own");
  assert.equal(readEditor(fields, []), undefined);
});

test("whoever made the object is no editor, and neither is another role or command", () => {
  const made = { manager: "velero-server", time: at(1), fieldsV1: { ...generated, ...floor } };
  assert.equal(readEditor([made], ["minAvailable"]), undefined);
  const command = { manager: "podseidon-command", time: at(1), fieldsV1: floor };
  assert.equal(readEditor([command], ["minAvailable"]), undefined);
});

test("what is not understood has no editor", () => {
  for (const wrong of [undefined, null, 3, "x", {}, [undefined], [{ manager: 3, fieldsV1: floor }], [{ manager: "a" }]])
    assert.equal(readEditor(wrong, ["minAvailable"]), undefined);
});
