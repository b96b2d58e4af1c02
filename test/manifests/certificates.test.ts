/** Built-in issuing of the webhook's certificate: manifests/components/certificates beside the installations. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { dump } from "js-yaml";
import { authoritySecret, servedSecret, trustedConfigMap } from "../../src/certificates/objects.ts";
import { configOf, type Deployment, type Manifest, manifestsFolder, onlyOne, render } from "./manifest-files.ts";
import { rightsIn, rightTexts } from "./rights/rights.ts";

const topologies = { core: "core", worker: "worker", single: "single-cluster" } as const;
type Topology = keyof typeof topologies;

function rendered(topology: Topology, overlay: string = topologies[topology]): readonly Manifest[] {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-certificates-"));
  try {
    const from = (place: string): string => path.relative(folder, path.join(manifestsFolder, place));
    const kustomization = {
      kind: "Kustomization",
      resources: [from(`overlays/${overlay}`)],
      components: [from(`components/certificates/${topology}`)],
    };
    writeFileSync(path.join(folder, "kustomization.yaml"), dump(kustomization));
    return render(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const coreRights = [
  "podseidon-generator @ podseidon-system: get,patch configmaps [podseidon-webhook-ca]",
  "podseidon-generator @ podseidon-system: get,patch secrets [podseidon-webhook-authority,podseidon-webhook-tls]",
  "podseidon-webhook @ podseidon-system: get secrets [podseidon-webhook-tls]",
  "system:serviceaccounts:podseidon-system @ podseidon-system: get configmaps [podseidon-webhook-ca]",
];
const workerRights = [
  "podseidon-aggregator @ *: get,patch validatingwebhookconfigurations.admissionregistration.k8s.io [podseidon]",
];
const addedRights = { core: coreRights, worker: workerRights, single: [...workerRights, ...coreRights] };

for (const topology of ["core", "worker", "single"] as const) {
  test(`the certificates of a ${topology} cluster need these rights, each limited to names, and no other`, () => {
    const before = rightTexts(render(`overlays/${topologies[topology]}`));
    const more = rightTexts(rendered(topology)).filter((right) => !before.includes(right));
    assert.deepEqual(more, addedRights[topology]);
  });
}

for (const topology of ["core", "single"] as const) {
  test(`nobody but the generator of a ${topology} cluster has any right to the keys of authorities`, () => {
    const accounts = rightsIn(rendered(topology))
      .filter(({ resource, names }) => resource === "secrets" && (names?.includes(authoritySecret.name) ?? true))
      .map(({ account }) => account);
    assert.deepEqual(accounts, ["podseidon-generator"]);
  });
}

for (const topology of ["core", "single"] as const) {
  test(`the webhook of a ${topology} cluster serves what is issued, and mounts no Secret for it`, () => {
    const objects = rendered(topology);
    const { webhook } = configOf(objects, "podseidon-webhook");
    assert.equal(webhook.hasIssuedCertificate, true);
    assert.equal(webhook.server.https.certFile, "");
    const { volumes = [] } = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook").spec.template.spec;
    assert.ok(volumes.every(({ secret }) => secret.secretName !== servedSecret.name));
    assert.deepEqual(configOf(objects, "podseidon-generator").generator.webhookNames, [
      "podseidon-webhook.podseidon-system.svc",
    ]);
  });

  test(`what the generator of a ${topology} cluster fills is made empty, so that applying keeps it`, () => {
    const objects = rendered(topology);
    for (const { kind, name } of [servedSecret, authoritySecret, trustedConfigMap]) {
      const { metadata, ...rest } = onlyOne<Manifest>(objects, kind, name);
      assert.equal(metadata.namespace, "podseidon-system");
      // A Secret made by hand may be of type kubernetes.io/tls, which cannot be changed.
      assert.deepEqual(Object.keys(rest).toSorted(), ["apiVersion", "kind"], name);
    }
  });

  test(`the policies of a ${topology} cluster let the generator write these Secrets, and no others`, () => {
    const policy = onlyOne(rendered(topology), "ValidatingAdmissionPolicy", "podseidon-generator-workloads");
    const text = JSON.stringify(policy);
    for (const { name } of [servedSecret, authoritySecret]) assert.ok(text.includes(`'${name}'`), name);
    assert.ok(text.includes("request.namespace == 'podseidon-system'"));
  });
}

for (const topology of ["worker", "single"] as const) {
  test(`the aggregator of a ${topology} cluster keeps the caBundle of the configuration of the manifests`, () => {
    const objects = rendered(topology);
    const { caBundleOf } = configOf(objects, "podseidon-aggregator").aggregator;
    assert.ok(caBundleOf !== undefined);
    onlyOne(objects, "ValidatingWebhookConfiguration", caBundleOf);
  });
}

test("beside the overlay of several cores the component makes the aggregator keep the caBundle for all of them", () => {
  const { aggregator, cores } = configOf(rendered("worker", "several-cores"), "podseidon-aggregator");
  assert.deepEqual([aggregator.caBundleOf, ...cores.keys()], ["podseidon", "core", "east"]);
});
