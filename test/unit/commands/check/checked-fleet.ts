/**
 * A sound installation in the API double for `podseidon check`: a core and a worker, and a webhook's TLS on loopback.
 * What the double does not imitate is answered here: access reviews, the time of answers, the warning of the webhook.
 */
import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { gateWarning } from "../../../../src/api/gate-warning.ts";
import { type IssuedCertificate, issueServerCertificate } from "../../../../src/certificates/index.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { ownDefinition } from "../../../../src/carried/definition.ts";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources as types, type JsonObject } from "../../../double/index.ts";
import { type Manifest, render } from "../../../manifests/manifest-files.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  systemNamespace,
  type TestCluster,
} from "../support/fleet.ts";

export interface CheckedFleet extends Fleet {
  readonly worker: TestCluster;
  readonly webhook: WebhookTls;
  /** What a dry-run deletion of the dummy pod tells: the cell that the webhook names; undefined = nobody says one. */
  gate: string | undefined | KubeError;
  /** `ACCOUNT VERB RESOURCE` of the rights that are missing. */
  readonly denied: Set<string>;
  /** `KIND NAME` of the policies and bindings that are not there. */
  readonly lost: Set<string>;
  /** Milliseconds by which the clock of a cluster is ahead. */
  readonly aheadMs: Map<string, number>;
  /** Runs the check of both clusters. Resolves to what is wrong, as `level check`. */
  check(): Promise<readonly string[]>;
}

/** Of the manifests; a Service cannot be reached from anywhere. */
const overlays = { core: "overlays/core", "my-worker": "overlays/worker" } as const;
const kinds: Readonly<Record<string, (typeof types)[keyof typeof types]>> = {
  Deployment: types.deployments,
  ValidatingWebhookConfiguration: types.validatingWebhookConfigurations,
};

/** What a client without a certificate sees of the webhook. */
export class WebhookTls {
  status = 401;
  #issued: IssuedCertificate;
  readonly #server: Server;

  private constructor(issued: IssuedCertificate) {
    this.#issued = issued;
    this.#server = createServer(pairOf(issued), (_request, response) => void response.writeHead(this.status).end());
  }

  static async start(): Promise<WebhookTls> {
    const webhook = new WebhookTls(await issue(365, 0));
    await new Promise<void>((resolve) => void webhook.#server.listen(0, "127.0.0.1", resolve));
    // A test that fails before it stops it must not hang.
    webhook.#server.unref();
    return webhook;
  }

  /** As its API server calls it. */
  clientConfig(cell = "worker-1"): JsonObject {
    const { port } = this.#server.address() as AddressInfo;
    const caBundle = Buffer.from(this.#issued.caCertificate).toString("base64");
    return { url: `https://127.0.0.1:${port}/${cell}`, caBundle };
  }

  /** Serves another certificate from now on, issued `agoDays` ago for `days`. */
  async replace(days: number, agoDays: number): Promise<void> {
    this.#issued = await issue(days, agoDays);
    this.#server.setSecureContext(pairOf(this.#issued));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }
}

/** Trust in a certificate is judged by OpenSSL, on the machine's clock. */
function issue(days: number, agoDays: number): Promise<IssuedCertificate> {
  const now = new Date(Date.now() - agoDays * 86_400_000);
  return issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days, now });
}

function pairOf({ certificate, privateKey }: IssuedCertificate): { readonly cert: string; readonly key: string } {
  return { cert: certificate, key: privateKey };
}

/** Writes the webhook configuration of the worker again, each entry by `edited`. */
export async function editEntries(
  { worker: { engine } }: CheckedFleet,
  edited: (entry: JsonObject, index: number) => JsonObject,
): Promise<void> {
  const before = engine.get(types.validatingWebhookConfigurations, undefined, "podseidon");
  const webhooks = (before["webhooks"] as readonly JsonObject[]).map(edited);
  await engine.update(types.validatingWebhookConfigurations, undefined, "podseidon", { ...before, webhooks });
}

/** Stop its webhook at the end. */
export async function createCheckedFleet(): Promise<CheckedFleet> {
  const fleet = await createFleet("my-worker");
  // Certificates are issued by the machine's clock, and judged by the fleet's as well.
  await fleet.clock.advance(Date.now() - fleet.clock.epochMicros() / 1_000);
  const worker = fleet.clusters.get("my-worker")!;
  const webhook = await WebhookTls.start();
  const own: Omit<CheckedFleet, keyof Fleet> = {
    worker,
    webhook,
    gate: "worker-1",
    denied: new Set(),
    lost: new Set(),
    aheadMs: new Map(),
    async check() {
      const { stdout, problem } = await fleet.run("check", "--worker=worker-1=my-worker", "--output=json");
      if (stdout === "") throw new Error(problem);
      const { findings } = JSON.parse(stdout) as { findings: readonly { level: string; check: string }[] };
      return findings
        .filter(({ level }) => level !== "ok" && level !== "unchecked")
        .map((one) => `${one.level} ${one.check}`);
    },
  };
  // The same object: what a test sets on it, such as the terminal, holds for its runs.
  const checked = Object.assign(fleet, own);
  await fleet.core.engine.installCrd(ownDefinition());
  for (const [context, cluster] of fleet.clusters) {
    await furnish(cluster, overlays[context as keyof typeof overlays]);
    answerRest(checked, context, cluster);
  }
  await editEntries(checked, (entry) => ({ ...entry, clientConfig: webhook.clientConfig() }));
  const clusterUID = worker.engine.get(types.namespaces, undefined, "kube-system").metadata.uid;
  const version = { [cellLeaseAnnotations.productVersion]: "0.1.0 (abc)" };
  const beat = { ...version, [cellLeaseAnnotations.clusterUID]: clusterUID };
  await createCellLease(fleet.core, fleet.clock, "worker-1", { annotations: beat });
  await createCellLease(fleet.core, fleet.clock, undefined, { annotations: version });
  await createElectionLease(checked, 2_000);
  await createProtector(fleet.core, "api", { cells: [{ cellID: "worker-1", available: 3 }] });
  return checked;
}

/** The Lease by which one generator leads. */
export async function createElectionLease({ core, clock }: CheckedFleet, agoMs: number): Promise<void> {
  await core.create(types.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "podseidon-generator" },
    spec: { holderIdentity: "generator-1", leaseDurationSeconds: 15, renewTime: ago(clock, agoMs) },
  });
}

