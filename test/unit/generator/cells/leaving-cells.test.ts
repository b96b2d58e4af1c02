import assert from "node:assert/strict";
import { test } from "node:test";
import { ghostsOf, ghostWindowMs, LeavingCells } from "../../../../src/generator/cells/leaving-cells.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { type JsonObject } from "../../../double/index.ts";

const nobody = (): boolean => false;
const at = (ms: number): MonotonicMs => ms as MonotonicMs;
const bucket = (podUID: string, second = 0): JsonObject => ({
  startTime: `2026-01-01T00:00:0${second}.000000Z`,
  podUID,
});
const ghost = (cellID: string, ...buckets: JsonObject[]): JsonObject => ({ cellID, admissionHistory: { buckets } });
const counted = (cellID: string, ...buckets: JsonObject[]): JsonObject => ({
  ...ghost(cellID, ...buckets),
  aggregation: { totalReplicas: 1, availableReplicas: 1 },
});

function protector(cells: readonly JsonObject[], uid = "1"): StoredProtector {
  const read = readProtector({
    metadata: { namespace: "default", name: "web", uid, resourceVersion: "1" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
    status: {
      cells,
      summary: { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 },
    },
  });
  assert.ok(read.ok);
  return read.stored;
}
const names = (cells: readonly { readonly cellID: string }[]): string[] => cells.map(({ cellID }) => cellID);
/** The cells that may go at that moment, of what a live read shows. */
function gone(ghosts: LeavingCells, live: StoredProtector, ms: number): string[] {
  return names(live.protector.status!.cells.filter((cell) => ghosts.hasStood(live, cell, at(ms))));
}

test("a ghost has admissions and no counts: cells with counts and cells without admissions are none", () => {
  const stored = protector([ghost("a", bucket("u1")), counted("b", bucket("u2")), ghost("c"), counted("d")]);
  assert.deepEqual(names(ghostsOf(stored)), ["a"]);
  const ghosts = new LeavingCells(nobody);
  assert.deepEqual(names(ghosts.watched(stored, at(0)).present), ["a"]);
  assert.equal(
    ghosts.count(() => false),
    1,
  );
  assert.equal(
    ghosts.count((cellID) => cellID === "a"),
    0,
  );
  assert.deepEqual(gone(ghosts, stored, ghostWindowMs), ["a"]);
});

test("a ghost may go when it has stood unchanged for a whole window, and not a moment earlier", () => {
  const ghosts = new LeavingCells(nobody);
  const stored = protector([ghost("a", bucket("u1"))]);
  ghosts.watched(stored, at(1_000));
  assert.equal(ghosts.waitMs(stored.key, at(1_000)), ghostWindowMs);
  // Events that change nothing do not start the wait again.
  ghosts.watched(protector([ghost("a", bucket("u1")), counted("b")]), at(50_000));
  assert.deepEqual(gone(ghosts, stored, ghostWindowMs + 999), []);
  assert.deepEqual(gone(ghosts, stored, ghostWindowMs + 1_000), ["a"]);
  assert.equal(ghosts.waitMs(stored.key, at(ghostWindowMs + 5_000)), 0);
});

test("a new admission and a repeated review start the wait again, for that cell alone", () => {
  for (const changed of [[bucket("u1"), bucket("u2")], [bucket("u1", 5)]]) {
    const ghosts = new LeavingCells(nobody);
    ghosts.watched(protector([ghost("a", bucket("u1")), ghost("b", bucket("u9"))]), at(0));
    const now = protector([ghost("a", ...changed), ghost("b", bucket("u9"))]);
    assert.deepEqual(ghosts.watched(now, at(60_000)).added, []);
    assert.deepEqual(gone(ghosts, now, ghostWindowMs), ["b"]);
    assert.deepEqual(gone(ghosts, now, ghostWindowMs + 60_000), ["a", "b"]);
  }
});

test("entries that have changed are named with their pods, and those that were only counted", () => {
  const leaving = new LeavingCells((cellID) => cellID === "a");
  assert.equal(leaving.changed("a"), "");
  leaving.watched(protector([counted("a", bucket("u1"))]), at(0));
  assert.equal(leaving.changed("a"), "", "it was not there before");
  leaving.watched(protector([counted("a", bucket("u1"), { ...bucket("u2"), podName: "web-2" })]), at(1_000));
  assert.equal(leaving.changed("a"), "default/web (deletions of web-2)");
  leaving.watched(protector([counted("a", ...["1", "2", "3", "4", "5"].map((uid) => bucket(uid)))]), at(2_000));
  assert.equal(leaving.changed("a"), "default/web (deletions of 1, 2, 3 and 2 more)");
  leaving.watched(protector([{ cellID: "a", aggregation: { totalReplicas: 2, availableReplicas: 2 } }]), at(3_000));
  assert.equal(leaving.changed("a"), "default/web (counted)");
  leaving.watched(protector([counted("b")]), at(4_000));
  assert.equal(leaving.changed("a"), "");
});

test("what a live read shows otherwise than the watch has shown stays", () => {
  const ghosts = new LeavingCells(nobody);
  ghosts.watched(protector([ghost("a", bucket("u1"))]), at(0));
  const later = 10 * ghostWindowMs;
  assert.deepEqual(gone(ghosts, protector([ghost("a", bucket("u1"), bucket("u2"))]), later), []);
  assert.deepEqual(gone(ghosts, protector([counted("a", bucket("u1"))]), later), []);
  assert.deepEqual(gone(ghosts, protector([ghost("z", bucket("u1"))]), later), []);
  assert.deepEqual(gone(ghosts, protector([ghost("a", bucket("u1"))], "2"), later), []);
});

test("a PodProtector that was made anew starts the wait again, and one that is gone is forgotten", () => {
  const ghosts = new LeavingCells(nobody);
  const stored = protector([ghost("a", bucket("u1"))]);
  ghosts.watched(stored, at(0));
  const next = protector([ghost("a", bucket("u1"))], "2");
  assert.deepEqual(names(ghosts.watched(next, at(60_000)).added), ["a"]);
  assert.equal(ghosts.waitMs(next.key, at(60_000)), ghostWindowMs);
  ghosts.forget(next.key);
  assert.equal(ghosts.waitMs(next.key, at(60_000)), undefined);
  assert.equal(
    ghosts.count(() => false),
    0,
  );
});

test("a cell that is counted at last is no ghost any more", () => {
  const ghosts = new LeavingCells(nobody);
  const stored = protector([ghost("a", bucket("u1"))]);
  ghosts.watched(stored, at(0));
  ghosts.watched(protector([counted("a", bucket("u1"))]), at(1_000));
  assert.equal(
    ghosts.count(() => false),
    0,
  );
  assert.equal(ghosts.waitMs(stored.key, at(1_000)), undefined);
});

test("the entry of a cell that is being retired may go when it has stood unchanged, counted or not", () => {
  const retiring = new Set<string>();
  const leaving = new LeavingCells((cellID) => retiring.has(cellID));
  const before = protector([counted("a", bucket("u1")), counted("b")]);
  leaving.watched(before, at(0));
  assert.deepEqual(gone(leaving, before, 10 * ghostWindowMs), [], "nobody has asked");
  retiring.add("a");
  assert.deepEqual(names(leaving.watched(before, at(0)).present), [], "it is no ghost");
  assert.deepEqual(gone(leaving, before, ghostWindowMs), ["a"]);
  const admitted = protector([counted("a", bucket("u1"), bucket("u2")), counted("b")]);
  assert.deepEqual(gone(leaving, admitted, ghostWindowMs), [], "a live read shows more than the watch");
  leaving.watched(admitted, at(60_000));
  assert.deepEqual(gone(leaving, admitted, ghostWindowMs), []);
  assert.deepEqual(gone(leaving, admitted, 60_000 + ghostWindowMs), ["a"]);
  assert.equal(
    leaving.count(() => false),
    0,
  );
});
