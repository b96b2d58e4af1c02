import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseName, readCellLease } from "../../../src/api/cell-lease.ts";
import { digestOfUID, unpackDigests } from "../../../src/accounting/history/uid-digest.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createAggregator } from "../../../src/roles/aggregator.ts";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { cellID, rigFor, withRig } from "../aggregator/rig.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createEngineRuntime } from "./engine-runtime.ts";

const argv = ["--role=aggregator", `--aggregator-cell-id=${cellID}`];
const quiet = "--update-trigger-enable=false";
const isReady = { isVerbose: false, excluded: [] } as const;
const lease = /leases/;
const warnings = ({ entries }: ReturnType<typeof createRecordingLogger>, what: RegExp) =>
  entries.filter(({ level, message }) => level === "warn" && what.test(message));

test("takes the Lease in the worker, counts its cell's pods into the core, and gives the Lease away", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const runtime = createEngineRuntime(rig, [...argv, quiet]);
  const created = createAggregator(runtime);
  await created;
  assert.equal(runtime.health.answerAll(isReady).status, 500);
  assert.deepEqual([...runtime.core.log, ...runtime.worker.log], [], "nothing before the start");
  const stop = await rig.run(created);
  // Pods are listed a millisecond after the start, when the PodProtectors are known; nothing has happened in the cell
  // since.
  await rig.after(5001, { available: 1 });
  assert.equal(runtime.health.answerAll(isReady).status, 200);
  assert.equal(runtime.health.answerOne("aggregator-leader-elector/elector").status, 200);
  assert.equal(runtime.core.count(lease), 0);
  assert.equal(runtime.worker.count(lease), 0, "nor behind the other requests to the worker");
  assert.ok(runtime.workerElection.count(lease) > 0);
  runtime.metrics.scrape();
  assert.equal(runtime.metrics.value("aggregator_snapshot_age_seconds"), 5);

  await stop();
  assert.equal(rig.clock.pendingTimers, 0);
  runtime.worker.log = [];
  const second = createEngineRuntime(rig, argv, 2);
  await rig.pod("b");
  await rig.run(createAggregator(second));
  await rig.after(1500, { available: 2 }, "the Lease was free");
});

test("a process that has just started makes no first counts for a settle window, and is not ready", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const [first, second] = [1, 2].map((seed) => ({ ...createEngineRuntime(rig, argv, seed), hasBeenUp: false }));
  const stop = await rig.run(createAggregator(first!));
  await rig.run(createAggregator(second!));
  await rig.clock.advance(60_000);
  const { text, status } = first!.health.answerAll({ ...isReady, isVerbose: true });
  assert.equal(status, 500);
  assert.match(text, /has just started, and makes first counts after 75 s/);
  assert.equal(rig.available("web"), undefined);
  await rig.after(20_000, { available: 1 });
  for (const { health } of [first!, second!]) assert.equal(health.answerAll(isReady).status, 200);
  await stop();
  await rig.protect("api");
  await rig.pod("b", { labels: { app: "api" } });
  await rig.clock.advance(25_000);
  assert.equal(rig.available("api"), 1, "by the former standby");
});

test("beside a webhook an aggregator that has just started keeps nobody from asking it", async (t) => {
  const rig = await rigFor(t);
  const both = ["--role=aggregator,webhook", `--aggregator-cell-id=${cellID}`];
  const runtime = { ...createEngineRuntime(rig, both), hasBeenUp: false };
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(5_000);
  assert.equal(runtime.health.answerAll(isReady).status, 200);
});

test("what is not covered shows in the metrics of the leader and of a standby, by kind of workload", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.protect("typo");
  await rig.pod("a");
  await rig.pod("b", { labels: { app: "api" } });
  const runtimes = [1, 2].map((seed) => createEngineRuntime(rig, argv, seed));
  for (const parts of runtimes.map((runtime) => createAggregator(runtime))) await rig.run(parts);
  for (const { metrics } of runtimes) metrics.scrape();
  const uncovered = () => runtimes.map(({ metrics }) => metrics.value("aggregator_uncovered_pods", { kind: "Pod" }));
  const unmatched = () => runtimes.map(({ metrics }) => metrics.value("aggregator_unmatched_podprotectors"));
  assert.deepEqual(uncovered(), [0, 0], "nothing is said before the lists");
  await rig.clock.advance(10_000);
  for (const { metrics } of runtimes) metrics.scrape();
  // The dummy pod of the update-trigger is exempt.
  assert.equal(JSON.stringify([uncovered(), unmatched()]), "[[1,1],[1,1]]");
  await rig.protect("api");
  await rig.pod("c", { labels: { app: "typo" } });
  await rig.clock.advance(10_000);
  for (const { metrics } of runtimes) metrics.scrape();
  assert.equal(JSON.stringify([uncovered(), unmatched()]), "[[0,0],[0,0]]");
});

