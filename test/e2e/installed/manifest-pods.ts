/**
 * Runs the pods of Podseidon's applied Deployments as processes. The arguments come from the pod template that the API
 * server stores; the environment is that of the image and the kubelet. Only what cannot be the same outside of a pod is
 * substituted: ports, and the paths of mounted Secrets and of the ServiceAccount's token. Each substitution is printed.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { type ManagedProcess } from "../../../scripts/child-processes.ts";
import { readDockerfile } from "../../../scripts/image/image-root.ts";
import { type KubeObject, type ObjectList } from "../clusters/admin-client.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { MetricsText } from "../clusters/metrics-text.ts";
import { freePorts } from "../clusters/ports.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";
import { GiveUp, waitFor } from "../clusters/wait.ts";
import { program } from "../fleet/process.ts";
import { SecretVolume } from "./secret-volume.ts";
import { type CaseContext } from "../runner/runner.ts";
import { type Deployment } from "../../manifests/manifest-files.ts";

export const dockerfile = fileURLToPath(new URL("../../../Dockerfile", import.meta.url));
const readyLimitMs = 60_000;
const probeTimeoutMs = 5_000;
/** terminationGracePeriodSeconds of the webhook. */
const stopGraceMs = 60_000;

/** The flag that moves the listener behind a named port of a container. */
const portFlags: Readonly<Record<string, string>> = {
  webhook: "webhook-https-port",
  healthz: "healthz-port",
  metrics: "prometheus-http-port",
};

/** Named port of the container to the port of the process. */
export type PodPorts = Readonly<Record<string, number>>;

export interface PreparedPods {
  readonly cluster: Cluster;
  readonly deployment: Deployment;
  readonly volumes: readonly SecretVolume[];
  readonly pods: readonly ManifestPod[];
}

/** Podseidon's Deployments in the cluster, as stored. */
export async function storedDeployments(cluster: Cluster): Promise<readonly Deployment[]> {
  const resource = `/apis/apps/v1/namespaces/${systemNamespace}/deployments`;
  const list = await cluster.admin.get<ObjectList<Deployment & KubeObject>>(resource);
  return list.items;
}

export function containerOf(deployment: Deployment): Deployment["spec"]["template"]["spec"]["containers"][0] {
  return deployment.spec.template.spec.containers[0];
}

export function componentOf(deployment: Deployment): string {
  return deployment.spec.template.metadata.labels["app.kubernetes.io/component"] ?? "";
}

/**
 * The arguments with other ports; a port that no argument names must be the program's default, so the argument is
 * added.
 */
export function withPorts(
  args: readonly string[],
  container: ReturnType<typeof containerOf>,
  ports: PodPorts,
): string[] {
  const moved = [...args];
  for (const { name, containerPort } of container.ports) {
    const flag = `--${portFlags[name]}=`;
    const at = moved.findIndex((arg) => arg.startsWith(flag));
    if (at === -1) moved.push(`${flag}${ports[name]}`);
    else {
      assert.equal(moved[at], `${flag}${containerPort}`, "the argument and the container's port agree");
      moved[at] = `${flag}${ports[name]}`;
    }
  }
  return moved;
}

/** Ports for the container, free a moment ago. */
export async function choosePorts(container: ReturnType<typeof containerOf>): Promise<PodPorts> {
  const ports = await freePorts(container.ports.length);
  return Object.fromEntries(container.ports.map(({ name }, index) => [name, ports[index] ?? 0]));
}

/**
 * What a kubelet puts into every container: where each Service of the namespace is. A Service named podseidon-webhook
 * gives PODSEIDON_WEBHOOK_PORT=tcp://…
 */
export async function serviceEnvironment(cluster: Cluster): Promise<Readonly<Record<string, string>>> {
  interface Service extends KubeObject {
    readonly spec: {
      readonly clusterIP: string;
      readonly ports: readonly { readonly name: string; readonly port: number }[];
    };
  }
  const { items } = await cluster.admin.get<ObjectList<Service>>(`/api/v1/namespaces/${systemNamespace}/services`);
  const variables = items.flatMap(({ metadata, spec }) => {
    const prefix = metadata.name.toUpperCase().replaceAll("-", "_");
    const port = spec.ports[0]?.port ?? 0;
    return [
      [`${prefix}_SERVICE_HOST`, spec.clusterIP],
      [`${prefix}_SERVICE_PORT`, String(port)],
      [`${prefix}_PORT`, `tcp://${spec.clusterIP}:${port}`],
      [`${prefix}_PORT_${port}_TCP`, `tcp://${spec.clusterIP}:${port}`],
      [`${prefix}_PORT_${port}_TCP_PROTO`, "tcp"],
    ] as const;
  });
  return Object.fromEntries(variables);
}

