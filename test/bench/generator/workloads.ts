/**
 * 20,000 workloads under the generator: from its start until each has its floor, what a change costs, and what it costs
 * to do nothing. Client rates are lifted, so that the figure is what the process can do; what the default rate allows
 * is said beside it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject } from "../../double/index.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { CountedCore, requestsBetween, requestsText, sumOf } from "../processes/counted-core.ts";
import { cpuPercent, type CpuSample, cpuSample } from "../processes/cpu-shares.ts";
import { defaultRate, GeneratorRun, PlainRun, type RateLimit } from "./generator-run.ts";
import { type Row } from "../row.ts";
import { workloadBody, workloadStatus } from "./workload-body.ts";

type Say = (line: string) => void;

const namespaces = 100;
const deployments = 18_000;
const statefulSets = 2_000;
const workloads = deployments + statefulSets;
/** Three of four must stay, by the default of both. */
const replicas = 8;
const floors = { deployment: 6, statefulset: 7 } as const;
const scaledReplicas = 12;
const scaledFloor = 9;
const scaled = 200;
/** Of a StatefulSet with as many replicas. */
const lastFloor = 11;
/** What a process asks for whatever it finds, and the change of one workload. */
const restartRequestsMax = 30;
const sources = ["--generator-sources=deployments.apps,statefulsets.apps"];
/** What any rate that people set does not reach. */
const unlimited: RateLimit = { qps: 1_000_000, burst: 1_000_000 };
/** Whether the name is free, a finalizer on the source, and the PodProtector. */
const requestsOfEach = 3;
/** A second look where the events of its own writes come apart, and requests that are about no workload. */
const tolerated = 1.01;
const idleMs = 20_000;
/** Status updates of unrelated kinds a second: a fleet of 20,000 that restarts a pod of each in three minutes. */
const updatesPerSecond = 100;
/** Measured 100 s on a busy machine. */
const limitMs = 900_000;
const statusUpdateMs = 1000 / updatesPerSecond;

export async function measureWorkloads(say: Say): Promise<Row[]> {
  const rate = process.env["QPS"] === "default" ? defaultRate : unlimited;
  const core = await CountedCore.start();
  try {
    say(`${workloads} workloads are created`);
    await createWorkloads(core);
    say("a plain client protects them");
    const plain = await measurePlain(core, rate);
    await core.wipe("podprotectors");
    say("the generator protects them");
    const before = await core.counts();
    const startMs = performance.now();
    const run = await GeneratorRun.start(core, "generator-workloads", sources, rate);
    try {
      await allProtected(core, say);
      const tookMs = performance.now() - startMs;
      const { cpuMicros } = await run.process.usage();
      await run.quiet();
      const requests = requestsBetween(before, await core.counts());
      const changed = await requestsOfScaled(core, run, say);
      const steady = await measureSteady(core, run.process.pid, say);
      const { heapBytes, residentBytes, peakBytes } = await run.process.usage();
      const memory = { heapBytes, residentBytes, peakBytes };
      await run.stop();
      const again = await measureRestart(core, rate, say);
      return [
        startRow({ tookMs, cpuMs: cpuMicros / 1000 }, plain, requests, rate),
        changedRow(changed),
        steadyRow(steady, plain.steady),
        memoryRow(memory, plain.memory),
        restartRow(again, plain),
      ];
    } finally {
      await run.stop();
    }
  } finally {
    core.stop();
  }
}

interface Restart extends Time {
  readonly requests: ReadonlyMap<string, number>;
}

/** From the start of a process that finds all in force but one, which it looks at last. */
async function measureRestart(core: CountedCore, rate: RateLimit, say: Say): Promise<Restart> {
  say("the generator is started again");
  const all = (await core.protectors()).filter(({ name }) => name.startsWith("statefulset-"));
  const last = all.at(-1);
  if (last === undefined) throw new Error("no StatefulSet has a PodProtector");
  const { namespace } = last;
  const name = last.name.replace("statefulset-", "");
  await core.change("statefulsets", [{ namespace, name, body: { spec: { replicas: scaledReplicas } } }]);
  const before = await core.counts();
  const startMs = performance.now();
  const run = await GeneratorRun.start(core, "generator-again", sources, rate);
  try {
    await waitFor("the last floor is right", limitMs, async () =>
      (await core.protectors()).some(({ spec }) => spec.minAvailable === lastFloor),
    );
    const tookMs = performance.now() - startMs;
    const { cpuMicros } = await run.process.usage();
    await run.quiet();
    return { tookMs, cpuMs: cpuMicros / 1000, requests: requestsBetween(before, await core.counts()) };
  } finally {
    await run.stop();
  }
}

