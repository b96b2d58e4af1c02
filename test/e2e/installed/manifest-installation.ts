/**
 * Podseidon as the overlays of manifests/ install it, in one cluster or in a core and a worker; its pods are processes
 * of this machine.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Manifest, manifestsFolder, onlyOne, render } from "../../manifests/manifest-files.ts";
import { clusterAt, writeKubeconfig } from "../../support/kubeconfig.ts";
import { identifyApiServer, makeClientFiles, placeClientFiles, trustClients } from "../caller-identity.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { type LaggingProxy, startLaggingProxy } from "../fleet/lagging-proxy.ts";
import {
  componentOf,
  type ManifestPod,
  type PreparedPods,
  startManifestPods,
  storedDeployments,
} from "./manifest-pods.ts";
import {
  allButAdmission,
  caBundlePatch,
  kubectlOrFail,
  makeTlsFiles,
  removeOverlay,
  urlPatch,
  writeKustomization,
} from "../overlay.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";
import { listPods, type Pod } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";
import { type SecretVolume } from "./secret-volume.ts";
import { waitFor } from "../clusters/wait.ts";

const ownPodsLimitMs = 30_000;

interface WebhookConfiguration extends Manifest {
  readonly webhooks: readonly [
    { readonly clientConfig: { readonly service?: { readonly path: string }; readonly url?: string } },
  ];
}

/** A cluster with the folder of its kustomization. */
interface Applied {
  readonly cluster: Cluster;
  readonly folder: string;
}

export class ManifestInstallation {
  readonly core: Cluster;
  readonly worker: Cluster;
  /** Stands in for the Service of the webhook. */
  readonly balancer: LaggingProxy;
  readonly #applied: readonly Applied[];
  readonly #prepared: readonly PreparedPods[];

  constructor(clusters: readonly [Applied, Applied?], balancer: LaggingProxy, prepared: readonly PreparedPods[]) {
    this.core = clusters[0].cluster;
    this.worker = (clusters[1] ?? clusters[0]).cluster;
    this.balancer = balancer;
    this.#applied = clusters.filter((one) => one !== undefined);
    this.#prepared = prepared;
  }

  get pods(): readonly ManifestPod[] {
    return this.#prepared.flatMap(({ pods }) => pods);
  }

  get webhooks(): readonly ManifestPod[] {
    return this.pods.filter(({ deployment }) => componentOf(deployment) === "webhook");
  }

  get volumes(): readonly SecretVolume[] {
    return this.#prepared.flatMap(({ volumes }) => volumes);
  }

  /**
   * The pods that the Deployment controller made. Resolves when there are as many as the manifests ask for, so pod
   * security admitted them.
   */
  async ownPods(): Promise<readonly (readonly Pod[])[]> {
    return Promise.all(
      this.#applied.map(async ({ cluster }) => {
        const deployments = await storedDeployments(cluster);
        const wanted = deployments.reduce((sum, { spec }) => sum + spec.replicas, 0);
        return waitFor(`${cluster.name} has ${wanted} pods of Podseidon`, ownPodsLimitMs, async () => {
          const pods = await listPods(cluster.admin, systemNamespace);
          return pods.length === wanted && pods;
        });
      }),
    );
  }

  /**
   * As docs/install.md says: first the webhook configuration, so that deletions pass. Then ends the pods with SIGTERM
   * and takes the objects away.
   */
  async remove(context: CaseContext): Promise<void> {
    await kubectlOrFail(context, this.worker, "delete", "validatingwebhookconfiguration", "podseidon");
    await Promise.all(this.pods.map((pod) => pod.stop()));
    for (const { cluster, folder } of this.#applied) await removeOverlay(context, cluster, folder);
  }
}

/**
 * One cluster, as docs/install.md section 2 has it, with files for the certificate. `components`: the Deployments that
 * run; default all.
 */
