/**
 * An aggregator with real informers between two engines of the API double, a core and a worker, on one virtual clock.
 */
import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import {
  type Bucket,
  type CellStatus,
  type PodProtector,
  type PodProtectorSpec,
} from "../../../src/api/v1alpha1/pod-protector.ts";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { type Component } from "../../../src/lifecycle/component.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { builtInResources as types, type ResourceType } from "../../double/engine/resources.ts";
import { Engine, permissivePodProtectorCrd } from "../../double/index.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.ts";
import { cellID, defaultConfig, runAggregator, type Running, type StartOptions } from "./run-aggregator.ts";

export { cellID, type Running };

export interface PodOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly ready?: boolean;
  /** Default: now. */
  readonly readySince?: EpochMicros;
}

export class Rig {
  readonly clock: VirtualClock;
  coreEngine: Engine;
  workerEngine: Engine;
  protectorType!: ResourceType;
  readonly #stops = new Set<() => Promise<void>>();
  readonly #crd: unknown;
  #noise = 0;

  constructor(crd: unknown, clock = createVirtualClock()) {
    this.clock = clock;
    this.coreEngine = this.newEngine();
    this.workerEngine = this.newEngine();
    this.#crd = crd;
  }

  /** Engines of one seed draw the same UIDs. */
  newEngine(seed = 5): Engine {
    return new Engine({
      clock: this.clock,
      rng: createSeededRng(seed),
      callWebhook: () => Promise.reject(new Error("none")),
    });
  }

  async prepare(): Promise<void> {
    await this.coreEngine.bootstrap();
    await this.workerEngine.bootstrap();
    this.protectorType = await this.coreEngine.installCrd(this.#crd);
  }

  /** Restores the core from an empty backup: a new history of versions. */
  async newCore(): Promise<Engine> {
    const engine = this.newEngine(6);
    await engine.bootstrap();
    this.protectorType = await engine.installCrd(this.#crd);
    return engine;
  }

  async protect(name: string, spec: Partial<PodProtectorSpec> = {}, metadata: object = {}): Promise<void> {
    await this.coreEngine.create(this.protectorType, "default", {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name, ...metadata },
      spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: name } }, ...spec },
    });
  }

  /** Edits the selector, as a person does. */
  async select(name: string, selector: PodProtectorSpec["selector"]): Promise<void> {
    await this.editSpec(name, { selector });
  }

  async editSpec(name: string, edit: Partial<PodProtectorSpec>): Promise<void> {
    const { spec, ...rest } = this.protector(name);
    const body = JSON.parse(JSON.stringify({ ...rest, spec: { ...spec, ...edit } })) as unknown;
    await this.coreEngine.update(this.protectorType, "default", name, body);
  }

  protector(name: string): PodProtector {
    return this.coreEngine.get(this.protectorType, "default", name) as unknown as PodProtector;
  }

  cell(name: string): CellStatus | undefined {
    return this.protector(name).status?.cells.find((cell) => cell.cellID === cellID);
  }

  buckets(name: string): readonly Bucket[] {
    return this.cell(name)?.admissionHistory?.buckets ?? [];
  }

  available(name: string): number | undefined {
    return this.cell(name)?.aggregation?.availableReplicas;
  }

  /** Writes what `change` makes of the cell, as a webhook (or a Go component) does. */
  async editCell(name: string, change: (cell: CellStatus) => CellStatus): Promise<void> {
    await this.putCell(name, change(this.cell(name) ?? { cellID }));
  }

  /** Adds the cell to the status or replaces it. */
  async putCell(name: string, put: CellStatus): Promise<void> {
    const cells = this.protector(name).status?.cells ?? [];
    await this.putCells(name, [...cells.filter((cell) => cell.cellID !== put.cellID), put]);
  }

  /** Replaces all cells. */
  async putCells(name: string, cells: readonly CellStatus[]): Promise<void> {
    const protector = this.protector(name);
    const body = JSON.parse(
      JSON.stringify({
        ...protector,
        status: { ...protector.status, cells, summary: summarize(cells, protector.spec) },
      }),
    ) as unknown;
    await this.coreEngine.update(this.protectorType, "default", name, body, { subresource: "status" });
  }

  /** Records an admission: a DELETE at the pod's present version, or, with `version: undefined`, an eviction. */
  async admit(name: string, pod: string, bucket: Partial<Bucket> = {}): Promise<void> {
    const { uid, resourceVersion } = this.workerEngine.get(types.pods, "default", pod).metadata;
    await this.addBucket(name, { podUID: uid, podResourceVersion: resourceVersion as ResourceVersion, ...bucket });
  }

  /** Records the admission of an eviction. */
  async evict(name: string, pod: string): Promise<void> {
    await this.addBucket(name, { podUID: this.uidOf(pod) });
  }

  uidOf(pod: string): string {
    return this.workerEngine.get(types.pods, "default", pod).metadata.uid;
  }

  async addBucket(name: string, bucket: Partial<Bucket>): Promise<void> {
    const whole = { startTime: formatMicroTime(this.clock.epochMicros()), ...bucket };
    await this.editCell(name, (cell) => ({
      ...cell,
      admissionHistory: { buckets: [...(cell.admissionHistory?.buckets ?? []), whole] },
    }));
  }

  async pod(name: string, options: PodOptions = {}): Promise<void> {
    const { labels = { app: "web" }, ready = true, readySince = this.clock.epochMicros() } = options;
    await this.workerEngine.create(types.pods, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels },
      spec: { containers: [{ name: "main", image: "web:1" }] },
    });
    await this.setReady(name, ready, readySince);
  }

  async setReady(name: string, ready: boolean, since = this.clock.epochMicros()): Promise<void> {
    const conditions = [
      { type: "PodScheduled", status: "True" },
      { type: "Initialized", status: "True" },
      { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: formatMicroTime(since) },
    ];
    const body = { status: { phase: "Running", conditions } };
    const patch = { contentType: "application/merge-patch+json", body };
    await this.workerEngine.patch(types.pods, "default", name, patch, { subresource: "status" });
  }

  /** The control plane no longer hears the kubelet of a pod. */
  async loseSight(name: string): Promise<void> {
    const conditions = [
      { type: "ContainersReady", status: "True" },
      { type: "Ready", status: "False" },
    ];
    const patch = { contentType: "application/merge-patch+json", body: { status: { conditions } } };
    await this.workerEngine.patch(types.pods, "default", name, patch, { subresource: "status" });
  }

  async relabel(name: string, labels: object): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { labels } } };
    await this.workerEngine.patch(types.pods, "default", name, patch);
  }

  /** Moves the versions of a cluster without touching pods or protectors. */
  async noise(engine: Engine, writes = 1): Promise<void> {
    for (let write = 0; write < writes; write++) {
      const metadata = { name: `noise-${this.#noise++}` };
      await engine.create(types.configMaps, "default", { apiVersion: "v1", kind: "ConfigMap", metadata, data: {} });
    }
  }

  async removePod(name: string): Promise<void> {
    await this.workerEngine.delete(types.pods, "default", name, { gracePeriodSeconds: 0 });
  }

  async start(options: StartOptions = {}): Promise<Running> {
    const core = new EngineClient("core", this.coreEngine);
    const worker = new EngineClient("worker", this.workerEngine);
    const running = runAggregator(this.clock, core, worker, { ...defaultConfig, ...options.config }, options);
    this.#stops.add(running.stop);
    await this.clock.advance(0);
    if (options.lead !== false) running.lead();
    await this.clock.advance(0);
    return running;
  }

  /** Starts the parts of a process. They stop at the end, or when what is returned is called. */
  async run(components: Promise<readonly Component[]>): Promise<() => Promise<void>> {
    const parts = await components;
    for (const part of parts) await part.start();
    const stop = async (): Promise<void> => {
      this.#stops.delete(stop);
      // Time goes on, as in a real stop.
      const stopped = Promise.all(parts.map((part) => part.stop()));
      await this.clock.advance(0);
      await stopped;
    };
    this.#stops.add(stop);
    return stop;
  }

  /** Lets time pass, and looks at what is recorded of web then. */
  async after(ms: number, expected: { available?: number; buckets?: number }, why = "of web"): Promise<void> {
    await this.clock.advance(ms);
    const { available, buckets } = expected;
    if (available !== undefined) assert.equal(this.available("web"), available, why);
    if (buckets !== undefined) assert.equal(this.buckets("web").length, buckets, why);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) await stop();
  }
}

