/**
 * What else is in the clusters beside the workload that is checked: PodProtectors with every kind of selector and
 * setting, pods in every phase, deletions and evictions by every criterion. In a namespace of its own, so that what is
 * out of order there breaks no promise.
 */
import { annotations, finalizer, labels, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { formatSeconds } from "../../double/engine/metadata.ts";
import { asArray, asObject, type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { uncountedLabel } from "../processes/fleet.ts";
import { sideNamespace } from "../clusters/namespaces.ts";
import { type Cell, type World } from "../world.ts";
import { drawBrokenSpec, drawBrokenStatus } from "./people/broken-protectors.ts";
import { Draws } from "../../support/draws.ts";
import { quietly } from "./quietly.ts";
import { drawLabels, drawSelector } from "./selectors.ts";

const { namespaces, pods } = builtInResources;
const podsPerCellMax = 8;
const protectorsMax = 5;
/** At a time, on average: each change of a PodProtector is read by the processes of all cells. */
const busyCells = 3;
const caller = { username: "somebody", groups: ["system:authenticated"] };
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };
/** What a Go component does not know of, and drops. */
const extensions = new Set([
  "resourceVersion",
  "countedAt",
  "recountedAt",
  "countedSpec",
  "countedMinReadySeconds",
  "countedGeneration",
  "countedOwners",
  "foreignReplicas",
  "initializedReplicas",
  "podResourceVersion",
  "evictionResourceVersion",
  "podUIDDigests",
]);
/** Counts that are left out when they are 0. */
const omitted = new Set(["readyReplicas", "scheduledReplicas", "runningReplicas", "initializedReplicas"]);

export class Bystanders {
  readonly #world: World;
  readonly #draws: Draws;
  #created = 0;

  constructor(world: World) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("bystanders"));
  }

  /** A few of them do something. */
  async act(): Promise<void> {
    await this.#prepare();
    const share = Math.min(1, busyCells / this.#world.cells.length);
    for (const cell of this.#world.cells.filter(() => this.#draws.chance(share))) {
      await this.#actOnPod(cell);
      void this.#deleteSome(cell);
    }
    await this.#actOnProtector();
  }

  /** Writes an invalid PodProtector, or repairs or deletes one. */
  async writeHostile(): Promise<void> {
    await this.#prepare();
    const { protectors } = this.#world.core;
    const { engine } = this.#world.core.server;
    const present = this.#protectors();
    const broken = present.filter(({ metadata }) => metadata.name.startsWith("bad-"));
    const victim = this.#draws.pickAny(broken.length > 2 ? broken : present);
    const draw = this.#draws.between(0, 1);
    if (victim === undefined || (draw < 0.4 && broken.length < 3)) {
      this.#created += 1;
      const name = this.#draws.chance(0.05) ? `bad-${"x".repeat(240)}` : `bad-${this.#created}`;
      const metadata = { name, ...(this.#draws.chance(0.1) ? { annotations: { [annotations.released]: "1" } } : {}) };
      const body = { ...typeMeta, metadata, spec: drawBrokenSpec(this.#draws, this.#spec()) };
      await quietly(() => engine.create(protectors, sideNamespace, body, { caller }));
    } else if (draw < 0.6) {
      const spec = this.#draws.chance(0.5) ? this.#spec() : drawBrokenSpec(this.#draws, this.#spec());
      await this.#replace(victim, { spec });
    } else if (draw < 0.8) await this.#breakStatus(victim);
    else if (draw < 0.9) await this.#replace(victim, { status: undefined }, "status");
    else await quietly(() => engine.delete(protectors, sideNamespace, victim.metadata.name, {}, { caller }));
  }

  /**
   * A webhook or aggregator of upstream writes a status: without what it does not know of, and with buckets of its own.
   */
  async writeLikeGo(): Promise<void> {
    await this.#prepare();
    for (const cell of this.#world.cells) await this.#actOnPod(cell);
    if (this.#protectors().length < 2) await this.#actOnProtector();
    const victim = this.#draws.pickAny(this.#protectors().filter(({ status }) => status !== undefined));
    if (victim === undefined) return;
    const draw = this.#draws.between(0, 1);
    const counted = (aggregation: JsonObject): JsonObject => {
      // A tool that keeps what it does not know, but writes no zeros.
      if (draw >= 0.8) return withoutZeros(aggregation);
      if (draw >= 0.6) return aggregation;
      return draw < 0.2 ? stripped(withoutZeros(aggregation)) : stripped(aggregation);
    };
    const cells = asArray(victim.status?.["cells"]).map((cell) => {
      const { aggregation, admissionHistory, ...rest } = asObject(cell);
      const buckets = asArray(asObject(admissionHistory)["buckets"]).map(asObject);
      return {
        ...rest,
        ...(aggregation === undefined ? {} : { aggregation: counted(asObject(aggregation)) }),
        admissionHistory: { buckets: this.#goBuckets(draw < 0.6 ? buckets.map(stripped) : buckets) },
      };
    });
    await this.#replace(victim, { status: { ...victim.status, cells } }, "status");
  }

  /** Changes what happens in the namespace while the core takes no writes. */
  async labelNamespace(): Promise<void> {
    await this.#prepare();
    const policy = this.#draws.oneOf<string | null>("last-known", "last-known", "refuse", "odd", null);
    const body = { metadata: { labels: { [labels.coreUnavailablePolicy]: policy } } };
    const patch = { contentType: "application/merge-patch+json", body };
    await quietly(() => this.#world.core.server.engine.patch(namespaces, undefined, sideNamespace, patch, { caller }));
  }

  /** A policy begins or ends to refuse fences. */
  refuseFences(): void {
    const { kernel } = this.#world;
    this.#world.fencePolicyCode = this.#draws.oneOf(403, 403, 422, 429);
    kernel.schedule(this.#draws.between(5_000, 60_000), () => (this.#world.fencePolicyCode = undefined));
  }

  /** A policy of the core begins or ends to refuse writes of bystanders' PodProtectors. */
  refuseProtectors(): void {
    const { kernel } = this.#world;
    this.#world.corePolicyCode = this.#draws.oneOf(403, 422);
    kernel.schedule(this.#draws.between(2_000, 20_000), () => (this.#world.corePolicyCode = undefined));
  }

  #goBuckets(buckets: readonly JsonObject[]): readonly JsonObject[] {
    const now = this.#world.ledger.nowMicros;
    const startTime = formatMicroTime(now as Parameters<typeof formatMicroTime>[0]);
    const pod = this.#draws.pickAny(this.#podsOf(this.#draws.oneOf(this.#world.cells[0], ...this.#world.cells)));
    const added: JsonObject = this.#draws.oneOf<JsonObject>(
      { startTime, podUID: pod?.metadata.uid ?? "nobody" },
      // Of a deletion that was admitted and not carried out.
      { startTime, podUID: pod?.metadata.uid ?? "nobody", podResourceVersion: pod?.metadata.resourceVersion ?? "1" },
      { startTime, podUID: pod?.metadata.uid ?? "nobody", podResourceVersion: pod?.metadata.resourceVersion ?? "1" },
      { startTime, podUID: "" },
      { startTime, endTime: startTime, counter: this.#draws.whole(1, 4) },
      { startTime, counter: 3, podUIDDigests: "no digests", podResourceVersion: "1" },
      { startTime, podUID: "two", counter: 2, podResourceVersion: "soon" },
    );
    const draw = this.#draws.between(0, 1);
    if (draw < 0.5) return [...buckets, added];
    if (draw < 0.7) return buckets.slice(1);
    if (draw < 0.8 || buckets.length < 2) return buckets;
    return [{ startTime, endTime: startTime, counter: buckets.length }];
  }

  async #prepare(): Promise<void> {
    const body = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name: sideNamespace,
        labels: { [labels.coreUnavailablePolicy]: this.#draws.oneOf("refuse", "last-known", "odd") },
      },
    };
    for (const { server } of [this.#world.core, ...this.#world.cells]) {
      if (server.engine.find(namespaces, undefined, sideNamespace) === undefined)
        await quietly(() => server.engine.create(namespaces, undefined, body));
    }
  }

  #podsOf(cell: Cell | undefined): readonly KubeObject[] {
    return cell?.server.engine.list(pods, sideNamespace).items ?? [];
  }

  #protectors(): readonly KubeObject[] {
    return this.#world.core.server.engine.list(this.#world.core.protectors, sideNamespace).items;
  }

  async #actOnPod(cell: Cell): Promise<void> {
    const { engine } = cell.server;
    const present = this.#podsOf(cell);
    for (const { metadata } of present) {
      if (metadata.deletionTimestamp === undefined || this.#draws.chance(0.5)) continue;
      await quietly(() =>
        engine.delete(pods, sideNamespace, metadata.name, { gracePeriodSeconds: 0 }, { caller: kubelet }),
      );
    }
    const pod = this.#draws.pickAny(present);
    if (pod === undefined || present.length < podsPerCellMax) await this.#createPod(cell);
    else if (this.#draws.chance(0.3)) {
      const metadata = {
        labels: { tier: null, canary: null, ...drawLabels(this.#draws) },
        annotations: this.#wishes(),
      };
      await this.#patchPod(cell, pod, { metadata });
    } else await this.#patchPod(cell, pod, { status: this.#podStatus(cell) }, "status");
  }

  async #createPod(cell: Cell): Promise<void> {
    this.#created += 1;
    const { engine } = cell.server;
    const name = `side-${cell.name}-${this.#created}`;
    const created = await quietly(() =>
      engine.create(pods, sideNamespace, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, labels: drawLabels(this.#draws), annotations: this.#wishes() },
        spec: { containers: [{ name: "main", image: "side:1" }], terminationGracePeriodSeconds: 5 },
      }),
    );
    if (created !== undefined && this.#draws.chance(0.7))
      await this.#patchPod(cell, created, { status: this.#podStatus(cell) }, "status");
  }

  /** By which property deletions are to be judged, and rarely that they are not. */
  #wishes(): Readonly<Record<string, string>> {
    const criterion = this.#draws.oneOf("", "Scheduled", "Initialized", "Running", "Ready", "Perfect");
    return {
      ...(criterion === "" ? {} : { [annotations.healthCriterion]: criterion }),
      ...(this.#draws.chance(0.05) ? { [annotations.forceDelete]: "yes" } : {}),
    };
  }

  /** Anywhere between Pending and Succeeded. */
  #podStatus(cell: Cell): JsonObject {
    const phase = this.#draws.oneOf("Running", "Running", "Running", "Pending", "Succeeded", "Failed");
    const step = this.#draws.oneOf(4, 4, 4, 3, 2, 1, 0);
    const lastTransitionTime = formatSeconds(cell.server.engine.clock.epochMicros());
    const hasTimes = this.#draws.chance(0.9);
    const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type, index) => ({
      type,
      status: index < step ? "True" : "False",
      // Not every kubelet is Kubernetes' own.
      ...(hasTimes ? { lastTransitionTime } : {}),
    }));
    return { phase, conditions };
  }

  async #deleteSome(cell: Cell): Promise<void> {
    const { engine } = cell.server;
    const pod = this.#draws.pickAny(this.#podsOf(cell));
    if (pod === undefined || this.#draws.chance(0.3)) return;
    const { name } = pod.metadata;
    const draw = this.#draws.between(0, 1);
    const options = { caller, dryRun: this.#draws.chance(0.1) };
    if (draw < 0.5) {
      await quietly(() =>
        engine.delete(pods, sideNamespace, name, draw < 0.1 ? { gracePeriodSeconds: 0 } : {}, options),
      );
      return;
    }
    if (draw < 0.55) {
      await quietly(() => engine.deleteCollection(pods, sideNamespace, {}, {}, { caller }));
      return;
    }
    const metadata = { name: draw < 0.6 ? "nobody" : name, namespace: sideNamespace, annotations: this.#wishes() };
    const deleteOptions =
      draw < 0.65 ? { deleteOptions: { dryRun: ["All"] } } : draw < 0.75 ? { deleteOptions: {} } : {};
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, ...deleteOptions };
    await quietly(() => engine.evict(sideNamespace, name, eviction, options));
  }

  async #patchPod(cell: Cell, pod: KubeObject, body: JsonObject, subresource?: "status"): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body };
    const options = { caller: kubelet, ...(subresource === undefined ? {} : { subresource }) };
    await quietly(() => cell.server.engine.patch(pods, sideNamespace, pod.metadata.name, patch, options));
  }

  async #actOnProtector(): Promise<void> {
    const { protectors } = this.#world.core;
    const { engine } = this.#world.core.server;
    const present = this.#protectors().filter(({ metadata }) => metadata.name.startsWith("side-"));
    const chosen = this.#draws.pickAny(present);
    const draw = this.#draws.between(0, 1);
    if (chosen === undefined || (draw < 0.4 && present.length < protectorsMax)) {
      this.#created += 1;
      const name = `side-${this.#created}`;
      const isUncounted = this.#draws.chance(0.1);
      const metadata = isUncounted ? { labels: { [uncountedLabel]: "yes" } } : this.#origin();
      const body = { ...typeMeta, metadata: { name, ...metadata }, spec: this.#spec() };
      await quietly(() => engine.create(protectors, sideNamespace, body, { caller }));
      return;
    }
    const { name } = chosen.metadata;
    if (draw < 0.55) await this.#replace(chosen, { spec: this.#spec() });
    else if (draw < 0.7) {
      const key = draw < 0.62 ? annotations.removeCellOnce : annotations.released;
      const value = draw < 0.6 ? "gone, a" : "nowhere";
      const body = { metadata: { annotations: { [key]: value } } };
      const patch = { contentType: "application/merge-patch+json", body };
      await quietly(() => engine.patch(protectors, sideNamespace, name, patch, { caller }));
    } else if (draw < 0.8) {
      await quietly(() => engine.delete(protectors, sideNamespace, name, {}, { caller }));
      // It is created again at once.
      if (this.#draws.chance(0.5)) {
        const body = { ...typeMeta, metadata: { name }, spec: this.#spec() };
        await quietly(() => engine.create(protectors, sideNamespace, body, { caller }));
      }
    }
  }

  /** Some look as if they were generated, and are not. */
  #origin(): JsonObject {
    const draws = this.#draws;
    if (draws.chance(0.8)) return {};
    const kind = draws.oneOf("Deployment", "StatefulSet");
    const owner = { apiVersion: "apps/v1", kind, uid: "u-1", ...(draws.chance(0.5) ? { name: "whole-name" } : {}) };
    return {
      labels: { [sourceLabels.kind]: kind, ...(draws.chance(0.5) ? { [sourceLabels.name]: "short" } : {}) },
      ...(draws.chance(0.7) ? { finalizers: [finalizer] } : {}),
      ...(draws.chance(0.5) ? { ownerReferences: [owner] } : {}),
    };
  }

  #spec(): JsonObject {
    const draws = this.#draws;
    return {
      minAvailable: draws.whole(0, 4),
      minReadySeconds: draws.oneOf(0, 0, 5),
      selector: drawSelector(draws),
      ...(draws.chance(0.3) ? { aggregationSelector: drawSelector(draws) } : {}),
      ...(draws.chance(0.5)
        ? {
            admissionHistoryConfig: {
              ...(draws.chance(0.5) ? { maxConcurrentLag: draws.whole(0, 2) } : {}),
              ...(draws.chance(0.5) ? { compactThreshold: draws.whole(0, 3) } : {}),
              ...(draws.chance(0.5) ? { aggregationRateMillis: draws.whole(0, 3_000) } : {}),
            },
          }
        : {}),
    };
  }

  /** And people go on deleting what it protects. */
  async #breakStatus(victim: KubeObject): Promise<void> {
    await this.#replace(victim, { status: drawBrokenStatus(this.#draws) }, "status");
    await this.#world.kernel.pause(this.#draws.between(100, 2_000));
    for (const cell of this.#world.cells) for (let time = 0; time < 3; time += 1) void this.#deleteSome(cell);
  }

  async #replace(object: KubeObject, change: JsonObject, subresource?: "status"): Promise<void> {
    const { core } = this.#world;
    const { protectors } = core;
    const { name } = object.metadata;
    const options = { caller, ...(subresource === undefined ? {} : { subresource }) };
    await quietly(() => core.server.engine.update(protectors, sideNamespace, name, { ...object, ...change }, options));
  }
}

const typeMeta = { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector" };

function withoutZeros(counts: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(counts).filter(([key, value]) => value !== 0 || !omitted.has(key)));
}

function stripped(object: JsonObject): JsonObject {
  return without(extensions, object);
}

function without(keys: ReadonlySet<string>, object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)));
}