export async function installSingleCluster(
  context: CaseContext,
  cluster: Cluster,
  components?: readonly string[],
): Promise<ManifestInstallation & { readonly folder: string }> {
  const folder = path.join(context.directory, "my-cluster");
  await makeTlsFiles(path.join(folder, "tls"));
  const balancer = await startBalancer(context);
  writeKustomization(folder, {
    bases: ["overlays/single-cluster"],
    resources: ["tls/secret.yaml"],
    patches: [caBundlePatch("tls/ca-bundle.yaml"), clientConfigPatch(context, "single-cluster", balancer)],
  });
  await kubectlOrFail(context, cluster, "apply", "-k", folder, "-l", allButAdmission);
  const prepared = await runDeployments(context, cluster, components);
  const installation = new ManifestInstallation([{ cluster, folder }], balancer, prepared);
  balancer.setTargets(installation.webhooks.map(({ ports }) => ports["webhook"] ?? 0));
  await kubectlOrFail(context, cluster, "apply", "-k", folder);
  return Object.assign(installation, { folder });
}

interface FleetOptions {
  /** The Deployments that run; default all. */
  readonly components?: readonly string[];
  /** Of the core's kustomization. */
  readonly corePatches?: readonly unknown[];
  /** False = the API server of the worker has no certificate yet. */
  readonly isIdentified?: boolean;
  /** True = the webhook's certificate is issued by the program, and not made by the documented command. */
  readonly isIssued?: boolean;
}

/** As docs/install.md has it for built-in issuing, with the address of the test's balancer. */
const issuedNames = {
  target: { kind: "Deployment", name: "podseidon-generator" },
  patch: JSON.stringify([
    {
      op: "add",
      path: "/spec/template/spec/containers/0/args/-",
      value: "--generator-webhook-certificate-names=127.0.0.1",
    },
  ]),
};

/**
 * A core and a worker, as docs/install.md section 3 has it. The client certificate of the worker's API server is in the
 * folder `client`.
 */
export async function installFleet(
  context: CaseContext,
  core: Cluster,
  worker: Cluster,
  { components, corePatches = [], isIdentified = true, isIssued = false }: FleetOptions = {},
): Promise<ManifestInstallation & { readonly workerFolder: string; readonly client: string }> {
  const coreFolder = path.join(context.directory, "my-core");
  const workerFolder = path.join(context.directory, "my-worker-1");
  const client = path.join(workerFolder, "client");
  await shareAccounts(context, core, worker);

  if (!isIssued) await makeTlsFiles(path.join(coreFolder, "tls"));
  makeClientFiles(client);
  await trustClients(context, core, [client]);
  writeKustomization(coreFolder, {
    bases: ["overlays/core"],
    ...(isIssued ? { components: ["components/certificates/core"] } : { resources: ["tls/secret.yaml"] }),
    patches: [...(isIssued ? [issuedNames] : []), ...corePatches],
  });
  await kubectlOrFail(context, core, "apply", "-k", coreFolder);
  const prepared = await runDeployments(context, core, components);

  const balancer = await startBalancer(context);
  placeClientFiles(worker, client);
  if (isIdentified) await identifyApiServer(context, worker, `127.0.0.1:${balancer.port}`);
  makeWorkerFolder(context, workerFolder, { balancer, tls: isIssued ? undefined : path.join(coreFolder, "tls") });
  await kubectlOrFail(context, worker, "apply", "-k", workerFolder, "-l", allButAdmission);
  prepared.push(...(await runDeployments(context, worker, components)));
  const clusters = [
    { cluster: core, folder: coreFolder },
    { cluster: worker, folder: workerFolder },
  ] as const;
  const installation = new ManifestInstallation(clusters, balancer, prepared);
  balancer.setTargets(installation.webhooks.map(({ ports }) => ports["webhook"] ?? 0));
  await kubectlOrFail(context, worker, "apply", "-k", workerFolder);
  return Object.assign(installation, { workerFolder, client });
}

interface SharedAccount {
  readonly of: Cluster;
  readonly overlay: string;
  /** Components of the overlay that come later. */
  readonly later: string;
  readonly account: string;
  readonly usedIn: Cluster;
  readonly secret: string;
  readonly key: string;
}

