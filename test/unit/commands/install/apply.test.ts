import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apply,
  isIncluded,
  readObject,
  removeObject,
  stateOf,
  titleOf,
} from "../../../../src/commands/install/apply.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createStage } from "./empty-cluster.ts";

const role = (rules: readonly unknown[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "podseidon-x", namespace: "podseidon-system" },
  rules,
});

test("an object is created, then in place, and changed when something else is wanted", async () => {
  const { clusters, siteOf } = createStage();
  const site = siteOf("core");
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "create" });
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "in place" });
  assert.deepEqual(await stateOf(site, role([1, 2])), { ok: true, value: "change" });
  assert.deepEqual(await apply(site, role([1, 2])), { ok: true, value: "change" });
  const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/podseidon-system/roles";
  assert.deepEqual(clusters.core.writes, [`POST ${path}`, `PATCH ${path}/podseidon-x`]);
});

test("what an API server or others have added is no change, and a list that is longer is one", () => {
  assert.ok(isIncluded({ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 1, d: 2 }], e: 3 }, f: 4 }));
  assert.ok(!isIncluded([1], [1, 2]));
  assert.ok(!isIncluded({ a: 1 }, { a: 2 }));
  assert.ok(!isIncluded({ a: {} }, {}));
});

test("an API server that has left out a list because it is empty has what is wanted", () => {
  assert.ok(isIncluded({ volumes: [] }, { containers: [] }));
  assert.ok(!isIncluded({ volumes: [] }, { volumes: [1] }));
  assert.ok(!isIncluded({ volumes: [1] }, {}));
});

test("an object that another run has made in between is no failure, and gets what is wanted", async () => {
  const { clusters, siteOf } = createStage();
  const site = siteOf("core");
  const request = clusters.core.request.bind(clusters.core);
  clusters.core.request = async (asked) => {
    if (asked.method !== "POST") return request(asked);
    clusters.core.request = request;
    await apply(site, role([2]));
    throw new KubeError("alreadyExists", "409");
  };
  assert.deepEqual(await apply(site, role([1])), { ok: true, value: "change" });
  assert.deepEqual(await stateOf(site, role([1])), { ok: true, value: "in place" });
});

test("what is gone is removed", async () => {
  const site = createStage().siteOf("core");
  assert.equal(await removeObject(site, role([])), undefined);
  await apply(site, role([]));
  assert.equal(await removeObject(site, role([])), undefined);
  assert.deepEqual(await readObject(site, role([])), { ok: true, value: undefined });
});

test("a plural that ends in y, and one of the core group, are as the API has them", async () => {
  const { clusters, siteOf } = createStage();
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "p" },
  };
  await apply(siteOf("core"), policy);
  await apply(siteOf("core"), { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  assert.deepEqual(clusters.core.writes, [
    "POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "POST /api/v1/namespaces",
  ]);
  assert.equal(titleOf(policy), "ValidatingAdmissionPolicy p");
  assert.equal(titleOf(role([])), "Role podseidon-system/podseidon-x");
});

test("a right that is missing is named with the verb", async () => {
  const { clusters, siteOf } = createStage();
  clusters.core.forbidden = /^POST/;
  const done = await apply(siteOf("core"), role([]));
  assert.match(done.ok ? "" : done.problem, /you may not create roles\.rbac\.authorization\.k8s\.io podseidon-x/);
});