async function createWorkloads(core: CountedCore): Promise<void> {
  const names = Array.from({ length: namespaces }, (_, index) => namespaceOf(index));
  await core.create(
    "namespaces",
    names.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  );
  await core.create("deployments", bodiesOf("Deployment", deployments));
  await core.create("statefulsets", bodiesOf("StatefulSet", statefulSets));
}

const namespaceOf = (index: number): string => `team-${index % namespaces}`;

function bodiesOf(kind: "Deployment" | "StatefulSet", count: number): readonly JsonObject[] {
  return Array.from({ length: count }, (_, index) => workloadBody(kind, namespaceOf(index), `app-${index}`, replicas));
}

interface Time {
  readonly tookMs: number;
  readonly cpuMs: number;
}

interface Memory {
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
}

interface Steady {
  readonly idlePercent: number;
  readonly updatedPercent: number;
  /** A second, as they came: the double may be slower. */
  readonly updates: number;
  readonly requests: ReadonlyMap<string, number>;
}

interface Plain extends Time {
  readonly listedMs: number;
  readonly memory: Memory;
  readonly steady: Steady;
}

async function measurePlain(core: CountedCore, rate: RateLimit): Promise<Plain> {
  const plain = await PlainRun.start(core, ["apps/v1/deployments", "apps/v1/statefulsets"], rate);
  try {
    const steady = await measureSteady(core, plain.pid, () => {});
    const { heapBytes, residentBytes, peakBytes } = await plain.usage();
    const { madeMs, cpuMs, listedMs } = plain.made;
    return { tookMs: madeMs, cpuMs, listedMs, memory: { heapBytes, residentBytes, peakBytes }, steady };
  } finally {
    plain.stop();
  }
}

async function allProtected(core: CountedCore, say: Say): Promise<void> {
  let told = 0;
  await waitFor("all workloads have their PodProtectors", limitMs, async () => {
    await delay(200);
    const size = await core.size("podprotectors");
    if (size >= told + 5_000) {
      told = size;
      say(`${size} PodProtectors are made`);
    }
    return size >= workloads;
  });
  for (const { namespace, name, spec } of await core.protectors()) {
    const wanted = name.startsWith("deployment-") ? floors.deployment : floors.statefulset;
    if (spec.minAvailable !== wanted)
      throw new Error(`${namespace}/${name} keeps ${spec.minAvailable} pods instead of ${wanted}`);
  }
}

/** Scaled up all at once: a floor that rises waits for nobody. */
async function requestsOfScaled(
  core: CountedCore,
  run: GeneratorRun,
  say: Say,
): Promise<{ readonly requests: ReadonlyMap<string, number>; readonly tookMs: number }> {
  say(`${scaled} Deployments are scaled`);
  const before = await core.counts();
  const startMs = performance.now();
  const changes = Array.from({ length: scaled }, (_, index) => ({
    namespace: namespaceOf(index),
    name: `app-${index}`,
    body: { spec: { replicas: scaledReplicas } },
  }));
  await core.change("deployments", changes);
  await waitFor("all that were scaled have their floors", limitMs, async () => {
    const all = await core.protectors();
    return all.filter(({ spec }) => spec.minAvailable === scaledFloor).length === scaled;
  });
  const tookMs = performance.now() - startMs;
  await run.quiet();
  return { requests: requestsBetween(before, await core.counts()), tookMs };
}

async function measureSteady(core: CountedCore, pid: number, say: Say): Promise<Steady> {
  say("nothing happens");
  const before = await core.counts();
  const idle = cpuSample(pid);
  await delay(idleMs);
  const idlePercent = cpuPercent(idle, cpuSample(pid));
  say(`${updatesPerSecond} updates of statuses a second`);
  const updated: CpuSample = cpuSample(pid);
  const endMs = performance.now() + idleMs;
  const startMs = performance.now();
  let index = 0;
  for (; performance.now() < endMs; index += 1) {
    const name = `app-${(index * 7) % deployments}`;
    const namespace = namespaceOf((index * 7) % deployments);
    const body = { status: workloadStatus(replicas, index) };
    await core.change("deployments", [{ namespace, name, subresource: "status", body }]);
    await delay(Math.max(0, startMs + (index + 1) * statusUpdateMs - performance.now()));
  }
  const updatedPercent = cpuPercent(updated, cpuSample(pid));
  const updates = index / ((performance.now() - startMs) / 1000);
  return { idlePercent, updatedPercent, updates, requests: requestsBetween(before, await core.counts()) };
}

