import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { parseResourceVersion, type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { CellPods } from "../../../../src/aggregator/watching/cell-pods.ts";
import { createSyncTime, type SyncTimeAlgorithm } from "../../../../src/accounting/settle/sync-time.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { type Informer } from "../../../../src/kube/informer.ts";
import { later } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

function pod(name: string, uid: string, created = "2026-01-01T00:00:00Z"): PodRecord {
  return readPodRecord({
    metadata: { name, namespace: "default", uid, resourceVersion: "5", creationTimestamp: created },
  })!;
}

/** Only what CellPods asks of an informer. */
function bench(kind: Exclude<SyncTimeAlgorithm["kind"], "annotation"> = "observed") {
  let version: ResourceVersion | undefined = parseResourceVersion("9");
  const informer: Partial<Informer<PodRecord>> = { version: () => version, get: () => undefined, size: 0 };
  const clock = createVirtualClock();
  const cellPods = new CellPods({
    pods: informer as Informer<PodRecord>,
    clock,
    syncTime: createSyncTime({ kind }),
    handler: { onReadyTimeDoubted() {} },
  });
  return { cellPods, clock, setVersion: (next: ResourceVersion | undefined) => void (version = next) };
}

test("there is no snapshot before the list is complete", () => {
  const { cellPods, setVersion } = bench();
  setVersion(undefined);
  assert.equal(cellPods.snapshot(at(0)), undefined);
  setVersion(parseResourceVersion("12"));
  const snapshot = cellPods.snapshot(at(77));
  assert.equal(snapshot?.version, "12");
  assert.equal(snapshot?.barrierSentAtMs, 77);
});

test("pods are found by UID and by digest, whether they came before or after the first question by digest", () => {
  const { cellPods } = bench();
  const early = pod("a", "uid-a");
  cellPods.apply({ type: "added", object: early });
  assert.equal(cellPods.snapshot(at(0))?.find("uid-a"), early);
  assert.equal(cellPods.snapshot(at(0))?.findByDigest(digestOfUID("uid-a")), early);
  const late = pod("b", "uid-b");
  cellPods.apply({ type: "added", object: late });
  assert.equal(cellPods.snapshot(at(0))?.findByDigest(digestOfUID("uid-b")), late);
  const changed = { ...late, ready: true };
  cellPods.apply({ type: "modified", object: changed, previous: late });
  assert.equal(cellPods.snapshot(at(0))?.findByDigest(digestOfUID("uid-b")), changed);
  cellPods.apply({ type: "deleted", object: changed });
  assert.equal(cellPods.snapshot(at(0))?.findByDigest(digestOfUID("uid-b")), undefined);
  assert.equal(cellPods.byUID("uid-b"), undefined);
});

test("a pod that replaces another under its name is found by its own UID only", () => {
  const { cellPods } = bench();
  const old = pod("a", "uid-old");
  cellPods.apply({ type: "added", object: old });
  cellPods.apply({ type: "deleted", object: old });
  cellPods.apply({ type: "added", object: pod("a", "uid-new") });
  assert.equal(cellPods.byUID("uid-old"), undefined);
  assert.equal(cellPods.byUID("uid-new")?.name, "a");
});

test("the newest covered moment only moves forward", () => {
  const { cellPods } = bench();
  assert.equal(cellPods.lastEventTime, undefined);
  cellPods.apply({ type: "added", object: pod("a", "uid-a", "2025-12-31T00:00:05Z") });
  cellPods.apply({ type: "added", object: pod("b", "uid-b", "2025-12-31T00:00:03Z") });
  assert.equal(cellPods.lastEventTime, parseTime("2025-12-31T00:00:05Z"));
  cellPods.apply({ type: "modified", object: pod("b", "uid-b"), previous: pod("b", "uid-b") });
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"));
});

test("a passed barrier covers the moment at which it was sent, on the wall clock", async () => {
  const { cellPods, clock } = bench();
  const sentAtMs = clock.monotonicMs();
  await clock.advance(5000);
  cellPods.barrierPassed(sentAtMs);
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"));
  cellPods.barrierPassed(later(sentAtMs, -1000));
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"), "not an older one");
});

test("of a deleted pod only an algorithm of times takes the time", async () => {
  const last = pod("a", "uid-a", "2025-12-31T00:00:05Z");
  for (const [kind, expected] of [
    ["observed", undefined],
    ["clock", parseTime("2026-01-01T00:00:01Z")],
    ["managed-fields", parseTime("2025-12-31T00:00:05Z")],
  ] as const) {
    const { cellPods, clock } = bench(kind);
    await clock.advance(1000);
    cellPods.apply({ type: "deleted", object: last });
    assert.equal(cellPods.lastEventTime, expected, kind);
    cellPods.barrierPassed(clock.monotonicMs());
    assert.equal(cellPods.lastEventTime, kind === "observed" ? clock.epochMicros() : expected, "a barrier");
  }
});

test("an empty list is a first event for an algorithm of times", async () => {
  const { cellPods, clock } = bench("status");
  cellPods.listed();
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"));
  await clock.advance(5000);
  cellPods.listed();
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"), "and a later one no event");
  const observed = bench();
  observed.cellPods.listed();
  assert.equal(observed.cellPods.lastEventTime, undefined);
});

test("what claims to be of the future covers no more than the present", () => {
  const { cellPods, clock } = bench();
  cellPods.apply({ type: "added", object: pod("a", "uid-a", "9999-12-31T23:59:59Z") });
  assert.equal(cellPods.lastEventTime, parseTime("2026-01-01T00:00:00Z"));
  clock.jumpWallClock(-60_000);
  cellPods.apply({ type: "added", object: pod("b", "uid-b", "2025-12-31T23:58:00Z") });
  assert.equal(cellPods.lastEventTime, parseTime("2025-12-31T23:58:00Z"), "also when the present goes back");
});