test("of two processes one writes, and the other takes over when the first is gone", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const first = createEngineRuntime(rig, argv, 1);
  const second = createEngineRuntime(rig, argv, 2);
  const standby = createAggregator(second);
  const stopLeader = await rig.run(createAggregator(first));
  await rig.clock.advance(3000);
  await rig.run(standby);
  await rig.after(10_000, { available: 1 });
  assert.equal(second.core.count(/^PUT/), 0);
  assert.equal(second.health.answerAll(isReady).status, 200, "a standby is ready");
  await stopLeader();
  await rig.pod("b");
  await rig.after(5000, { available: 2 });
  assert.ok(second.core.count(/^PUT/) >= 1);
});

test("the first list of pods is made after the PodProtectors are known", async (t) => {
  const rig = await rigFor(t);
  const runtime = createEngineRuntime(rig, argv);
  let isCoreUp = false;
  runtime.core.onRequest = () => (isCoreUp ? undefined : new KubeError("network", "down"));
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(20_000);
  assert.deepEqual(runtime.worker.log, []);
  isCoreUp = true;
  await rig.clock.advance(40_000);
  assert.ok(runtime.worker.log.length > 0);
});

test("runs the update-trigger under its own Lease unless the flag switches it off", async (t) => {
  const rig = await rigFor(t);
  for (const [flags, touched] of [
    [[quiet], false],
    [[], true],
  ] as const) {
    const runtime = createEngineRuntime(rig, [...argv, ...flags]);
    const stop = await rig.run(createAggregator(runtime));
    await rig.clock.advance(3000);
    assert.equal(runtime.worker.count(/^PATCH .*podseidon-update-trigger$/) > 0, touched);
    await stop();
  }
});

for (const [what, edit] of [
  ["minReadySeconds", { minReadySeconds: 1 }],
  ["aggregationSelector", { aggregationSelector: { matchLabels: { app: "web", tier: "front" } } }],
] as const) {
  test(`with default flags an edit of ${what} in a quiet cell is counted within 3 s`, async (t) => {
    const rig = await rigFor(t);
    await rig.protect("web");
    await rig.pod("a", { labels: { app: "web", tier: "front" } });
    await rig.run(createAggregator(createEngineRuntime(rig, argv)));
    await rig.clock.advance(60_000);
    const before = rig.cell("web")?.aggregation;
    await rig.editSpec("web", edit);
    await rig.clock.advance(3000);
    const after = rig.cell("web")?.aggregation;
    assert.equal(after?.availableReplicas, 1);
    assert.notEqual(after.countedSpec, before?.countedSpec);
  });
}

test("without the right to touch a pod it goes on as without the update-trigger, and says so once", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const runtime = createEngineRuntime(rig, argv);
  runtime.worker.onRequest = ({ method, path }) =>
    (method === "PATCH" || method === "POST") && path.includes("/pods")
      ? new KubeError("forbidden", "upstream's rights")
      : undefined;
  const logger = createRecordingLogger();
  await rig.run(createAggregator({ ...runtime, logger }));
  await rig.after(3000, { available: 1 });
  await rig.pod("b");
  await rig.after(100_000, { available: 2 });
  assert.equal(runtime.metrics.value("aggregator_update_trigger_spin", { event: "update", error: "forbidden" }), 2);
  assert.equal(warnings(logger, /May not touch/).length, 1);
});

test("warns when its own selector of pods hides the update-trigger's pod", async (t) => {
  const rig = await rigFor(t);
  for (const [flags, expected] of [
    [[], 1],
    [["--update-trigger-dummy-pod-labels=cell=one"], 0],
    [[quiet], 0],
  ] as const) {
    const logger = createRecordingLogger();
    const runtime = createEngineRuntime(rig, [...argv, "--aggregator-pod-label-selector=cell=one", ...flags]);
    await createAggregator({ ...runtime, logger });
    assert.equal(warnings(logger, /does not select the update-trigger pod/).length, expected);
  }
});

test("a pod label selector is evaluated by the API server", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a", { labels: { app: "web", cell: "one" } });
  await rig.pod("b", { labels: { app: "web", cell: "two" } });
  const runtime = createEngineRuntime(rig, [...argv, "--aggregator-pod-label-selector=cell=one"]);
  await rig.run(createAggregator(runtime));
  await rig.after(5000, { available: 1 });
});

test("stops at once at any moment of its start, leaving no timer", async () => {
  for (const atMs of [0, 1, 500, 2500]) {
    await withRig(async (rig) => {
      const runtime = createEngineRuntime(rig, argv);
      if (atMs > 1) runtime.worker.onRequest = () => new KubeError("network", "down");
      await rig.run(createAggregator(runtime));
      await rig.clock.advance(atMs);
    });
  }
});

