import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { SourceChoice, WantedProtectors } from "../../../../src/generator/sources/source-choice.ts";
import { type NamespaceMode } from "../../../../src/config/generator-rules.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type SourceKind } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";

const alone: SourceKind = { ...statefulSets, isOnlyProtectedAlone: true };
const controller = { apiVersion: "example.com/v1", kind: "App", name: "a", uid: "a", controller: true };

function chosen(
  kind: SourceKind,
  metadata: object,
  { replicas = 3, hasProtector = false, protectNonZero = false } = {},
) {
  const sourceSelector = { matchLabels: { guard: "yes" } };
  const deploymentPlugin = { protectionSelector: { matchLabels: { protect: "yes" } }, protectNonZero };
  const source = readSource(kind, {
    metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", ...metadata },
    spec: { replicas, selector: { matchLabels: { app: "web" } } },
  });
  return new SourceChoice({ sourceSelector, deploymentPlugin }).isChosen(source!, hasProtector);
}

test("Deployments are chosen by their own selector, and all other kinds by the common one", () => {
  assert.ok(chosen(deployments, { labels: { protect: "yes" } }));
  assert.ok(!chosen(deployments, { labels: { guard: "yes" } }));
  assert.ok(chosen(statefulSets, { labels: { guard: "yes" } }));
  assert.ok(!chosen(statefulSets, { labels: { protect: "yes" } }));
});

test("the annotation protect=false opts out whatever the selectors say, and nothing else does", () => {
  const of = (value: string) => ({
    labels: { guard: "yes" },
    annotations: { "podseidon.kubewharf.io/protect": value },
  });
  assert.ok(!chosen(statefulSets, of("false"), { hasProtector: true }));
  assert.ok(chosen(statefulSets, of("true")) && chosen(statefulSets, of("False")) && chosen(statefulSets, of("")));
});

test("a terminating source is let go, but for a Deployment that is protected until it has no replicas", () => {
  const metadata = { labels: { protect: "yes", guard: "yes" }, deletionTimestamp: "2026-01-01T00:00:00Z" };
  assert.ok(!chosen(deployments, metadata));
  assert.ok(chosen(deployments, metadata, { protectNonZero: true }));
  assert.ok(!chosen(deployments, metadata, { protectNonZero: true, replicas: 0 }));
  assert.ok(!chosen(statefulSets, metadata, { protectNonZero: true }));
});

test("a kind that is only protected alone leaves what has a controller to that, unless it is protected already", () => {
  const labels = { guard: "yes" };
  const owned = { labels, ownerReferences: [controller] };
  assert.ok(chosen(alone, { labels }));
  assert.ok(!chosen(alone, owned));
  assert.ok(chosen(alone, { labels, ownerReferences: [{ ...controller, controller: false }] }));
  assert.ok(chosen(alone, owned, { hasProtector: true }));
  assert.ok(!chosen(alone, { ownerReferences: [controller] }, { hasProtector: true }), "no longer selected");
  assert.ok(chosen(alone, { ...owned, finalizers: [finalizer] }), "its PodProtector was lost while nobody looked");
  assert.ok(chosen(statefulSets, owned));
});

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
    modes: { of: () => mode, criterionOf: () => "Ready", keepOf: () => undefined },
    lifecycle: { isCriterionDropped: false, areOwnersDropped: false },
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
