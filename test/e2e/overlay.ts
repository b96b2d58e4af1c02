/** Applies the overlays of manifests/ with kubectl, in the steps of docs/install.md, and takes them away again. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { issueServerCertificate } from "../../src/certificates/index.ts";
import { manifestsFolder, render } from "../manifests/manifest-files.ts";
import { type Cluster } from "./clusters/cluster.ts";
import { kubectl } from "./clusters/kubectl.ts";
import { installRights, systemNamespace } from "./clusters/role-accounts.ts";
import { type CaseContext } from "./runner/runner.ts";

/** The webhook configuration comes when the webhook is ready. */
export const allButAdmission = "app.kubernetes.io/component!=admission";

/** Runs kubectl as admin and resolves to what it prints; a failure fails the case. */
export async function kubectlOrFail(
  context: CaseContext,
  cluster: Cluster,
  ...args: readonly string[]
): Promise<string> {
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster };
  const { code, stdout, stderr } = await kubectl(options, ...args);
  assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/**
 * Applies a folder of manifests/ with --dry-run=server. Resolves to the number of objects that the API server accepted.
 */
export async function dryRun(context: CaseContext, cluster: Cluster, folder: string): Promise<number> {
  const objects = render(folder);
  const namespaces = objects.filter(({ kind }) => kind === "Namespace").map(({ metadata }) => metadata.name);
  for (const name of namespaces) {
    const { code } = await cluster.admin.request("GET", `/api/v1/namespaces/${name}`);
    if (code === 404) await kubectlOrFail(context, cluster, "create", "namespace", name);
  }
  if (namespaces.length > 0)
    context.say(
      `${folder}: created the namespaces ${namespaces.join(", ")} first, since a dry run creates none for ` +
        "what is in them",
    );
  const target = path.join(manifestsFolder, folder);
  const printed = await kubectlOrFail(context, cluster, "apply", "--dry-run=server", "-k", target);
  const accepted = printed.split("\n").filter((line) => line.endsWith("(server dry run)")).length;
  assert.equal(accepted, objects.length, printed);
  return accepted;
}

/**
 * The files of a certificate for the webhook, as its Service and at 127.0.0.1: secret.yaml, the patch ca-bundle.yaml,
 * and what they hold.
 */
export async function makeTlsFiles(folder: string): Promise<void> {
  const { caCertificate, certificate, privateKey } = await issueServerCertificate({
    dnsNames: [`podseidon-webhook.${systemNamespace}.svc`],
    ipAddresses: ["127.0.0.1"],
    days: 365,
    now: new Date(),
  });
  const files = { "ca.crt": caCertificate, "tls.crt": certificate, "tls.key": privateKey };
  const data = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  const labels = { "app.kubernetes.io/name": "podseidon", "app.kubernetes.io/component": "webhook" };
  const metadata = { name: "podseidon-webhook-tls", namespace: systemNamespace, labels };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data };
  const value = data["ca.crt"];
  const patch = [0, 1, 2].map((entry) => ({ op: "add", path: `/webhooks/${entry}/clientConfig/caBundle`, value }));
  mkdirSync(folder, { recursive: true });
  // JSON is YAML, too.
  const texts = { ...files, "secret.yaml": JSON.stringify(secret), "ca-bundle.yaml": JSON.stringify(patch) };
  for (const [name, text] of Object.entries(texts)) writeFileSync(path.join(folder, name), text);
}

export interface UserKustomization {
  /** Relative to manifests/, for example "overlays/core". */
  readonly bases: readonly string[];
  /** Relative to the folder. */
  readonly resources?: readonly string[];
  /** Relative to manifests/. */
  readonly components?: readonly string[];
  readonly patches?: readonly unknown[];
}

/** Writes the kustomization of somebody who uses the overlays, as docs/install.md describes it. */
export function writeKustomization(folder: string, options: UserKustomization): void {
  mkdirSync(folder, { recursive: true });
  const fromFolder = (place: string): string => path.relative(folder, path.join(manifestsFolder, place));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [...options.bases.map(fromFolder), ...(options.resources ?? [])],
    components: (options.components ?? []).map(fromFolder),
    patches: options.patches ?? [],
  };
  writeFileSync(path.join(folder, "kustomization.yaml"), JSON.stringify(kustomization, null, 2));
}

/** The patch of the webhook configuration that takes the address of the test's balancer. */
export function urlPatch(url: string, replaces: "service" | "url"): unknown {
  return {
    target: { kind: "ValidatingWebhookConfiguration", name: "podseidon" },
    patch: JSON.stringify(
      [0, 1, 2].flatMap((entry) => [
        { op: "remove", path: `/webhooks/${entry}/clientConfig/${replaces}` },
        { op: "add", path: `/webhooks/${entry}/clientConfig/url`, value: url },
      ]),
    ),
  };
}

export const caBundlePatch = (file: string): unknown => ({
  path: file,
  target: { kind: "ValidatingWebhookConfiguration", name: "podseidon" },
});

/**
 * Deletes what the folder applied, and the Leases, but not the CRD and the namespaces: the next case has its own
 * objects in them.
 */
export async function removeOverlay(context: CaseContext, cluster: Cluster, folder: string): Promise<void> {
  const which = ["-l", "app.kubernetes.io/component", "--ignore-not-found"];
  await kubectlOrFail(context, cluster, "delete", "-k", folder, ...which);
  // Outside of tests these go with the namespace, which stays here.
  await kubectlOrFail(context, cluster, "delete", "leases,configmaps", "--all", "-n", systemNamespace);
  // The accounts and policies of the other cases went along.
  await installRights(cluster.admin);
}
