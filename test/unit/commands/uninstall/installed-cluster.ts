/**
 * A cluster in the API double with workloads of others, and Podseidon in it as an overlay installs it and as its roles
 * leave it after a while. Kinds that the double does not know are custom resources here.
 */
import assert from "node:assert/strict";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { annotations, finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type Site } from "../../../../src/commands/uninstall/target.ts";
import {
  builtInResources as types,
  type Engine,
  type JsonObject,
  permissivePodProtectorCrd,
  type ResourceType,
} from "../../../double/index.ts";
import { databaseBody, scaledCrd } from "../../../double/scaled-crd.ts";
import { type Manifest, render } from "../../../manifests/manifest-files.ts";
import { ago, createCellLease, createFleet, type Fleet, type Ran, systemNamespace } from "../support/fleet.ts";

/** Rendered once: tests install hundreds of clusters. */
const overlays: Readonly<Record<string, readonly Manifest[]>> = Object.fromEntries(
  ["single-cluster", "core", "worker"].map((name) => [name, render(`overlays/${name}`)]),
);
const definitionName = "podprotectors.podseidon.kubewharf.io";
const leaseName = "podseidon-generator";

export class InstalledCluster {
  readonly fleet: Fleet;
  /** By kind. */
  readonly types: ReadonlyMap<string, ResourceType>;
  /** The generator runs elsewhere, whatever becomes of its Deployment. */
  isGeneratorElsewhere = false;

  private constructor(fleet: Fleet, known: ReadonlyMap<string, ResourceType>) {
    this.fleet = fleet;
    this.types = known;
  }

