/** The oracle of custom kinds, budgets and overrides, by the examples of docs/generator.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { apiVersionOf } from "../../../double/engine/resources.ts";
import {
  type KindOfSource,
  kindOf,
  ofAdvancedStatefulSets,
  ofBudgets,
  ofCloneSets,
  ofDatabases,
  ofDeployments,
  ofRollouts,
  protectorKeyOf,
} from "./kinds.ts";
import { selectorText } from "./selectors.ts";
import { type SourceRules } from "./shares.ts";
import { wantedOf } from "./wanted.ts";

const usual: SourceRules = { percentRounding: "at-least-one", singleReplica: "drainable", protectsNonZero: true };
const prefix = "podseidon.kubewharf.io";
const hash = "rollouts-pod-template-hash";

function object({ type }: KindOfSource, spec: JsonObject, status: JsonObject = {}, set: JsonObject = {}): KubeObject {
  const fixed = { name: "web", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const named = Object.entries(set).map(([name, text]) => [`${prefix}/${name}`, String(text)]);
  const annotations = Object.fromEntries(named);
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { ...fixed, annotations }, spec, status };
}

function floor(kind: KindOfSource, spec: JsonObject, set: JsonObject = {}, expected?: number): unknown {
  return wantedOf(object(kind, { selector: { matchLabels: { app: "web" } }, ...spec }, {}, set), usual, expected)
    ?.minAvailable;
}

test("kinds of one name in two groups are told apart", () => {
  assert.equal(protectorKeyOf(object(ofAdvancedStatefulSets, {})), "default/advancedstatefulset-web");
  assert.equal(kindOf({ apiVersion: "apps/v1", kind: "StatefulSet" })?.prefix, "statefulset-");
  assert.equal(protectorKeyOf(object(ofDatabases, {})), "default/scale.databases.example.com-web");
});

test("a CloneSet lends a fifth, rounded up by an update without surge pods", () => {
  assert.equal(floor(ofCloneSets, { replicas: 10 }), 8);
  assert.equal(floor(ofCloneSets, { replicas: 11 }), 8);
  assert.equal(floor(ofCloneSets, { replicas: 11, updateStrategy: { maxSurge: 1 } }), 9);
  assert.equal(floor(ofCloneSets, { replicas: 10, updateStrategy: { maxUnavailable: 4 } }), 6);
});

test("an Advanced StatefulSet has its minReadySeconds in its rolling update", () => {
  const spec = { replicas: 10, minReadySeconds: 3, updateStrategy: { rollingUpdate: { minReadySeconds: 7 } } };
  const wanted = wantedOf(object(ofAdvancedStatefulSets, spec), usual);
  assert.deepEqual([wanted?.minAvailable, wanted?.minReadySeconds], [9, 7]);
});

test("of a Rollout those pods count that serve", () => {
  const selector = { matchLabels: { app: "web" } };
  const status = { selector: `app=web,${hash}=active`, stableRS: "stable" };
  const of = (strategy: JsonObject, rest: JsonObject = { selector }): unknown[] => {
    const wanted = wantedOf(object(ofRollouts, { replicas: 10, strategy, ...rest }, status), usual);
    return [wanted?.minAvailable, wanted?.selector];
  };
  const withHash = (value: string): string => selectorText({ matchLabels: { app: "web", [hash]: value } });
  assert.deepEqual(of({ blueGreen: { activeService: "a" } }), [8, withHash("active")]);
  assert.deepEqual(of({ canary: { trafficRouting: {}, maxUnavailable: 1 } }), [9, withHash("stable")]);
  const both = { canary: { trafficRouting: {}, dynamicStableScale: true, maxUnavailable: 1 } };
  assert.deepEqual(of(both), [9, selectorText(selector)]);
  const exists = { key: hash, operator: "Exists" };
  const referring = { workloadRef: { kind: "Deployment" } };
  assert.deepEqual(of({ canary: {} }, referring)[1], selectorText({ ...selector, matchExpressions: [exists] }));
});

test("a custom resource is known by its scale, and nobody knows what it wants without a selector", () => {
  const wanted = wantedOf(object(ofDatabases, { members: 10 }, { selector: "app=web" }), usual);
  assert.deepEqual([wanted?.minAvailable, wanted?.selector], [8, selectorText({ matchLabels: { app: "web" } })]);
  assert.equal(wantedOf(object(ofDatabases, { members: 10 }), usual)?.minAvailable, undefined);
});

test("a budget rounds up, and is never above what it selects", () => {
  assert.equal(floor(ofBudgets, { minAvailable: 3 }, {}, 2), 2);
  assert.equal(floor(ofBudgets, { minAvailable: "29%" }, {}, 10), 3);
  assert.equal(floor(ofBudgets, { maxUnavailable: "29%" }, {}, 10), 7);
  assert.equal(floor(ofBudgets, {}, {}, 10), 10);
  assert.equal(floor(ofBudgets, { minAvailable: 3 }), undefined);
});

test("overrides set the floor as far as they can be read", () => {
  const spec = { replicas: 10 };
  assert.equal(floor(ofDeployments, spec, { "min-available": "29%" }), 3);
  assert.equal(floor(ofDeployments, spec, { "min-available": "40" }), 10);
  assert.equal(floor(ofDeployments, spec, { "max-unavailable": "29%" }), 8);
  assert.equal(floor(ofDeployments, spec, { "max-unavailable": "0" }), 10);
  for (const text of ["120%", "some", "-1", ""]) assert.equal(floor(ofDeployments, spec, { "min-available": text }), 8);
  assert.equal(floor(ofDeployments, spec, { "min-available": "1", "max-unavailable": "1" }), 8);
  assert.equal(floor(ofBudgets, { minAvailable: 3 }, { "max-unavailable": "0" }, 4), 4);
  assert.equal(wantedOf(object(ofDeployments, spec, {}, { protect: "false" }), usual), undefined);
  assert.equal(wantedOf(object(ofDeployments, spec, {}, { "min-ready-seconds": "5" }), usual)?.minReadySeconds, 5);
});