async function furnish(cluster: TestCluster, overlay: string): Promise<void> {
  for (const manifest of render(overlay)) {
    const type = kinds[manifest.kind];
    if (type === undefined) continue;
    const { namespace, name } = manifest.metadata;
    const created = await cluster.create(type, namespace, furnished(manifest));
    if (type !== types.deployments) continue;
    const { replicas } = created["spec"] as { readonly replicas: number };
    const status = { readyReplicas: replicas };
    await cluster.engine.update(type, namespace, name, { ...created, status }, { subresource: "status" });
  }
}

/** A webhook configuration without conditions, which the double does not imitate, so the first entry has preemption. */
function furnished(manifest: Manifest): JsonObject {
  const { webhooks, ...rest } = manifest as unknown as JsonObject;
  if (!Array.isArray(webhooks)) return rest;
  const [main, , last] = (webhooks as JsonObject[]).map((entry) => ({ ...entry, matchConditions: [] }));
  return { ...rest, webhooks: [main!, last!] };
}

/** As an API server does. */
function answerRest(fleet: CheckedFleet, context: string, { client }: TestCluster): void {
  const request = client.request.bind(client);
  client.request = async (asked: KubeRequest): Promise<unknown> => {
    const { path, method } = asked;
    asked.onServerTime?.((fleet.clock.epochMicros() + (fleet.aheadMs.get(context) ?? 0) * 1_000) as EpochMicros);
    if (path === "/version") return {};
    if (path.includes("/validatingadmissionpolic")) return listPolicies(fleet, context, path);
    if (path.endsWith("/serviceaccounts")) return accountsOf(context);
    if (path.endsWith("/subjectaccessreviews")) return reviewed(fleet, asked);
    if (method === "DELETE" && path.endsWith("/pods/podseidon-update-trigger")) return gateOf(fleet, asked);
    return request(asked);
  };
}

function listPolicies({ lost }: CheckedFleet, context: string, path: string): object {
  const kind = path.endsWith("bindings") ? "ValidatingAdmissionPolicyBinding" : "ValidatingAdmissionPolicy";
  const all = render(overlays[context as keyof typeof overlays]).filter((manifest) => manifest.kind === kind);
  return {
    metadata: { resourceVersion: "1" },
    items: all.filter(({ metadata }) => !lost.has(`${kind} ${metadata.name}`)),
  };
}

function accountsOf(context: string): object {
  const names = { core: ["podseidon-generator", "podseidon-webhook", "podseidon-aggregator-worker-1"] };
  const all = context === "core" ? names.core : ["podseidon-aggregator", "podseidon-webhook"];
  return { metadata: { resourceVersion: "1" }, items: all.map((name) => ({ metadata: { name } })) };
}

function reviewed({ denied }: CheckedFleet, { body }: KubeRequest): object {
  const { spec } = body as { spec: { user: string; resourceAttributes: { verb: string; resource: string } } };
  const { verb, resource } = spec.resourceAttributes;
  return { status: { allowed: !denied.has(`${spec.user.split(":").at(-1)} ${verb} ${resource}`) } };
}

function gateOf({ gate }: CheckedFleet, { onWarnings }: KubeRequest): object {
  if (gate instanceof KubeError) throw gate;
  onWarnings?.(gate === undefined ? [] : [gateWarning(gate)]);
  return { kind: "Pod", metadata: { annotations: { [annotations.updateTriggerTime]: "" } } };
}