export async function createRig(crd: unknown = permissivePodProtectorCrd(), clock?: VirtualClock): Promise<Rig> {
  const rig = new Rig(crd, clock);
  await rig.prepare();
  return rig;
}

/** Makes a rig, hands it to `body`, and closes it afterwards. */
export async function withRig(body: (rig: Rig) => Promise<void>, crd?: unknown): Promise<void> {
  const rig = await createRig(crd);
  try {
    await body(rig);
  } finally {
    await rig.stop();
  }
  await rig.clock.advance(0);
  assert.equal(rig.clock.pendingTimers, 0, "no timer is left");
}

/** The rig of a test. At the end everything is stopped, and no timer may be left. */
export async function rigFor(t: TestContext, crd?: unknown): Promise<Rig> {
  const rig = await createRig(crd);
  t.after(async () => {
    await rig.stop();
    await rig.clock.advance(0);
    assert.equal(rig.clock.pendingTimers, 0, "no timer is left");
  });
  return rig;
}

export interface CountedOptions extends StartOptions {
  /** Names of the pods of web. */
  readonly pods?: readonly string[];
  readonly spec?: Partial<PodProtectorSpec>;
  readonly ms?: number;
  readonly crd?: unknown;
}

/** A rig with web and its pods, all Ready, and an aggregator that has counted them after `ms`. */
export async function counted(t: TestContext, options: CountedOptions = {}): Promise<Running & { readonly rig: Rig }> {
  const { pods: names = ["a", "b", "c"], spec, ms = 65_000, crd, ...start } = options;
  const rig = await rigFor(t, crd);
  await rig.protect("web", spec);
  for (const name of names) await rig.pod(name);
  const running = await rig.start(start);
  await rig.after(ms, { available: names.length });
  running.core.log = [];
  running.worker.log = [];
  return { rig, ...running };
}
