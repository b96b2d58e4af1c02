/**
 * Who calls the webhook, as docs/install.md section 3.3 has it: the client certificate of a worker's API server, the
 * API server's configuration for it, and the Secret by which the webhook knows it.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { issueClientCertificate } from "../../src/certificates/index.ts";
import { manifestsFolder } from "../manifests/manifest-files.ts";
import { makeClientCertificate } from "../support/client-certificate.ts";
import { type Cluster } from "./clusters/cluster.ts";
import { systemNamespace } from "./clusters/role-accounts.ts";
import { type CaseContext } from "./runner/runner.ts";

const secret = "podseidon-webhook-clients";
const documentedFolder = "/etc/kubernetes/podseidon";
const documentedHost = "podseidon.example.com";

/** A new certificate of the client worker-1, made by the documented command. */
export function makeClientFiles(folder: string): void {
  makeClientCertificate("worker-1", folder);
  // It is its own authority.
  copyFileSync(path.join(folder, "client.crt"), path.join(folder, "client-ca.crt"));
}

/** An authority whose time is nearly over. */
export async function makeEndingAuthority(folder: string): Promise<void> {
  const { caCertificate } = await issueClientCertificate({
    client: "worker-1",
    days: 1,
    now: new Date(Date.now() - 20 * 3_600_000),
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "client-ca.crt"), caCertificate);
}

/** Makes the Secret hold the authorities of these folders, in this order, until the case ends. */
export async function trustClients(context: CaseContext, core: Cluster, folders: readonly string[]): Promise<void> {
  const authorities = folders
    .map((folder) => readFileSync(path.join(folder, "client-ca.crt")))
    .map(String)
    .join("");
  const resource = `/api/v1/namespaces/${systemNamespace}/secrets/${secret}`;
  await core.admin.apply(resource, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret, namespace: systemNamespace },
    data: { "ca.crt": Buffer.from(authorities).toString("base64") },
  });
  context.cleanup(() => core.admin.remove(resource));
}

/** Where the API server of the worker finds its certificate: as manifests/api-server, with other paths and host. */
function apiServerFolder(worker: Cluster): string {
  return path.join(worker.directory, "podseidon");
}

/** Puts the certificate of the folder where the API server finds it; it is read again without a restart. */
export function placeClientFiles(worker: Cluster, from: string): void {
  const folder = apiServerFolder(worker);
  mkdirSync(folder, { recursive: true });
  for (const name of ["client.crt", "client.key"]) copyFileSync(path.join(from, name), path.join(folder, name));
}

/** Starts the API server of the worker anew, with a certificate for calls of this host, until the case ends. */
export async function identifyApiServer(context: CaseContext, worker: Cluster, host: string): Promise<void> {
  const folder = apiServerFolder(worker);
  for (const name of ["admission.yaml", "kubeconfig"]) {
    const text = readFileSync(path.join(manifestsFolder, "api-server", name), "utf8");
    const moved = text.replaceAll(documentedFolder, folder).replaceAll(documentedHost, host);
    writeFileSync(path.join(folder, name), moved);
  }
  context.say(`substituted in ${worker.name}: ${documentedFolder} -> ${folder}, ${documentedHost} -> ${host}`);
  worker.setFurtherApiServerArgs([`--admission-control-config-file=${path.join(folder, "admission.yaml")}`]);
  context.cleanup(async () => {
    worker.setFurtherApiServerArgs([]);
    await worker.restartApiServer();
  });
  await worker.restartApiServer();
}
