import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import { type ObjectMeta } from "../../../src/api/v1alpha1/pod-protector.ts";
import { finalizerCommand, guardedKinds, listWaiting } from "../../../src/sources/waiting-deletions.ts";
import { createScriptedKubeClient } from "../kube/scripted-kube-client.ts";

function generated(apiVersion: string, kind: string, resource: string, group: string): ObjectMeta {
  return {
    name: "p",
    namespace: "shop",
    uid: "p",
    resourceVersion: "1",
    labels: { [sourceLabels.kind]: kind, [sourceLabels.resource]: resource, [sourceLabels.group]: group },
    ownerReferences: [{ apiVersion, kind, name: "web", uid: "u" }],
  };
}

const deployment = generated("apps/v1", "Deployment", "deployments", "apps");
const custom = (index: number) => generated(`g${index}.io/v1`, "Game", "games", `g${index}.io`);

test("the kinds are those of the PodProtectors: each once, custom ones too, hand-made ones name none", () => {
  const byHand: ObjectMeta = { name: "h", namespace: "shop", uid: "h", resourceVersion: "1" };
  const old = generated("v1", "ReplicationController", "replicationcontrollers", "");
  assert.deepEqual(
    guardedKinds([deployment, byHand, custom(1), deployment, old]).map(({ apiVersion, resource }) => [
      apiVersion,
      resource,
    ]),
    [
      ["apps/v1", { group: "apps", version: "v1", resource: "deployments" }],
      ["v1", { group: "", version: "v1", resource: "replicationcontrollers" }],
      ["g1.io/v1", { group: "g1.io", version: "v1", resource: "games" }],
    ],
  );
});

test("kinds that get no finalizer are left out, and labels that fit no owner name nothing", () => {
  const budget = generated("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "policy");
  const forged = generated("v1", "Deployment", "deployments", "apps");
  assert.deepEqual(guardedKinds([budget, forged]), []);
});

test("made-up kinds are limited, and crowd out no built-in one", () => {
  const made = Array.from({ length: 100 }, (_, index) => custom(index));
  const kinds = guardedKinds([...made, deployment]);
  assert.equal(kinds.length, 20);
  assert.equal(kinds[0]?.kind, "Deployment");
});

test("a workload waits when it is terminating and has our finalizer; only metadata are asked for", async () => {
  const client = createScriptedKubeClient();
  const object = (name: string, metadata: object) => ({
    metadata: { name, namespace: "shop", uid: name, ...metadata },
  });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  client.onRequest = () => ({
    metadata: { resourceVersion: "5" },
    items: [
      object("alive", { finalizers: [finalizer] }),
      object("of-others", { deletionTimestamp, finalizers: ["foregroundDeletion"] }),
      object("waits", { deletionTimestamp, finalizers: ["foregroundDeletion", finalizer] }),
      { metadata: { deletionTimestamp, finalizers: [finalizer] } },
      null,
    ],
  });
  const [kind] = guardedKinds([deployment]);
  assert.ok(kind !== undefined);
  const found = await listWaiting(client, kind, undefined, new AbortController().signal);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["waits"],
  );
  assert.equal(client.requests[0]?.path, "/apis/apps/v1/deployments");
  assert.equal(client.requests[0]?.preferMetadata, true);
  const [waiting] = found;
  assert.ok(waiting !== undefined);
  assert.equal(
    finalizerCommand(waiting),
    "kubectl -n shop patch deployments.apps waits --type=json -p=" +
      `'[{"op":"test","path":"/metadata/finalizers/1","value":"${finalizer}"},` +
      `{"op":"remove","path":"/metadata/finalizers/1"}]'`,
  );
});
