import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "../../../../src/api/v1alpha1/names.ts";
import { decodeNamespace } from "../../../../src/generator/sources/namespace-modes.ts";

function namespace(own: Record<string, string>, more: object = {}) {
  return decodeNamespace({ metadata: { name: "shop", uid: "u", resourceVersion: "7", labels: own, ...more } });
}

test("a Namespace says its mode and criterion by its labels, and who wrote that of the mode", () => {
  const managedFields = [
    { manager: "kubectl-create", fieldsV1: { "f:metadata": { "f:labels": { "f:team": {} } } } },
    {
      manager: "argocd",
      time: "2026-01-01T00:00:00Z",
      fieldsV1: { "f:metadata": { "f:labels": { [`f:${labels.mode}`]: {} } } },
    },
  ];
  const read = namespace({ [labels.mode]: "off", [labels.healthCriterion]: "Ready" }, { managedFields });
  assert.deepEqual(read?.mode, { value: "off" });
  assert.deepEqual(read?.healthCriterion, { value: "Ready" });
  assert.equal(read?.modeWriter?.manager, "argocd");
  assert.deepEqual(read?.problems, []);
  const { mode, modeWriter, healthCriterion } = namespace({}, { managedFields }) ?? {};
  assert.deepEqual([mode, modeWriter, healthCriterion], [undefined, undefined, undefined]);
});

test("a label that cannot be read is a problem that names the label, the value and what is allowed", () => {
  const read = namespace({ [labels.mode]: "Shadow", [labels.healthCriterion]: "Alive" });
  assert.equal(read?.mode, "unreadable");
  assert.equal(read?.healthCriterion, "unreadable");
  assert.match(read?.problems[0] ?? "", /mode="Shadow": it must be one of enforced, shadow, off$/);
  assert.match(read?.problems[1] ?? "", /health-criterion="Alive": it must be one of Scheduled, /);
});

test("what is no Namespace is not read", () => {
  for (const raw of [undefined, {}, { metadata: { name: "shop" } }, { metadata: { name: 1, uid: "u" } }])
    assert.equal(decodeNamespace(raw), undefined);
});