/** Sections 3.1 and 3.2: each cluster's account for the other one, and the Secrets with their kubeconfigs. */
async function shareAccounts(context: CaseContext, core: Cluster, worker: Cluster): Promise<void> {
  const accounts: readonly SharedAccount[] = [
    {
      of: core,
      overlay: "core",
      later: "webhook,generator,admission",
      account: "podseidon-aggregator-worker-1",
      usedIn: worker,
      secret: "podseidon-core-kubeconfig",
      key: "kubeconfig",
    },
    {
      of: worker,
      overlay: "worker",
      later: "aggregator,admission",
      account: "podseidon-webhook",
      usedIn: core,
      secret: "podseidon-worker-kubeconfigs",
      key: "worker-1",
    },
  ];
  for (const { of, overlay, later } of accounts) {
    const selector = `app.kubernetes.io/component notin (${later})`;
    await kubectlOrFail(context, of, "apply", "-k", path.join(manifestsFolder, "overlays", overlay), "-l", selector);
  }
  for (const { of, account, usedIn, secret, key } of accounts) {
    const tokenKey = key === "kubeconfig" ? "token" : `${key}.token`;
    const folder = path.join(context.directory, `shared-${account}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "token"), await of.serviceAccountToken(systemNamespace, account));
    const file = writeKubeconfig(path.join(folder, "kubeconfig"), clusterAt(of.url, of.caPem), { tokenFile: tokenKey });
    const files = [`--from-file=${key}=${file}`, `--from-file=${tokenKey}=${path.join(folder, "token")}`];
    await kubectlOrFail(context, usedIn, "-n", systemNamespace, "create", "secret", "generic", secret, ...files);
    context.cleanup(() => usedIn.admin.remove(`/api/v1/namespaces/${systemNamespace}/secrets/${secret}`));
  }
}

/** Section 3.5: the authority is copied beside the kustomization, unless the aggregator keeps caBundle. */
function makeWorkerFolder(
  context: CaseContext,
  folder: string,
  { balancer, tls }: { readonly balancer: LaggingProxy; readonly tls: string | undefined },
): void {
  mkdirSync(folder, { recursive: true });
  const address = clientConfigPatch(context, "worker", balancer);
  const bases = ["overlays/worker"];
  if (tls === undefined) {
    writeKustomization(folder, { bases, components: ["components/certificates/worker"], patches: [address] });
    return;
  }
  copyFileSync(path.join(tls, "ca-bundle.yaml"), path.join(folder, "ca-bundle.yaml"));
  writeKustomization(folder, { bases, patches: [caBundlePatch("ca-bundle.yaml"), address] });
}

async function startBalancer(context: CaseContext): Promise<LaggingProxy> {
  const balancer = await startLaggingProxy([]);
  context.cleanup(() => balancer.close());
  return balancer;
}

/** Points the webhook configuration of the overlay at the balancer, with the overlay's own path. */
function clientConfigPatch(context: CaseContext, overlay: string, balancer: LaggingProxy): unknown {
  const configuration = onlyOne<WebhookConfiguration>(render(`overlays/${overlay}`), "ValidatingWebhookConfiguration");
  const { service, url = "" } = configuration.webhooks[0].clientConfig;
  const pathname = service?.path ?? new URL(url).pathname;
  const replacement = `https://127.0.0.1:${balancer.port}${pathname}`;
  const replaced = service === undefined ? `url ${url}` : `service ${JSON.stringify(service)}`;
  context.say(`substituted in ${overlay}: the webhook's clientConfig ${replaced} -> url ${replacement}`);
  return urlPatch(replacement, service === undefined ? "url" : "service");
}

async function runDeployments(
  context: CaseContext,
  cluster: Cluster,
  components?: readonly string[],
): Promise<PreparedPods[]> {
  const prepared: PreparedPods[] = [];
  for (const deployment of await storedDeployments(cluster)) {
    if (components !== undefined && !components.includes(componentOf(deployment))) continue;
    prepared.push(await startManifestPods(context, cluster, deployment));
  }
  await Promise.all(prepared.flatMap(({ pods }) => pods.map((pod) => pod.waitReady())));
  return prepared;
}
