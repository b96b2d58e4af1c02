/** The certificates of a fleet's API servers: core, worker and manifests/api-server have to agree. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { loadGood } from "../../unit/config/load.ts";
import { type Deployment, type Manifest, manifestsFolder, onlyOne, render } from "../manifest-files.ts";

interface Configuration extends Manifest {
  readonly webhooks: readonly { readonly clientConfig: { readonly url: string } }[];
}
interface Admission {
  readonly plugins: readonly { readonly name: string; readonly configuration: { readonly kubeConfigFile: string } }[];
}
interface Kubeconfig {
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
}

const urls = onlyOne<Configuration>(render("overlays/worker"), "ValidatingWebhookConfiguration").webhooks.map(
  ({ clientConfig }) => new URL(clientConfig.url),
);
const read = (file: string): unknown => load(readFileSync(path.join(manifestsFolder, "api-server", file), "utf8"));

test("the webhook of a fleet asks for certificates, and binds the worker of the overlay to its cell", () => {
  const { spec } = onlyOne<Deployment>(render("overlays/core"), "Deployment", "podseidon-webhook");
  const { webhook } = loadGood(spec.template.spec.containers[0].args);
  const cells = new Set(urls.map(({ pathname }) => pathname.slice(1)));
  assert.deepEqual(webhook.clientCells, new Map([["worker-1", cells]]));
  assert.equal(webhook.clientAuth?.caFile, "/etc/podseidon/clients/ca.crt");
});

test("the API server shows its certificate to the host that the worker's configuration calls", () => {
  const { users } = read("kubeconfig") as Kubeconfig;
  assert.deepEqual(
    users.map(({ name }) => name),
    [...new Set(urls.map(({ host }) => host))],
  );
  assert.deepEqual(users[0]?.user, { "client-certificate": "client.crt", "client-key": "client.key" });
});

test("the API server's configuration names the kubeconfig by an absolute path, as it must", () => {
  const { plugins } = read("admission.yaml") as Admission;
  assert.deepEqual(
    plugins.map(({ name, configuration }) => [name, configuration.kubeConfigFile]),
    [["ValidatingAdmissionWebhook", "/etc/kubernetes/podseidon/kubeconfig"]],
  );
});
