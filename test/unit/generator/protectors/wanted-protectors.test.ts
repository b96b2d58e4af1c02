import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type NamespaceMode } from "../../../../src/config/generator-rules.ts";
import { WantedProtectors } from "../../../../src/generator/protectors/wanted-protectors.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { readSource } from "../../../../src/sources/read-source.ts";

function wanted(mode: NamespaceMode | undefined, overrides: Record<string, string> = {}) {
  const source = readSource(deployments, {
    metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", annotations: overrides },
    spec: { replicas: 4, selector: { matchLabels: { app: "web" } } },
  });
  assert.ok(source !== undefined);
  const deploymentPlugin = { protectionSelector: {}, protectNonZero: false };
  const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;
  return new WantedProtectors({
    config: { sourceSelector: {}, deploymentPlugin, ...rule },
    modes: { of: () => mode, criterionOf: () => "Ready" },
    lifecycle: { isCriterionDropped: false },
  }).of(source, undefined);
}

test("a source wants a PodProtector in the mode of its namespace, and none where that is off or not seen yet", () => {
  assert.equal(wanted("enforced")?.annotations[annotations.mode], undefined);
  assert.equal(wanted("shadow")?.annotations[annotations.mode], "shadow");
  assert.equal(wanted("off"), undefined);
  assert.equal(wanted(undefined), undefined);
});

test("the criterion is the workload's own, else that of its namespace", () => {
  assert.equal(wanted("enforced")?.optional.healthCriterion, "Ready");
  assert.equal(wanted("enforced", { [annotations.healthCriterion]: "Running" })?.optional.healthCriterion, "Running");
});
