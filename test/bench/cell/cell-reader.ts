/**
 * A child process of the benchmark: what an aggregator does with the pods of its cell, without a network. It reads the
 * list and the events of a watch from memory, as bytes of protobuf. Arguments: number of pods; "aggregator" for the
 * real informer, store, indexes and matching, "bare" for the same informer over a Map of decoded pods with no handlers.
 * Needs --expose-gc.
 */
import { createSyncTime } from "../../../src/accounting/settle/sync-time.ts";
import { Aggregator, Coverage, createAggregatorMetrics, createPodDecoder } from "../../../src/aggregator/index.ts";
import { objectKey } from "../../../src/api/object-key.ts";
import { type Decode, type Informer, type Stored } from "../../../src/kube/informer.ts";
import { type ByteStream, type KubeClient } from "../../../src/kube/kube-client.ts";
import { podProtectors, pods, readProtector, type StoredProtector } from "../../../src/kube/resources.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { createMetrics } from "../../../src/observability/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createSystemRng } from "../../../src/util/rng.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { bookmark, frame, watchEvent } from "../../unit/kube/protobuf/writer.ts";
import { tellParent } from "../processes/child.ts";
import { cellProtectors, Churn, eventsOfRound, listVersion, podBytes } from "./cell-shape.ts";

export interface CellFigures {
  readonly heapBytesOfPod: number;
  readonly cpuMicrosOfEvent: number;
  readonly cpuMsOfList: number;
}

/** Rounds before the measured ones, until the code is compiled. */
const warmUpRounds = 50;
const measuredRounds = 150;
const podsOfChunk = 500;

const podsCount = Number(process.argv[2]);
const isBare = process.argv[3] === "bare";

const never = new AbortController().signal;
const clock = createSystemClock();
const rng = createSystemRng();
const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
const shared = { clock, rng, logger: silentLogger, metrics };

/** Ends the wait of the watch for events, with those of one round or none. */
let nextRound: ((bytes: Buffer) => void) | undefined;
let onIdle: () => void = () => {};

/** Chunks of the size that undici hands out differ; 500 events are some. */
async function* podWatch(): AsyncGenerator<Buffer, void, undefined> {
  for (let first = 0; first < podsCount; first += podsOfChunk)
    yield podBytes("event", first, Math.min(podsOfChunk, podsCount - first));
  yield frame(watchEvent("BOOKMARK", bookmark(String(listVersion), true)));
  for (;;) {
    const asked = new Promise<Buffer>((resolve) => (nextRound = resolve));
    onIdle();
    yield await asked;
  }
}

async function* protectorWatch(): AsyncGenerator<Buffer, void, undefined> {
  let version = 0;
  const line = (type: string, object: unknown): Buffer => Buffer.from(`${JSON.stringify({ type, object })}\n`);
  for (const object of cellProtectors(podsCount)) {
    version += 1;
    const metadata = { ...(object["metadata"] as object), uid: `uid-${version}`, resourceVersion: String(version) };
    yield line("ADDED", { ...object, metadata });
  }
  const annotations = { "k8s.io/initial-events-end": "true" };
  yield line("BOOKMARK", { metadata: { resourceVersion: String(version), annotations } });
  await new Promise(() => {});
}

function memoryClient(cluster: string, chunks: () => AsyncIterable<Buffer>, encoding?: "protobuf"): KubeClient {
  return {
    cluster,
    request: () => Promise.reject(new Error("nothing but watches")),
    stream: () =>
      Promise.resolve({ [Symbol.asyncIterator]: () => chunks()[Symbol.asyncIterator](), encoding } as ByteStream),
    close: () => Promise.resolve(),
  };
}

const worker = memoryClient("worker", podWatch, "protobuf");
const core = memoryClient("core", protectorWatch);

function informerOf<T extends Stored>(decode: Decode<T>): Informer<T> {
  return createInformer<T>({ ...shared, client: worker, resource: pods, preferProtobuf: true, decode, name: "pods" });
}

/** Resolves when it is listed. */
function run<T extends Stored>(informer: Informer<T>): Promise<void> {
  return new Promise((resolve) => {
    informer.subscribe({ onEvent() {}, onListed: () => resolve() });
    void informer.run(never);
  });
}

/** Decoded pods as they come, the least that anyone could keep who knows nothing of what is needed. */
function startBare(): Promise<void> {
  return run(
    informerOf((raw) => {
      const { metadata } = raw as { metadata: Record<"namespace" | "name" | "uid" | "resourceVersion", string> };
      const { namespace, name, uid, resourceVersion } = metadata;
      return { raw, key: objectKey(namespace, name), uid, resourceVersion } as unknown as Stored;
    }),
  );
}

async function startAggregator(): Promise<void> {
  const syncTime = createSyncTime({ kind: "observed" });
  const own = createAggregatorMetrics(metrics);
  const informer = informerOf(createPodDecoder({ kind: "observed" }, syncTime, own));
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
  const coverage = new Coverage({
    pods: informer,
    excludedNamespaces: new Set(),
    dummyPod: { namespace: "default", name: "dummy" },
  });
  const aggregator = new Aggregator(
    {
      cellID: "cell",
      syncTime,
      history: { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 },
      settlementFenceDelayMs: 10_000,
      settleWindowMs: 75_000,
      podProtectorLabelSelector: {},
      rateJitterLow: 0.5,
      rateJitterHigh: 1,
      queue: { concurrency: 10, backoffBaseMs: 100, backoffMaxMs: 60_000, backoffConflictMs: 100 },
    },
    {
      core,
      worker,
      protectors,
      pods: informer,
      coverage,
      listBarrier: () => Promise.reject(new Error("no barriers")),
      touch() {},
      clock,
      rng,
      logger: silentLogger,
      metrics: own,
    },
  );
  coverage.watch();
  await run(protectors);
  aggregator.podsStarting();
  heapBefore = heapBytes();
  await run(informer);
}

/** After a full collection. */
function heapBytes(): number {
  gc?.();
  gc?.();
  return process.memoryUsage().heapUsed;
}

async function feed(bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve) => {
    onIdle = resolve;
    nextRound?.(bytes);
  });
}

let heapBefore = heapBytes();
const cpuBefore = process.cpuUsage();
await (isBare ? startBare() : startAggregator());
const { user, system } = process.cpuUsage(cpuBefore);
const cpuMsOfList = (user + system) / 1000;
await new Promise((resolve) => setImmediate(resolve));
const heapBytesOfPod = (heapBytes() - heapBefore) / podsCount;

const churn = new Churn(podsCount);
for (let round = 0; round < warmUpRounds; round += 1) await feed(churn.round());
let cpuMicros = 0;
for (let round = 0; round < measuredRounds; round += 1) {
  const bytes = churn.round();
  const before = process.cpuUsage();
  await feed(bytes);
  const spent = process.cpuUsage(before);
  cpuMicros += spent.user + spent.system;
}
const cpuMicrosOfEvent = cpuMicros / (measuredRounds * eventsOfRound);
const figures: CellFigures = { heapBytesOfPod, cpuMicrosOfEvent, cpuMsOfList };
tellParent(figures);
if (process.send === undefined) {
  console.log(figures);
  process.exit(0);
}