/** Starts all replicas of a stored Deployment. Resolves before they are ready. */
export async function startManifestPods(
  context: CaseContext,
  cluster: Cluster,
  deployment: Deployment,
): Promise<PreparedPods> {
  const { name } = deployment.metadata;
  const { serviceAccountName, volumes = [] } = deployment.spec.template.spec;
  const container = containerOf(deployment);
  const directory = path.join(context.directory, cluster.name, name);
  const mounted: SecretVolume[] = [];
  let args = container.args;
  for (const { name: volumeName, mountPath } of container.volumeMounts ?? []) {
    const secret = volumes.find((volume) => volume.name === volumeName)?.secret;
    assert.ok(secret !== undefined, `${name}: the volume ${volumeName} is a Secret`);
    const volume = new SecretVolume({
      cluster,
      namespace: systemNamespace,
      secretName: secret.secretName,
      directory: path.join(directory, volumeName),
      mode: secret.defaultMode,
    });
    await volume.sync();
    mounted.push(volume);
    args = args.map((arg) => arg.replaceAll(`${mountPath}/`, `${volume.directory}/`));
    context.say(`substituted in ${cluster.name}, ${name}: mount path ${mountPath} -> ${volume.directory}`);
  }
  const token = await cluster.serviceAccountToken(systemNamespace, serviceAccountName);
  const kubeconfig = cluster.kubeconfigForToken(`account-${serviceAccountName}`, token);
  const accountVariables = inClusterVariables(args);
  const windows = shortWindows(args);
  context.say(
    `substituted in ${cluster.name}, ${name}: mounted token of ${serviceAccountName} -> kubeconfig with ` +
      `a token of it (${accountVariables.join(", ")})`,
  );
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: "/",
    ...readDockerfile(readFileSync(dockerfile, "utf8")).env,
    ...(await serviceEnvironment(cluster)),
    ...Object.fromEntries(accountVariables.map((variable) => [variable, kubeconfig])),
    ...windows,
  };
  for (const [variable, value] of Object.entries(windows))
    context.say(`substituted in ${cluster.name}, ${name}: ${variable}=${value}`);
  const pods: ManifestPod[] = [];
  for (let replica = 0; replica < deployment.spec.replicas; replica++) {
    const ports = await choosePorts(container);
    const moved = container.ports.map((port) => `${port.name} ${port.containerPort} -> ${ports[port.name]}`);
    context.say(`substituted in ${cluster.name}, ${name}/${replica}: ports ${moved.join(", ")}`);
    const { command, args: first } = program();
    const managed = context.processes.start({
      name: `${cluster.name}/${name}/${replica}`,
      command,
      args: [...first, ...withPorts(args, container, ports)],
      env,
      logFile: path.join(directory, `${replica}.log`),
    });
    pods.push(new ManifestPod(deployment, managed, ports));
  }
  return { cluster, deployment, volumes: mounted, pods };
}

/**
 * An aggregator is ready a settle window after its start, which by default is longer than all else in a case. None is
 * shorter than the fence delay of 10 s.
 */
export function shortWindows(args: readonly string[]): Readonly<Record<string, string>> {
  return args.includes("--role=aggregator") ? { PODSEIDON_FLAG_AGGREGATOR_SETTLE_WINDOW: "10s" } : {};
}

/**
 * The variables that stand for the ServiceAccount's mounted token, for each connection that the arguments leave to it.
 */
function inClusterVariables(args: readonly string[]): readonly string[] {
  const has = (flag: string): boolean => args.some((arg) => arg.startsWith(`--${flag}`));
  return [
    ...(has("core-kube-config=") || has("role=update-trigger") ? [] : ["PODSEIDON_FLAG_CORE_KUBE_CONFIG"]),
    ...(has("role=aggregator") || has("role=update-trigger") ? ["PODSEIDON_FLAG_WORKER_KUBE_CONFIG"] : []),
    ...(has("webhook-worker-client-provider=single")
      ? ["PODSEIDON_FLAG_WEBHOOK_WORKER_CLIENT_PROVIDER_SINGLE_KUBE_CONFIG"]
      : []),
  ];
}

export class ManifestPod {
  readonly deployment: Deployment;
  readonly process: ManagedProcess;
  readonly ports: PodPorts;

  constructor(deployment: Deployment, managed: ManagedProcess, ports: PodPorts) {
    this.deployment = deployment;
    this.process = managed;
    this.ports = ports;
  }

  /** Resolves when both probes of the manifest answer 200, as a kubelet asks them. */
  async waitReady(): Promise<void> {
    const { readinessProbe, livenessProbe } = containerOf(this.deployment);
    for (const { httpGet } of [readinessProbe, livenessProbe]) {
      await waitFor(`${this.process.name}: ${httpGet.path} answers 200`, readyLimitMs, async () => {
        if (this.process.exit() !== undefined) throw new GiveUp(`${this.process.name} ended:\n${this.process.log()}`);
        return (await this.get(httpGet.port, httpGet.path)).code === 200;
      });
    }
  }

  /** GET on a named port of the container. */
  async get(port: string, pathname: string): Promise<{ readonly code: number; readonly text: string }> {
    const url = `http://127.0.0.1:${this.ports[port]}${pathname}`;
    const { statusCode, body } = await request(url, { headersTimeout: probeTimeoutMs, bodyTimeout: probeTimeoutMs });
    return { code: statusCode, text: await body.text() };
  }

  async metrics(): Promise<MetricsText> {
    const { code, text } = await this.get("metrics", "/metrics");
    assert.equal(code, 200, `${this.process.name}: /metrics`);
    return new MetricsText(text);
  }

  /** SIGTERM, as when a pod is deleted; it must end by itself with 0. */
  async stop(): Promise<void> {
    assert.deepEqual(await this.process.stop(stopGraceMs), { code: 0, signal: null }, this.process.name);
  }
}

const handshakeLimitMs = 5_000;

/** Its fingerprint. */
export async function shownBy(webhook: ManifestPod): Promise<string> {
  // What is shown matters here; the API server is the one that verifies it.
  const socket = connect({ host: "127.0.0.1", port: webhook.ports["webhook"] ?? 0, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(handshakeLimitMs) });
    return socket.getPeerX509Certificate()?.fingerprint256 ?? "";
  } finally {
    socket.destroy();
  }
}