const algorithmFlag = "--aggregator-informer-synctime-algorithm";

test("warns once when an algorithm other than observed is chosen", async (t) => {
  const rig = await rigFor(t);
  for (const [flags, expected] of [
    [[], []],
    [[`${algorithmFlag}=observed`], []],
    [[`${algorithmFlag}=clock`], [{ algorithm: "clock" }]],
    [[`${algorithmFlag}=annotation`, `${algorithmFlag}.annotation-key=a`], [{ algorithm: "annotation" }]],
  ] as const) {
    const logger = createRecordingLogger();
    await createAggregator({ ...createEngineRuntime(rig, [...argv, ...flags]), logger });
    const warned = warnings(logger, /may admit deletions below minAvailable/).map(({ fields }) => fields);
    assert.deepEqual(warned, expected);
  }
});

test("requests JSON when it has to read an annotation of pods, and counts pods that lack it", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  for (const [flags, asked, untimed] of [
    [[`${algorithmFlag}=managed-fields`], true, 0],
    [[`${algorithmFlag}=annotation`, `${algorithmFlag}.annotation-key=a`], false, 1],
  ] as const) {
    const runtime = createEngineRuntime(rig, [...argv, quiet, ...flags]);
    const wishes = new Set<boolean | undefined>();
    runtime.worker.onRequest = ({ preferProtobuf, query }) => {
      if (query?.["watch"] === true) wishes.add(preferProtobuf);
      return undefined;
    };
    const stop = await rig.run(createAggregator(runtime));
    await rig.clock.advance(5000);
    assert.deepEqual([...wishes], [asked]);
    assert.equal(
      runtime.metrics.value("aggregator_index_error", { namespace: "default", error: "EventTime" }),
      untimed,
    );
    await stop();
  }
});

test("renews the Lease of its cell in the core over a connection of its own, and a standby does not", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const first = createEngineRuntime(rig, argv, 1);
  const second = createEngineRuntime(rig, argv, 2);
  const standby = createAggregator(second);
  const stopLeader = await rig.run(createAggregator(first));
  await rig.clock.advance(3000);
  await rig.run(standby);
  await rig.clock.advance(120_000);
  const beats = /^(POST|PATCH) .*leases/;
  assert.ok(first.coreHeartbeat.count(beats) >= 11, `${first.coreHeartbeat.count(beats)} beats`);
  assert.equal(second.coreHeartbeat.count(beats), 0);
  assert.equal(first.core.count(lease), 0);
  const written = readCellLease(rig.coreEngine.get(types.leases, "default", cellLeaseName(cellID)));
  assert.equal(written?.cellID, cellID);
  assert.equal(written?.productVersion, "1.0.0");
  assert.equal(written?.behind, undefined);
  const holder = rig.workerEngine.get(types.leases, "default", `podseidon-aggregator-${cellID}`).spec?.[
    "holderIdentity"
  ];
  assert.equal(written?.holderIdentity, holder);
  first.metrics.scrape();
  assert.ok(first.metrics.value("aggregator_heartbeat_age_seconds", { core: "core" }) <= 12);
  await stopLeader();
  await rig.clock.advance(60_000);
  assert.ok(second.coreHeartbeat.count(beats) > 0, "the next leader goes on");
});

test("a PodProtector that cannot be written does not silence the cell: the beats name it", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.protect("api");
  await rig.pod("a");
  await rig.pod("b", { labels: { app: "api" } });
  const runtime = createEngineRuntime(rig, argv);
  runtime.core.onWrite = (_index, { path }) =>
    path.includes("/web/") ? new KubeError("forbidden", "a policy says no") : undefined;
  await rig.run(createAggregator(runtime));
  await rig.clock.advance(100_000);
  const behind = (): string | undefined =>
    readCellLease(rig.coreEngine.get(types.leases, "default", cellLeaseName(cellID)))?.behind;
  const uid = rig.protector("web").metadata.uid;
  assert.deepEqual(unpackDigests(behind() ?? "")?.list(), [digestOfUID(uid)]);
  assert.equal(rig.available("api"), 1);
  runtime.core.onWrite = () => undefined;
  await rig.after(120_000, { available: 1 });
  assert.equal(behind(), undefined);
});

test("without the right to write Leases it counts as upstream does", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web");
  await rig.pod("a");
  const runtime = createEngineRuntime(rig, argv);
  runtime.coreHeartbeat.onRequest = ({ path }) =>
    path.includes("leases") ? new KubeError("forbidden", "no") : undefined;
  await rig.run(createAggregator(runtime));
  await rig.after(60_000, { available: 1 });
  assert.equal(runtime.health.answerAll(isReady).status, 200);
  assert.equal(runtime.metrics.value("aggregator_heartbeat_silence", { core: "core", reason: "forbidden" }), 1);
});
