/**
 * Cells that are parts of a cluster (docs/cells.md#parts-of-a-cluster): the roles with the arguments of the overlays,
 * on one engine of the API double that is core and worker at once, with the webhook configurations of the overlays.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type Config } from "../../../src/config/index.ts";
import { type Component } from "../../../src/lifecycle/component.ts";
import { createHealth } from "../../../src/observability/health.ts";
import { createAggregator } from "../../../src/roles/aggregator.ts";
import { type Runtime } from "../../../src/roles/runtime.ts";
import { createWebhook } from "../../../src/roles/webhook.ts";
import { type ServerOptions } from "../../../src/server/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { Engine, isApiError, permissivePodProtectorCrd } from "../../double/index.ts";
import { asObject, type JsonObject } from "../../double/engine/object.ts";
import { builtInResources as types, type ResourceType } from "../../double/engine/resources.ts";
import { type Deployment, type Manifest, render } from "../../manifests/manifest-files.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.ts";
import { loadGood } from "../config/load.ts";
import { type CountingMetrics, createCountingMetrics } from "../kube/counting-metrics.ts";
import { settle } from "../webhook/support/replica.ts";

const cellKey = "podseidon.kubewharf.io/cell";

class Installation {
  readonly clock: VirtualClock = createVirtualClock();
  readonly engine: Engine;
  readonly metrics = new Map<string, CountingMetrics>();
  readonly #components = new Map<string, readonly Component[]>();
  #fetch: ServerOptions["fetch"] | undefined;
  #protectors: ResourceType | undefined;

  constructor() {
    this.engine = new Engine({
      clock: this.clock,
      rng: createSeededRng(5),
      callWebhook: (webhook, review) => this.#call(webhook, review),
    });
  }

  /** Everything of the overlay but the generator, and these namespaces besides. */
  async install(overlay: string, namespaces: readonly string[]): Promise<void> {
    const objects = render(`overlays/${overlay}`);
    await this.engine.bootstrap();
    this.#protectors = await this.engine.installCrd(permissivePodProtectorCrd());
    const own = objects.filter(({ kind }) => kind === "Namespace").map(({ metadata }) => metadata.name);
    for (const name of [...own, ...namespaces])
      await this.engine.create(types.namespaces, undefined, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name },
      });
    for (const deployment of objects.filter(({ kind }) => kind === "Deployment") as Deployment[]) {
      const { metadata, spec } = deployment;
      if (metadata.name !== "podseidon-generator")
        await this.#start(metadata.name, loadGood(spec.template.spec.containers[0].args));
    }
    // The double knows no matchConditions. Those of the first entry only spare reviews.
    for (const object of objects.filter(({ kind }) => kind === "ValidatingWebhookConfiguration")) {
      const { webhooks } = object as Manifest & { readonly webhooks: readonly object[] };
      await this.engine.create(types.validatingWebhookConfigurations, undefined, {
        ...object,
        webhooks: [{ ...webhooks[0], matchConditions: [] }],
      });
    }
    await this.clock.advance(90_000);
  }

  async #start(name: string, config: Config): Promise<void> {
    const metrics = createCountingMetrics();
    const client = async (): Promise<EngineClient> => new EngineClient("cluster", this.engine);
    const runtime: Runtime = {
      config,
      productVersion: "1.0.0",
      clock: this.clock,
      rng: createSeededRng(this.metrics.size + 1),
      logger: silentLogger,
      metrics,
      health: createHealth({ logger: silentLogger, metrics }),
      clients: {
        core: client,
        coreHeartbeat: client,
        coreElection: client,
        worker: client,
        workerElection: client,
        connect: client,
      },
      createServer: ({ fetch }) => {
        this.#fetch = fetch;
        return { name: "webhook", start: async () => {}, stop: async () => {}, disableKeepAlive() {} };
      },
    };
    const components = await (config.roles.has("webhook") ? createWebhook(runtime) : createAggregator(runtime));
    this.metrics.set(name, metrics);
    this.#components.set(name, components);
    for (const component of components) await component.start();
  }

  async stop(name: string): Promise<void> {
    const components = this.#components.get(name) ?? [];
    this.#components.delete(name);
    await settle(this.clock, Promise.all(components.map((component) => component.stop())));
  }

  async stopAll(): Promise<void> {
    for (const name of this.#components.keys()) await this.stop(name);
  }

  async #call(webhook: JsonObject, review: JsonObject): Promise<unknown> {
    assert.ok(this.#fetch !== undefined);
    const { path } = asObject(asObject(webhook["clientConfig"])["service"]);
    const request = new Request(`https://webhook${String(path)}?timeout=10s`, {
      method: "POST",
      body: JSON.stringify(review),
    });
    const response = await this.#fetch(request, undefined as never);
    if (response.status !== 200) throw new Error(await response.text());
    return await response.json();
  }

  async pods(namespace: string, names: readonly string[], labels: object = {}): Promise<void> {
    for (const name of names) {
      const metadata = { name, labels: { app: "web", ...labels } };
      const spec = { containers: [{ name: "main", image: "web:1" }] };
      await this.engine.create(types.pods, namespace, { apiVersion: "v1", kind: "Pod", metadata, spec });
      const conditions = ["PodScheduled", "Initialized", "Ready"].map((type) => {
        return { type, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
      });
      const body = { status: { phase: "Running", conditions } };
      const patch = { contentType: "application/merge-patch+json", body };
      await this.engine.patch(types.pods, namespace, name, patch, { subresource: "status" });
    }
  }

  async protect(namespace: string, minAvailable: number): Promise<void> {
    assert.ok(this.#protectors !== undefined);
    await this.engine.create(this.#protectors, namespace, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name: "web" },
      spec: { minAvailable, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
    });
    await this.clock.advance(10_000);
  }

  /** Available pods and promised deletions of each cell. */
  cells(namespace: string): object {
    assert.ok(this.#protectors !== undefined);
    const { status } = this.engine.get(this.#protectors, namespace, "web") as unknown as PodProtector;
    return Object.fromEntries(
      (status?.cells ?? []).map(({ cellID, aggregation, admissionHistory }) => [
        cellID,
        [aggregation?.availableReplicas, admissionHistory?.buckets?.length ?? 0],
      ]),
    );
  }

  /** "" = the pod is gone; else why not. */
  async remove(namespace: string, name: string, how: "delete" | "evict" = "delete"): Promise<string> {
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
    const asked =
      how === "delete"
        ? this.engine.delete(types.pods, namespace, name, { gracePeriodSeconds: 0 })
        : this.engine.evict(namespace, name, eviction);
    try {
      await settle(this.clock, asked);
      return "";
    } catch (error) {
      if (!isApiError(error)) throw error;
      return error.message;
    }
  }

  gateOf(name: string): readonly string[] {
    const states = ["ok", "missing", "other-cell", "unreachable", "unknown"];
    return states.filter((state) => this.metrics.get(name)?.value("aggregator_gate", { state }) === 1);
  }
}

test("two namespaces of one cluster are two cells: each is counted, guarded and falls silent for itself", async () => {
  const cluster = new Installation();
  await cluster.install("namespace-cells", ["team-a", "team-b", "others"]);
  await cluster.pods("team-a", ["a-0", "a-1", "a-2"]);
  await cluster.pods("team-b", ["b-0", "b-1"]);
  await cluster.pods("others", ["o-0"]);
  await cluster.protect("team-a", 2);
  await cluster.protect("team-b", 1);
  assert.deepEqual(cluster.cells("team-a"), { "team-a": [3, 0] });
  assert.deepEqual(cluster.cells("team-b"), { "team-b": [2, 0] });
  assert.deepEqual(cluster.gateOf("podseidon-aggregator-team-a"), ["ok"]);
  assert.deepEqual(cluster.gateOf("podseidon-aggregator-team-b"), ["ok"]);

  assert.equal(await cluster.remove("team-a", "a-0"), "");
  assert.match(await cluster.remove("team-a", "a-1", "evict"), /Must stay 2, .* by cell: "team-a"/);
  assert.equal(await cluster.remove("team-b", "b-0", "evict"), "", "the other budget is untouched");
  assert.equal(await cluster.remove("others", "o-0"), "", "no cell, so nobody is asked");
  await cluster.clock.advance(5_000);
  assert.deepEqual(cluster.cells("team-a"), { "team-a": [2, 0] }, "it has settled");

  await cluster.pods("team-a", ["a-3"]);
  await cluster.pods("team-b", ["b-2"]);
  await cluster.clock.advance(5_000);
  await cluster.stop("podseidon-aggregator-team-a");
  await cluster.clock.advance(240_000);
  assert.match(await cluster.remove("team-a", "a-3"), /nothing has been heard from cell "team-a"/);
  assert.equal(await cluster.remove("team-b", "b-2"), "");
  await cluster.stopAll();
});

test("the values of a label are two cells of one budget, and a pod without a cell is refused by name", async () => {
  const cluster = new Installation();
  await cluster.install("label-cells", ["shop"]);
  await cluster.pods("shop", ["blue-0", "blue-1"], { [cellKey]: "blue" });
  await cluster.pods("shop", ["green-0", "green-1"], { [cellKey]: "green" });
  await cluster.pods("shop", ["none-0"]);
  await cluster.pods("shop", ["red-0"], { [cellKey]: "red" });
  await cluster.protect("shop", 2);
  assert.deepEqual(cluster.cells("shop"), { blue: [2, 0], green: [2, 0] });
  assert.deepEqual(cluster.gateOf("podseidon-aggregator-blue"), ["ok"]);
  assert.deepEqual(cluster.gateOf("podseidon-aggregator-green"), ["ok"]);

  assert.match(await cluster.remove("shop", "none-0"), /Pod shop\/none-0 has no cell: it lacks the label/);
  assert.match(await cluster.remove("shop", "none-0", "evict"), /Pod shop\/none-0 has no cell: it lacks the label/);
  assert.match(await cluster.remove("shop", "red-0"), /is "red", which is none of --webhook-allowed-cells/);
  assert.equal(await cluster.remove("shop", "blue-0"), "");
  assert.equal(await cluster.remove("shop", "green-0", "evict"), "");
  assert.match(await cluster.remove("shop", "green-1"), /Must stay 2, available .*, free 0/);
  await cluster.clock.advance(200_000);
  assert.deepEqual(cluster.cells("shop"), { blue: [1, 0], green: [1, 0] }, "each has settled in its own cell");
  await cluster.stopAll();
});
