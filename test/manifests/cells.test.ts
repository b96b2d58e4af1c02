/** The overlays of cells that are parts of a cluster (docs/cells.md#parts-of-a-cluster). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Config } from "../../src/config/index.ts";
import { configOf, type Manifest, onlyOne, render } from "./manifest-files.ts";

interface Configuration extends Manifest {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly service: { readonly path: string } };
    readonly namespaceSelector: { readonly matchExpressions: readonly object[] };
  }[];
}
interface LabelPolicy extends Manifest {
  readonly spec: {
    readonly failurePolicy: string;
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly matchConstraints: {
      readonly resourceRules: readonly { readonly operations: string[]; readonly resources: string[] }[];
    };
  };
}
interface PolicyBinding extends Manifest {
  readonly spec: { readonly policyName: string; readonly validationActions: readonly string[] };
}

const cellConfigs = (objects: readonly Manifest[]): Config[] =>
  objects
    .filter(({ kind, metadata }) => kind === "Deployment" && metadata.name.startsWith("podseidon-aggregator"))
    .map(({ metadata }) => configOf(objects, metadata.name));

test("each namespace that is a cell has its aggregator and its webhook configuration, and no namespace has two", () => {
  const objects = render("overlays/namespace-cells");
  const cells = cellConfigs(objects);
  const names = cells.map(({ aggregator }) => aggregator.cellID);
  assert.deepEqual(names, ["team-a", "team-b"]);
  assert.deepEqual([...configOf(objects, "podseidon-webhook").webhook.allowedCells], names);
  for (const { aggregator, cores, worker, updateTrigger } of cells) {
    const { cellID } = aggregator;
    assert.deepEqual([worker.namespace, ...Array.from(cores.values(), ({ namespace }) => namespace)], [cellID, cellID]);
    assert.equal(updateTrigger.dummyPod.namespace, cellID);
    assert.equal(aggregator.elector.name, `podseidon-aggregator-${cellID}`);
    const { webhooks } = onlyOne<Configuration>(objects, "ValidatingWebhookConfiguration", `podseidon-${cellID}`);
    assert.equal(webhooks.length, 3);
    for (const { clientConfig, namespaceSelector } of webhooks) {
      assert.equal(clientConfig.service.path, `/${cellID}`);
      assert.deepEqual(namespaceSelector.matchExpressions, [
        { key: "kubernetes.io/metadata.name", operator: "In", values: [cellID] },
      ]);
    }
  }
});

test("no namespace of a team is created or deleted with the overlay", () => {
  const namespaces = render("overlays/namespace-cells").filter(({ kind }) => kind === "Namespace");
  assert.deepEqual(
    namespaces.map(({ metadata }) => metadata.name),
    ["podseidon-system"],
  );
});

const labelPolicy = "podseidon-cell-label";

test("the cells by label, the webhook and the policy agree on the label and on the cells", () => {
  const objects = render("overlays/label-cells");
  const key = "podseidon.kubewharf.io/cell";
  const cells = cellConfigs(objects);
  const { webhook } = configOf(objects, "podseidon-webhook");
  assert.equal(webhook.cellLabel, key);
  assert.deepEqual(
    [...webhook.allowedCells],
    cells.map(({ aggregator }) => aggregator.cellID),
  );
  // That the selector and the dummy pod fit is checked at the start, with this flag.
  for (const config of cells) assert.equal(config.webhook.cellLabel, key);
  assert.equal(new Set(cells.map(({ updateTrigger }) => updateTrigger.dummyPod.name)).size, cells.length);
  const { webhooks } = onlyOne<Configuration>(objects, "ValidatingWebhookConfiguration");
  for (const { clientConfig } of webhooks) assert.equal(clientConfig.service.path, "/by-label");
  const policy = onlyOne<LabelPolicy>(objects, "ValidatingAdmissionPolicy", labelPolicy);
  assert.deepEqual(policy.spec.variables, [{ name: "key", expression: `'${key}'` }]);
});

test("the policy refuses, and sees each write by which labels of a pod may change", () => {
  const objects = render("overlays/label-cells");
  const { metadata, spec } = onlyOne<LabelPolicy>(objects, "ValidatingAdmissionPolicy", labelPolicy);
  assert.equal(spec.failurePolicy, "Fail");
  const [rule] = spec.matchConstraints.resourceRules;
  assert.deepEqual(rule?.operations, ["UPDATE"]);
  for (const resource of ["pods", "pods/status"]) assert.ok(rule.resources.includes(resource), resource);
  const binding = onlyOne<PolicyBinding>(objects, "ValidatingAdmissionPolicyBinding", labelPolicy);
  assert.deepEqual(binding.spec, { policyName: metadata.name, validationActions: ["Deny"] });
});