function startRow(own: Time, plain: Plain, requests: ReadonlyMap<string, number>, { qps }: RateLimit): Row {
  const count = sumOf(requests);
  const writes = sumOf(new Map([...requests].filter(([what]) => /^(POST|PATCH|PUT)/.test(what))));
  const boundOf = (all: number): string => `${((all - defaultRate.burst) / defaultRate.qps).toFixed(0)} s`;
  const rateText = qps === defaultRate.qps ? "default rate" : "rate lifted";
  return {
    what:
      `${deployments} Deployments and ${statefulSets} StatefulSets, from start to all PodProtectors ` +
      `correct, ${rateText}`,
    figure: timeText(own),
    comparedWith:
      `a plain client that lists the same and makes one POST for each: ${timeText(plain)}, of these ` +
      `${(plain.listedMs / 1000).toFixed(1)} s for the lists`,
    ratio: plain.tookMs / own.tookMs,
    besides: [
      `for each workload ${(count / workloads).toFixed(2)} requests, ` +
        `of these ${(writes / workloads).toFixed(2)} writes`,
      `bound by --core-kube-qps=${defaultRate.qps}: ${boundOf(count)} for these, ` +
        `${boundOf(writes)} for the writes alone, ${boundOf(workloads)} for the plain client`,
      `all requests: ${requestsText(requests)}`,
    ],
    ...(count > workloads * requestsOfEach * tolerated && {
      exceeded: `${count} requests were made, ${workloads * requestsOfEach} are needed`,
    }),
  };
}

function changedRow({
  requests,
  tookMs,
}: {
  readonly requests: ReadonlyMap<string, number>;
  readonly tookMs: number;
}): Row {
  const ofEach = sumOf(requests) / scaled;
  const writes = (requests.get("PATCH podprotectors") ?? 0) / scaled;
  return {
    what: `${scaled} of them are scaled at once`,
    figure: `${ofEach.toFixed(2)} requests for each, ${(tookMs / 1000).toFixed(1)} s`,
    comparedWith: "1 write at least",
    ratio: 1 / ofEach,
    besides: [`all requests: ${requestsText(requests)}`],
    ...(writes > 1 && { exceeded: `${writes.toFixed(2)} writes were made for each, 1 is needed` }),
  };
}

function steadyRow(own: Steady, plain: Steady): Row {
  const count = sumOf(own.requests);
  return {
    what: `the same when nothing happens, and with ${updatesPerSecond} status updates a second`,
    figure: `CPU of one core: ${percentText(own)}; ${count} requests about objects`,
    comparedWith: `bare informers of the same: ${percentText(plain)}`,
    ratio: plain.updatedPercent / own.updatedPercent,
    besides: [`all requests: ${requestsText(own.requests)}`],
  };
}

function restartRow({ tookMs, cpuMs, requests }: Restart, plain: Plain): Row {
  const count = sumOf(requests);
  return {
    what: "a new process that finds all in force but one, until that is too",
    figure: `${timeText({ tookMs, cpuMs })}, ${count} requests about objects`,
    comparedWith: `the bare lists take ${(plain.listedMs / 1000).toFixed(1)} s`,
    ratio: plain.listedMs / tookMs,
    besides: [`all requests: ${requestsText(requests)}`],
    ...(count > restartRequestsMax && { exceeded: `${count} requests were made, though one workload had changed` }),
  };
}

function percentText({ idlePercent, updatedPercent, updates }: Steady): string {
  return `${idlePercent.toFixed(1)} % idle, ${updatedPercent.toFixed(1)} % with ${updates.toFixed(0)} updates/s`;
}

function memoryRow(own: Memory, plain: Memory): Row {
  const ofEach = ({ heapBytes }: Memory): string => `${(heapBytes / workloads / 1000).toFixed(1)} kB`;
  return {
    what: "memory then",
    figure: memoryText(own),
    comparedWith: `bare informers that keep names and versions: ${memoryText(plain)}`,
    ratio: plain.residentBytes / own.residentBytes,
    besides: [`heap for each workload with its PodProtector: ${ofEach(own)}, bare ${ofEach(plain)}`],
  };
}

function memoryText({ heapBytes, residentBytes, peakBytes }: Memory): string {
  const [heap, resident, peak] = [heapBytes, residentBytes, peakBytes].map((bytes) => Math.round(bytes / 1e6));
  return `heap ${heap} MB, resident ${resident} MB, peak ${peak} MB`;
}

function timeText({ tookMs, cpuMs }: Time): string {
  return `${(tookMs / 1000).toFixed(1)} s (CPU ${(cpuMs / 1000).toFixed(1)} s)`;
}
