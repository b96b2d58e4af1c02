import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { createJudge, type Deletion } from "../../../../src/webhook/protector/judge.ts";
import { LastKnownQuota } from "../../../../src/webhook/outage/last-known-quota.ts";
import { type ProtectorView, readView } from "../../../../src/webhook/protector/protector-view.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { cell, type Json, pod, protector } from "../support/objects.ts";
import { settings } from "../support/replica.ts";

const key = "core/ns/web";
const nothingLost = new Map();

function view(count: number, version = 10, buckets: readonly Json[] = []): ProtectorView {
  const object = protector({ cells: [cell("c1", count, {}, buckets)] });
  const metadata = { ...(object["metadata"] as Json), resourceVersion: String(version) };
  const read = readView({ ...object, metadata }, undefined);
  assert.ok(read.ok);
  return read.view;
}

function deletion(name: string, more: Partial<Deletion> = {}): Deletion {
  const record = readPodRecord(pod(name));
  assert.ok(record !== undefined);
  return { operation: "delete", cellID: "c1", pod: record, criterion: "Available", isForced: false, ...more };
}

const deletions = (count: number, prefix = "p") =>
  Array.from({ length: count }, (_, index) => deletion(`${prefix}${index}`));

function quota(replicas: number): LastKnownQuota {
  const { history, requiresPodName } = settings;
  return new LastKnownQuota(createJudge({ clock: createVirtualClock(), history, requiresPodName }), replicas);
}

function admitted(lender: LastKnownQuota, state: ProtectorView, asked: readonly Deletion[]): number {
  return lender.lend(key, state, nothingLost, asked).filter(({ kind }) => kind === "admitted").length;
}

describe("the last known quota", () => {
  for (const replicas of [1, 2, 3, 7, 25]) {
    it(`lends each of ${replicas} replicas its share of 20, so that all together never lend more`, () => {
      const lender = quota(replicas);
      const state = view(100);
      assert.equal(admitted(lender, state, deletions(50)), Math.floor(20 / replicas));
      assert.equal(admitted(lender, state, deletions(50, "q")), 0);
      assert.equal(lender.lentOf(key).length, Math.floor(20 / replicas));
    });
  }

  it("is what is left of it after the unsettled admissions", () => {
    const unsettled = Array.from({ length: 15 }, (_, index) => ({
      startTime: "2026-01-01T00:00:00Z",
      podUID: `x${index}`,
      podResourceVersion: "1",
    }));
    assert.equal(admitted(quota(1), view(100, 10, unsettled), deletions(50)), 5);
  });

  it("is lent to a pod once, however often it is asked", () => {
    const lender = quota(1);
    const state = view(81);
    for (let round = 0; round < 3; round++) assert.equal(admitted(lender, state, [deletion("p")]), 1);
    assert.equal(admitted(lender, state, [deletion("q")]), 0);
    assert.equal(lender.lentOf(key).length, 1);
  });

  it("is remembered as answered: forced, so that recording it asks for no quota again", () => {
    const lender = quota(1);
    lender.lend(key, view(100), nothingLost, [deletion("p")]);
    assert.deepEqual(
      lender.lentOf(key).map((lent) => [lent.pod.name, lent.isForced]),
      [["p", true]],
    );
    lender.forget(key);
    assert.deepEqual(lender.lentOf(key), []);
  });

  it("counts what was lent against a newer state as well", () => {
    const lender = quota(1);
    assert.equal(admitted(lender, view(100), deletions(15)), 15);
    assert.equal(admitted(lender, view(90, 11), deletions(15, "q")), 0);
    assert.equal(admitted(lender, view(100, 12), deletions(15, "r")), 5);
  });

  it("knows nothing of other PodProtectors", () => {
    const lender = quota(1);
    assert.equal(admitted(lender, view(81), deletions(3)), 1);
    const [verdict] = lender.lend("core/ns/other", view(81), nothingLost, [deletion("p")]);
    assert.equal(verdict?.kind, "admitted");
  });

  it("leaves no trace of the other replicas in what is remembered of the status", () => {
    const lender = quota(3);
    const state = view(80);
    const [verdict] = lender.lend(key, state, nothingLost, [deletion("p")]);
    assert.equal(verdict?.kind, "rejected");
    assert.equal(state.protector.status?.cells.length, 1);
    assert.deepEqual(lender.lentOf(key), []);
  });
});