  /** With workloads of others, and without Podseidon. */
  static async create({ isSmall = false }: Installation = {}): Promise<InstalledCluster> {
    const fleet = await createFleet("w1");
    const { engine } = fleet.core;
    const known = new Map<string, ResourceType>(Object.values(types).map((type) => [type.kind, type]));
    known.set("Database", await engine.installCrd(scaledCrd()));
    for (const { apiVersion, kind } of overlays["single-cluster"] ?? []) {
      if (!isSmall && !known.has(kind) && apiVersion !== "v1")
        known.set(kind, await engine.installCrd(crdOf(apiVersion, kind)));
    }
    // The fleet's own.
    await engine.delete(types.customResourceDefinitions, undefined, definitionName);
    await goAtOnce(engine, systemNamespace);
    await engine.delete(types.namespaces, undefined, systemNamespace);
    const cluster = new InstalledCluster(fleet, known);
    for (const name of ["web", "plain"]) await cluster.make("Deployment", "shop", workload("Deployment", name));
    await cluster.make("StatefulSet", "shop", workload("StatefulSet", "db"));
    await cluster.make("Database", "default", databaseBody("main"));
    await cluster.make("ConfigMap", "shop", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "podseidon" } });
    return cluster;
  }

  get site(): Site {
    const { core, clock, stop } = this.fleet;
    return { client: core.client, cluster: "core", clock, signal: stop.signal, namespace: systemNamespace };
  }

  make(kind: string, namespace: string | undefined, body: JsonObject): Promise<unknown> {
    const type = this.types.get(kind);
    assert(type !== undefined, kind);
    return this.fleet.core.create(type, namespace, body);
  }

  /** As the manifests have it; `isSmall`: one object of each kind that the double knows, besides programs. */
  async install({ overlay = "single-cluster", isSmall = false }: Installation = {}): Promise<void> {
    const { engine } = this.fleet.core;
    const seen = new Set<string>();
    const manifests = (overlays[overlay] ?? []).filter(({ kind }) => {
      const isFurther = seen.has(kind);
      seen.add(kind);
      return !(isSmall && isFurther) || kind === "Namespace" || kind === "Deployment";
    });
    const namespaces = manifests.filter(({ kind }) => kind === "Namespace");
    for (const manifest of [...namespaces, ...manifests.filter(({ kind }) => kind !== "Namespace")]) {
      const { kind, metadata } = manifest;
      if (kind === "CustomResourceDefinition") {
        this.#keep("PodProtector", await engine.installCrd(permissivePodProtectorCrd()));
      } else if (this.types.has(kind)) await this.make(kind, metadata.namespace, storable(manifest));
    }
    for (const { metadata } of namespaces) await goAtOnce(engine, metadata.name);
    await this.make("Secret", systemNamespace, named("Secret", "podseidon-webhook-tls"));
  }

  /** What the roles of a worker have made. */
  async settleWorker(): Promise<void> {
    const time = ago(this.fleet.clock, 0);
    await this.make("Pod", "podseidon-update-trigger", {
      ...named("Pod", "podseidon-update-trigger"),
      metadata: { name: "podseidon-update-trigger", annotations: { [annotations.updateTriggerTime]: time } },
      spec: { containers: [{ name: "main", image: ":" }] },
    });
    await this.make("Lease", systemNamespace, {
      ...named("Lease", "podseidon-aggregator"),
      apiVersion: "coordination.k8s.io/v1",
    });
  }

  /** What the roles have made in a cluster that is core and worker. */
  async settle(): Promise<void> {
    const { core, clock } = this.fleet;
    const isWorker = core.engine.find(types.namespaces, undefined, "podseidon-update-trigger") !== undefined;
    if (isWorker) await this.settleWorker();
    for (const [kind, namespace, name] of guarded) await this.guard(kind, namespace, name);
    for (const name of ["deployment-web", "statefulset-db"]) await this.protect(name, [finalizer]);
    await this.protect("by-hand", []);
    const uid = core.engine.get(types.namespaces, undefined, "kube-system").metadata.uid;
    await createCellLease(core, clock, "default", { annotations: { [cellLeaseAnnotations.clusterUID]: uid } });
    await createCellLease(core, clock, undefined);
    await this.make("Lease", systemNamespace, {
      ...named("Lease", leaseName),
      apiVersion: "coordination.k8s.io/v1",
      spec: { holderIdentity: "generator-1", leaseDurationSeconds: 15, renewTime: ago(clock, 0) },
    });
    await this.make("ConfigMap", systemNamespace, named("ConfigMap", "podseidon-generator-state"));
  }

  /** As the generator does, beside the finalizers that are there. */
  async guard(kind: string, namespace: string, name: string): Promise<void> {
    const type = this.types.get(kind);
    assert(type !== undefined);
    const { engine } = this.fleet.core;
    const stored = engine.get(type, namespace, name);
    const finalizers = [...(stored.metadata.finalizers ?? []), finalizer];
    await engine.update(type, namespace, name, { ...stored, metadata: { ...stored.metadata, finalizers } });
  }

  async protect(name: string, finalizers: readonly string[]): Promise<void> {
    await this.make("PodProtector", "shop", {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name, finalizers },
      spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: name } } },
    });
  }

  /** Everything that is stored, as `kind namespace/name`, with its finalizers. */
  inventory(): readonly string[] {
    const { engine } = this.fleet.core;
    return [...new Set(this.types.values())]
      .filter((type) => type !== types.events && this.#isServed(type))
      .flatMap((type) => engine.list(type).items.map((object) => ({ kind: type.kind, ...object.metadata })))
      .map(({ kind, namespace = "", name, finalizers = [] }) => `${kind} ${namespace}/${name} ${finalizers.join(" ")}`)
      .toSorted();
  }

  /** As `kubectl delete -k` does, which waits for ever: all at once, the generator among them. */
  async deleteAll(): Promise<void> {
    const { engine } = this.fleet.core;
    // From then on pods can be deleted.
    await engine.delete(types.validatingWebhookConfigurations, undefined, "podseidon");
    for (const type of new Set(this.types.values())) {
      if (!this.#isServed(type) || type === types.namespaces) continue;
      for (const { metadata } of engine.list(type).items) {
        const isOurs = metadata.labels?.["app.kubernetes.io/name"] === "podseidon" || metadata.name === definitionName;
        // Namespaces take all with them.
        const isInside = metadata.namespace?.startsWith("podseidon-") === true;
        if (isOurs || isInside) await engine.delete(type, metadata.namespace, metadata.name);
      }
    }
    for (const name of [systemNamespace, "podseidon-update-trigger"])
      await engine.delete(types.namespaces, undefined, name);
  }

  /** Runs the command to its end, however long it waits. */
  async uninstall(...argv: readonly string[]): Promise<Ran> {
    const ran: { end?: Ran } = {};
    const running = this.fleet.run("uninstall", ...argv).then((end) => (ran.end = end));
    for (let step = 0; ran.end === undefined && step < 1_000; step += 1) {
      await this.#runGenerator();
      await this.fleet.clock.advance(500);
    }
    return running;
  }

  /** It leads for as long as its Deployment is there, and gives its Lease up. */
  async #runGenerator(): Promise<void> {
    const { core, clock } = this.fleet;
    const lease = core.engine.find(types.leases, systemNamespace, leaseName);
    if (lease === undefined) return;
    const runs =
      this.isGeneratorElsewhere ||
      core.engine.find(types.deployments, systemNamespace, "podseidon-generator") !== undefined;
    const spec = {
      ...(lease["spec"] as JsonObject),
      holderIdentity: runs ? "generator-1" : "",
      renewTime: ago(clock, 0),
    };
    await core.engine.update(types.leases, systemNamespace, leaseName, { ...lease, spec });
  }

  #isServed(type: ResourceType): boolean {
    if (type.group === "" || Object.values<ResourceType>(types).includes(type)) return true;
    const name = `${type.resource}.${type.group}`;
    return this.fleet.core.engine.find(types.customResourceDefinitions, undefined, name) !== undefined;
  }

  #keep(kind: string, type: ResourceType): void {
    (this.types as Map<string, ResourceType>).set(kind, type);
  }
}

