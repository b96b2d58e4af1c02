import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createJudge, type Deletion } from "../../../../src/webhook/protector/judge.ts";
import { type ProtectorView, readView } from "../../../../src/webhook/protector/protector-view.ts";
import { cell, type Json, pod, protector, type ProtectorParts } from "../support/objects.ts";

function viewOf(parts: ProtectorParts): ProtectorView {
  const object = protector(parts);
  const read = readView({ ...object, metadata: { ...(object["metadata"] as Json), resourceVersion: "1" } }, undefined);
  assert.ok(read.ok);
  return read.view;
}

function deletion(name: string, labels: Record<string, string> = { app: "web" }): Deletion {
  const record = readPodRecord(pod(name, { labels }));
  assert.ok(record !== undefined);
  return { operation: "delete", cellID: "c1", pod: record, criterion: "Available", isForced: false };
}

const judgeWith = (maxConcurrentLag: number) =>
  createJudge({
    clock: createVirtualClock(),
    history: { maxConcurrentLag, compactThreshold: 100, aggregationRateMs: 1000 },
    requiresPodName: () => true,
  });
const nothingLost = new Map();

describe("judge", () => {
  it("takes the flags where the PodProtector sets nothing, and its own settings before them", () => {
    const deletions = ["p", "q"].map((name) => deletion(name));
    const kinds = (parts: ProtectorParts): string[] =>
      judgeWith(1)(viewOf(parts), nothingLost, deletions).verdicts.map(({ kind }) => kind);
    assert.deepEqual(kinds({ cells: [cell("c1", 100)] }), ["admitted", "retry"]);
    const own = { cells: [cell("c1", 100)], admissionHistoryConfig: { maxConcurrentLag: 2 } };
    assert.deepEqual(kinds(own), ["admitted", "admitted"]);
  });

  it("knows which of the counted pods are protected", () => {
    const view = viewOf({
      cells: [cell("c1", 80)],
      selector: { matchLabels: { app: "web", tier: "front" } },
      aggregationSelector: { matchLabels: { app: "web" } },
    });
    const { verdicts } = judgeWith(0)(view, nothingLost, [
      deletion("p", { app: "web", tier: "front" }),
      deletion("q", { app: "web" }),
    ]);
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      ["rejected", "admitted"],
    );
  });

  it("stamps records with the wall clock", () => {
    const { status } = judgeWith(0)(viewOf({ cells: [cell("c1", 100)] }), nothingLost, [deletion("p")]);
    const [bucket] = status?.cells[0]?.admissionHistory?.buckets ?? [];
    assert.equal(bucket?.startTime, "2026-01-01T00:00:00.000000Z");
    assert.equal(bucket?.podName, "p");
  });
});
