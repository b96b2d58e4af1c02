import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findConfigurations,
  findDummyPods,
  findGeneratorPods,
  findNamespaces,
  findOthers,
  findPrograms,
  findSettings,
} from "../../../../src/commands/uninstall/inventory.ts";
import { type Found, nameOf } from "../../../../src/commands/uninstall/target.ts";
import { systemNamespace } from "../support/fleet.ts";
import { installed, named } from "./installed-cluster.ts";

function namesIn({ targets, obstacles }: Found): readonly string[] {
  assert.deepEqual(obstacles, []);
  return targets.map((target) => `${target.kind} ${nameOf(target)}`);
}

const ours = { "app.kubernetes.io/name": "podseidon" };
const podSpec = { containers: [{ name: "main", image: ":" }] };

test("what the manifests and the roles made is found, each in its place", async () => {
  const { cluster } = await installed();
  const { site } = cluster;
  assert.deepEqual(namesIn(await findConfigurations(site)), ["ValidatingWebhookConfiguration podseidon"]);
  assert.equal(namesIn(await findPrograms(site)).length, 3);
  assert.deepEqual(namesIn(await findDummyPods(site)), ["Pod podseidon-update-trigger/podseidon-update-trigger"]);
  assert.deepEqual(namesIn(await findNamespaces(site)), [
    "Namespace podseidon-system",
    "Namespace podseidon-update-trigger",
  ]);
  const settings = namesIn(await findSettings(site));
  for (const one of [
    "ValidatingAdmissionPolicy podseidon-fence",
    "RoleBinding podseidon-update-trigger/podseidon-update-trigger",
    "ClusterRole podseidon-check",
    "ServiceAccount podseidon-system/podseidon-webhook",
    "Lease podseidon-system/podseidon-generator",
    "Lease podseidon-system/cell-37a8eec1ce19687d",
    "ConfigMap podseidon-system/podseidon-generator-state",
    "Secret podseidon-system/podseidon-webhook-tls",
  ])
    assert(settings.includes(one), one);
});

test("objects of others with our label, or with our name, are not ours", async () => {
  const { cluster } = await installed();
  await cluster.make("ConfigMap", "shop", { ...named("ConfigMap", "web"), metadata: { name: "web", labels: ours } });
  await cluster.make("Secret", "shop", named("Secret", "podseidon-webhook-tls"));
  await cluster.make("Pod", "default", { ...named("Pod", "podseidon-other"), spec: podSpec });
  const all = [...namesIn(await findSettings(cluster.site)), ...namesIn(await findDummyPods(cluster.site))];
  for (const one of ["ConfigMap shop/web", "Secret shop/podseidon-webhook-tls", "Pod default/podseidon-other"])
    assert(!all.includes(one), one);
});

test("a generator's pods are found", async () => {
  const { cluster } = await installed();
  const labels = { ...ours, "app.kubernetes.io/component": "generator" };
  const name = "podseidon-generator-1";
  await cluster.make("Pod", systemNamespace, { ...named("Pod", name), metadata: { name, labels }, spec: podSpec });
  assert.deepEqual(namesIn(await findGeneratorPods(cluster.site)), [`Pod ${systemNamespace}/${name}`]);
});

test("in our namespaces others are told from what Kubernetes and people make for Podseidon", async () => {
  const { cluster } = await installed();
  const others = async () => namesIn(await findOthers(cluster.site, systemNamespace, []));
  assert.deepEqual(await others(), []);
  await cluster.make("ConfigMap", systemNamespace, named("ConfigMap", "kube-root-ca.crt"));
  await cluster.make("RoleBinding", systemNamespace, {
    ...named("RoleBinding", "on-call"),
    apiVersion: "rbac.authorization.k8s.io/v1",
    roleRef: { kind: "Role", name: "podseidon-look" },
  });
  const annotations = { "kubernetes.io/service-account.name": "podseidon-webhook" };
  await cluster.make("Secret", systemNamespace, {
    ...named("Secret", "token"),
    metadata: { name: "token", annotations },
  });
  assert.deepEqual(await others(), []);
  await cluster.make("Secret", systemNamespace, named("Secret", "mine"));
  assert.deepEqual(await others(), ["Secret podseidon-system/mine"]);
  assert.deepEqual(namesIn(await findOthers(cluster.site, "podseidon-update-trigger", [])), []);
});

test("a custom resource of others is found where its kind is asked for", async () => {
  const { cluster } = await installed();
  const body = { apiVersion: "example.com/v1", kind: "Database", metadata: { name: "mine" }, spec: {} };
  await cluster.make("Database", systemNamespace, body);
  const kind = { kind: "Database", resource: { group: "example.com", version: "v1", resource: "databases" } };
  assert.deepEqual(namesIn(await findOthers(cluster.site, systemNamespace, [kind])), [
    "Database podseidon-system/mine",
  ]);
});
