import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import { type EventRecorder } from "../../../src/kube/event-recorder.ts";
import { KubeError, type KubeErrorKind } from "../../../src/kube/kube-client.ts";
import { GeneratorAbsence } from "../../../src/webhook/generator-absence.ts";
import { decodeWatched } from "../../../src/webhook/protector/protector-view.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../kube/scripted-kube-client.ts";
import { RecordedLog, RecordedMetrics } from "./support/replica.ts";

const protector = decodeWatched({
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: {
    name: "deployment-web",
    namespace: "shop",
    uid: "p",
    resourceVersion: "1",
    labels: {
      [sourceLabels.kind]: "Deployment",
      [sourceLabels.resource]: "deployments",
      [sourceLabels.group]: "apps",
    },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "u" }],
  },
  spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
});
assert.ok(protector !== undefined);

const gauge = 'webhook_waiting_deletions{core="core"}';

function rig() {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  const log = new RecordedLog();
  const metrics = new RecordedMetrics();
  const told: string[] = [];
  const world: { awayForMs: number | undefined; waiting: string[]; failure: KubeErrorKind | undefined } = {
    awayForMs: undefined,
    waiting: [],
    failure: undefined,
  };
  client.onRequest = () => {
    if (world.failure !== undefined) throw new KubeError(world.failure, "scripted");
    const metadata = { namespace: "shop", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] };
    const items = world.waiting.map((name) => ({ metadata: { name, uid: name, ...metadata } }));
    return { metadata: { resourceVersion: "5" }, items };
  };
  const events: EventRecorder = {
    record: ({ kind, namespace, name }, type, reason, message) =>
      void told.push(`${type} ${reason} ${kind} ${namespace}/${name}: ${message}`),
    close() {},
  };
  const absence = new GeneratorAbsence({
    core: { name: "core", client, namespace: undefined },
    cells: { generatorAwayForMs: () => world.awayForMs },
    informer: { values: () => [protector].values() as never },
    systemNamespace: "podseidon-system",
    events,
    metrics,
    clock,
    logger: log,
  });
  const stop = new AbortController();
  const running = absence.run(stop.signal);
  return {
    world,
    clock,
    client,
    told,
    lines: () => log.lines.map(({ message }) => message),
    waiting: () => metrics.values.get(gauge)?.at(-1),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      assert.equal(clock.pendingTimers, 0);
    },
  };
}

test("while a generator leads nothing is looked for", async () => {
  await using absence = rig();
  absence.world.waiting = ["web"];
  await absence.clock.advance(600_000);
  assert.deepEqual([absence.client.requests.length, absence.told.length, absence.lines().length], [0, 0, 0]);
});

test("while none leads, a workload that is deleted is told what it waits for, and the two ways out", async () => {
  await using absence = rig();
  Object.assign(absence.world, { awayForMs: 61_000, waiting: ["web"] });
  await absence.clock.advance(15_000);
  assert.equal(absence.told.length, 1);
  assert.match(
    absence.told[0] ?? "",
    /^Warning WaitsForGenerator Deployment shop\/web: It is being deleted, and stays/,
  );
  assert.match(absence.told[0] ?? "", /kubectl -n podseidon-system scale deployment podseidon-generator --replicas=2/);
  assert.match(absence.told[0] ?? "", /kubectl -n shop patch deployments\.apps web --type=json/);
  assert.ok((absence.told[0] ?? "").length < 1_024);
  assert.equal(absence.waiting(), 1);
});

test("it is told once in half an hour, looked for once a minute, and logged at the beginning and the end", async () => {
  await using absence = rig();
  Object.assign(absence.world, { awayForMs: 61_000, waiting: ["web"] });
  await absence.clock.advance(1_795_000);
  assert.equal(absence.told.length, 1);
  assert.equal(absence.client.requests.length, 30);
  await absence.clock.advance(65_000);
  assert.equal(absence.told.length, 2);
  Object.assign(absence.world, { awayForMs: undefined });
  await absence.clock.advance(60_000);
  assert.deepEqual(absence.lines(), [
    "No generator leads: workloads that are deleted stay until one does, and floors follow nothing",
    "A generator leads again",
  ]);
  assert.equal(absence.waiting(), 0);
});

test("of many that wait one look tells some, and the next ones the others", async () => {
  await using absence = rig();
  Object.assign(absence.world, { awayForMs: 61_000, waiting: Array.from({ length: 60 }, (_, index) => `w${index}`) });
  await absence.clock.advance(15_000);
  assert.deepEqual([absence.told.length, absence.waiting()], [25, 60]);
  await absence.clock.advance(120_000);
  assert.equal(new Set(absence.told).size, 60);
});

test("without the right to list them one line says so, and other failures are tried again", async () => {
  await using absence = rig();
  Object.assign(absence.world, { awayForMs: 61_000, waiting: ["web"], failure: "forbidden" });
  await absence.clock.advance(300_000);
  const missing = absence.lines().filter((line) => line.startsWith("Not allowed to list workloads"));
  assert.equal(missing.length, 1);
  absence.world.failure = "timeout";
  await absence.clock.advance(60_000);
  assert.deepEqual(absence.told, []);
  absence.world.failure = undefined;
  await absence.clock.advance(60_000);
  assert.equal(absence.told.length, 1);
});
