import assert from "node:assert/strict";
import { test } from "node:test";
import { type LabelSelector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { compileSelector } from "../../../src/label-index/index.ts";
import { LabelledOwners } from "../../../src/scale/labelled-owners.ts";

const resource = { group: "apps", version: "v1", resource: "deployments" };
const mapping = { resource, kind: "Deployment", isNamespaced: true, hasScale: true };
const controller = (uid: string) => ({ apiVersion: "apps/v1", kind: "ReplicaSet", name: uid, uid });
const pod = (app: string, uid?: string) => ({
  namespace: "shop",
  labels: { app },
  controller: uid === undefined ? undefined : controller(uid),
});
const workload = (name: string, app: string | undefined, uid = name) => {
  const podLabels = app === undefined ? undefined : { app, tier: "front" };
  return { namespace: "shop", name, uid, podLabels };
};
const gone = { isEnding: false, isControlled: false };

function found(owners: LabelledOwners, selector: LabelSelector, namespace = "shop"): string {
  const compiled = compileSelector(selector);
  assert.ok(compiled.ok);
  const { controllers, hasBarePods } = owners.find(namespace, compiled.selector);
  return [...[...controllers.keys()].toSorted(), ...(hasBarePods ? ["bare"] : [])].join(" ");
}
const web = { matchLabels: { app: "web" } };

test("pods of one controller with the same labels are one entry, from the first to the last", () => {
  const owners = new LabelledOwners();
  assert.deepEqual([owners.addPod(pod("web", "a")), owners.addPod(pod("web", "a"))], [true, false]);
  assert.equal(owners.addPod(pod("web", "b")), true);
  assert.equal(owners.addPod(pod("db", "c")), true);
  assert.equal(found(owners, web), "a b");
  assert.equal(found(owners, {}), "a b c");
  assert.equal(found(owners, web, "other"), "");
  assert.deepEqual([owners.removePod(pod("web", "a")), owners.removePod(pod("web", "a"))], [false, true]);
  assert.equal(owners.removePod(pod("web", "a")), false);
  assert.equal(found(owners, web), "b");
});

test("pods without a controller are told apart", () => {
  const owners = new LabelledOwners();
  owners.addPod(pod("web"));
  assert.equal(found(owners, web), "bare");
  owners.addPod(pod("web", "a"));
  assert.equal(found(owners, web), "a bare");
  owners.removePod(pod("web"));
  assert.equal(found(owners, web), "a");
});

test("a workload is found by the labels of its pods to be, and no more when it has others, or none", () => {
  const owners = new LabelledOwners();
  owners.setWorkload(mapping, workload("w", "web"));
  assert.equal(found(owners, { matchLabels: { app: "web", tier: "front" } }), "w");
  owners.setWorkload(mapping, workload("w", "db"));
  assert.equal(found(owners, web), "");
  owners.setWorkload(mapping, workload("w", undefined));
  assert.equal(found(owners, {}), "");
});

test("a workload that vanishes is still found until it is back; a deleted or controlled one is not", () => {
  const owners = new LabelledOwners();
  for (const name of ["vanished", "deleted", "controlled"]) owners.setWorkload(mapping, workload(name, "web"));
  owners.removeWorkload(mapping, { ...workload("vanished", "web"), ...gone });
  owners.removeWorkload(mapping, { ...workload("deleted", "web"), ...gone, isEnding: true });
  owners.removeWorkload(mapping, { ...workload("controlled", "web"), ...gone, isControlled: true });
  assert.equal(found(owners, web), "vanished");
  owners.setWorkload(mapping, workload("vanished", "web", "again"));
  assert.equal(found(owners, web), "again");
  owners.removeWorkload(mapping, { ...workload("vanished", "web"), ...gone, isEnding: true });
  assert.equal(found(owners, web), "again", "that was another one of its name");
});

test("a limited number of those that vanished is remembered, the last ones", () => {
  const owners = new LabelledOwners(2);
  for (const name of ["one", "two", "three", "there"]) owners.setWorkload(mapping, workload(name, "web"));
  for (const name of ["one", "two"]) owners.removeWorkload(mapping, { ...workload(name, "web"), ...gone });
  owners.setWorkload(mapping, workload("one", "web", "again"));
  owners.removeWorkload(mapping, { ...workload("three", "web"), ...gone });
  assert.equal(found(owners, web), "again there three two", "what is back has not vanished");
  owners.removeWorkload(mapping, { ...workload("there", "web"), ...gone });
  assert.equal(found(owners, web), "again there three");
});
