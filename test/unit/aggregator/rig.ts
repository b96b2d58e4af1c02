/**
 * An aggregator with real informers between two engines of the API double, a core and a worker, on one virtual clock.
 */
import { type PodRecord } from "../../../src/api/pod.ts";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import {
  type Bucket,
  type CellStatus,
  type PodProtector,
  type PodProtectorSpec,
} from "../../../src/api/v1alpha1/pod-protector.ts";
import {
  Aggregator,
  type AggregatorSettings,
  Coverage,
  createAggregatorMetrics,
  createPodDecoder,
} from "../../../src/aggregator/index.ts";
import { type Informer, type Stored } from "../../../src/kube/informer.ts";
import { podProtectors, pods, readProtector, type StoredProtector } from "../../../src/kube/resources.ts";
import { createInformer, listBarrier } from "../../../src/kube/watch/index.ts";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { createSyncTime } from "../../../src/accounting/settle/sync-time.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { type Clock, type EpochMicros } from "../../../src/util/clock.ts";
import { type LogFields, type Logger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { UpdateTrigger } from "../../../src/update-trigger/update-trigger.ts";
import { builtInResources as types, type ResourceType } from "../../double/engine/resources.ts";
import { Engine, permissivePodProtectorCrd } from "../../double/index.ts";
import { type CountingMetrics, createCountingMetrics } from "../kube/counting-metrics.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.ts";
import { EngineClient } from "../../support/engine-client.ts";

export const cellID = "cell-1";

export const defaultConfig: AggregatorSettings = {
  cellID,
  syncTime: createSyncTime({ kind: "observed" }),
  history: { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 },
  settlementFenceDelayMs: 10_000,
  settleWindowMs: 75_000,
  podProtectorLabelSelector: {},
  rateJitterLow: 0.5,
  rateJitterHigh: 1,
  queue: { concurrency: 10, backoffBaseMs: 100, backoffMaxMs: 60_000, backoffConflictMs: 100 },
};

export interface Running {
  readonly aggregator: Aggregator;
  readonly coverage: Coverage;
  readonly core: EngineClient;
  readonly worker: EngineClient;
  readonly metrics: CountingMetrics;
  readonly logs: { readonly level: string; readonly message: string; readonly fields: LogFields | undefined }[];
  readonly podInformer: Informer<PodRecord>;
  readonly protectorInformer: Informer<StoredProtector>;
  /** Timers set so far through the aggregator's clock. */
  readonly timersSet: () => number;
  /** Begins to lead; resolved once `depose` or `stop` has taken effect. */
  readonly lead: () => void;
  readonly depose: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

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
  readonly #running: Running[] = [];
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

  async start(
    options: { config?: Partial<AggregatorSettings>; trigger?: boolean; lead?: boolean; seed?: number } = {},
  ): Promise<Running> {
    const core = new EngineClient("core", this.coreEngine);
    const worker = new EngineClient("worker", this.workerEngine);
    const running = runAggregator(this.clock, core, worker, { ...defaultConfig, ...options.config }, options);
    this.#running.push(running);
    await this.clock.advance(0);
    if (options.lead !== false) running.lead();
    await this.clock.advance(0);
    return running;
  }

  async stop(): Promise<void> {
    for (const running of this.#running) await running.stop();
  }
}

export async function createRig(crd: unknown = permissivePodProtectorCrd(), clock?: VirtualClock): Promise<Rig> {
  const rig = new Rig(crd, clock);
  await rig.prepare();
  return rig;
}

/** Makes a rig, hands it to `body`, and stops everything afterwards. */
export async function withRig(body: (rig: Rig) => Promise<void>, crd?: unknown): Promise<void> {
  const rig = await createRig(crd);
  try {
    await body(rig);
  } finally {
    await rig.stop();
  }
}

function runAggregator(
  virtual: VirtualClock,
  core: EngineClient,
  worker: EngineClient,
  config: AggregatorSettings,
  options: { trigger?: boolean; seed?: number },
): Running {
  let timers = 0;
  const clock: Clock = {
    monotonicMs: () => virtual.monotonicMs(),
    epochMicros: () => virtual.epochMicros(),
    setTimer(delayMs, callback) {
      timers += 1;
      return virtual.setTimer(delayMs, callback);
    },
  };
  const logs: Running["logs"] = [];
  const logger = recordingLogger(logs);
  const rng = createSeededRng(options.seed ?? 7);
  const metrics = createCountingMetrics();
  const shared = { clock: virtual, rng: createSeededRng(3), logger, metrics: silentMetrics };
  const protectors = createInformer<StoredProtector>({
    ...shared,
    client: core,
    resource: podProtectors,
    name: "podprotectors",
    decode(raw) {
      const read = readProtector(raw);
      return read.ok ? read.stored : undefined;
    },
  });
  const aggregatorMetrics = createAggregatorMetrics(metrics);
  const podInformer = createInformer<PodRecord>({
    ...shared,
    client: worker,
    resource: pods,
    name: "pods",
    decode: createPodDecoder({ kind: "observed" }, config.syncTime, aggregatorMetrics),
  });
  const trigger =
    options.trigger === true
      ? new UpdateTrigger(
          {
            updateFrequencyMs: 30_000,
            dummyPod: {
              name: "dummy",
              namespace: "default",
              labels: {},
              annotations: {},
              image: "none",
              scheduler: "none",
            },
          },
          { worker, clock, logger, metrics },
        )
      : undefined;
  const coverage = new Coverage({
    pods: podInformer,
    excludedNamespaces: new Set(),
    dummyPod: { namespace: "default", name: "dummy" },
  });
  const aggregator = new Aggregator(config, {
    core,
    worker,
    protectors,
    pods: podInformer,
    coverage,
    listBarrier: (signal) => listBarrier(worker, pods, undefined, { signal }),
    touch: () => trigger?.touch(),
    clock,
    rng,
    logger,
    metrics: aggregatorMetrics,
  });
  coverage.watch();
  const life = new AbortController();
  let leadership = new AbortController();
  let leading: Promise<unknown> = Promise.resolve();
  const work = runInformers(aggregator, protectors, podInformer, life.signal);
  return {
    aggregator,
    coverage,
    core,
    worker,
    metrics,
    logs,
    podInformer,
    protectorInformer: protectors,
    timersSet: () => timers,
    lead() {
      leadership = new AbortController();
      leading = Promise.all([aggregator.lead(leadership.signal), trigger?.run(leadership.signal)]);
    },
    async depose() {
      leadership.abort();
      await leading;
    },
    async stop() {
      leadership.abort();
      life.abort();
      await Promise.all([leading, work]);
    },
  };
}

async function runInformers<T extends Stored, U extends Stored>(
  aggregator: Aggregator,
  protectors: Informer<T>,
  podInformer: Informer<U>,
  signal: AbortSignal,
): Promise<void> {
  const synced = new Promise<void>((resolve) => {
    protectors.subscribe({ onEvent() {}, onListed: () => resolve() });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const watching = protectors.run(signal);
  await synced;
  aggregator.podsStarting();
  await Promise.all([watching, podInformer.run(signal)]);
}

function recordingLogger(logs: Running["logs"]): Logger {
  const add =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void logs.push({ level, message, fields });
  const logger: Logger = {
    error: add("error"),
    warn: add("warn"),
    info: add("info"),
    verbose() {},
    isVerbose: () => false,
    with: () => logger,
  };
  return logger;
}
