import assert from "node:assert/strict";
import { test } from "node:test";
import { type Deployment, type Manifest, render } from "./manifest-files.ts";

interface NetworkPolicy extends Manifest {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
  };
}

const policies = render("network-policies") as NetworkPolicy[];
const deployments = ["single-cluster", "core", "worker"].flatMap((overlay) =>
  render(`overlays/${overlay}`).filter(({ kind }) => kind === "Deployment"),
) as Deployment[];
const selecting = ({ metadata, spec }: Deployment): NetworkPolicy[] =>
  policies.filter(
    (policy) =>
      policy.metadata.namespace === metadata.namespace &&
      Object.entries(policy.spec.podSelector.matchLabels).every(
        ([key, value]) => spec.template.metadata.labels[key] === value,
      ),
  );

test("of each pod the network policies let in what asks the webhook and reads metrics, and nothing else", () => {
  assert.ok(deployments.length >= 6);
  for (const deployment of deployments) {
    const { ports } = deployment.spec.template.spec.containers[0];
    const open = selecting(deployment).flatMap(({ spec }) => spec.ingress?.flatMap((rule) => rule.ports) ?? []);
    const expected = ports.map(({ name }) => name).filter((name) => name !== "healthz");
    assert.deepEqual(open.map(({ port }) => port).toSorted(), expected.toSorted(), deployment.metadata.name);
  }
});

test("every pod may connect to API servers alone", () => {
  for (const deployment of deployments) {
    const types = selecting(deployment).flatMap(({ spec }) => spec.policyTypes);
    assert.equal(types.filter((type) => type === "Egress").length, 1, deployment.metadata.name);
  }
});