/** Nobody empties namespaces here; tests look whether something was left in them. */
async function goAtOnce(engine: Engine, name: string): Promise<void> {
  const stored = engine.get(types.namespaces, undefined, name);
  await engine.update(types.namespaces, undefined, name, { ...stored, spec: { finalizers: [] } });
}

const guarded = [
  ["Deployment", "shop", "web"],
  ["StatefulSet", "shop", "db"],
  ["Database", "default", "main"],
] as const;

interface Installation {
  readonly overlay?: string;
  readonly isSmall?: boolean;
}

interface Installed {
  readonly cluster: InstalledCluster;
  /** What was there before Podseidon came. */
  readonly before: readonly string[];
}

/** One cluster, with Podseidon for a while. */
export async function installed(installation?: Installation): Promise<Installed> {
  const cluster = await InstalledCluster.create(installation);
  const before = cluster.inventory();
  await cluster.install(installation);
  await cluster.settle();
  return { cluster, before };
}

/** A worker, in the context "core". */
export async function installedWorker(): Promise<Installed> {
  const cluster = await InstalledCluster.create();
  const before = cluster.inventory();
  await cluster.install({ overlay: "worker" });
  await cluster.settleWorker();
  return { cluster, before };
}

export function named(kind: string, name: string): JsonObject {
  return { apiVersion: "v1", kind, metadata: { name } };
}

function workload(kind: string, name: string): JsonObject {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  const metadata = { name, finalizers: ["example.com/other"] };
  return { apiVersion: "apps/v1", kind, metadata, spec: { replicas: 1, selector: { matchLabels: labels }, template } };
}

/** Conditions of webhooks are not imitated. */
function storable(manifest: Manifest): JsonObject {
  const { webhooks, ...rest } = manifest as unknown as JsonObject;
  if (!Array.isArray(webhooks)) return rest;
  const { matchConditions: _, ...main } = (webhooks as JsonObject[])[0] ?? {};
  return { ...rest, webhooks: [main] };
}

const clusterScoped = /^(Cluster|ValidatingAdmission)/;

function crdOf(apiVersion: string, kind: string): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/");
  const lower = kind.toLowerCase();
  const plural = lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : `${lower}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: clusterScoped.test(kind) ? "Cluster" : "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular: lower },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
