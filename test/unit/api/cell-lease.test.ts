import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cellLeaseAnnotations,
  cellLeaseLabels,
  cellLeaseName,
  observerLeaseName,
  readCellLease,
} from "../../../src/api/cell-lease.ts";

const spec = { holderIdentity: "pod-1", renewTime: "2026-01-01T00:00:00.000001Z", leaseTransitions: 3 };

function rawLease(changes: { name?: string; cell?: string; kind?: string; annotations?: object; spec?: unknown }) {
  const { name = cellLeaseName("Cell-1"), cell = "Cell-1", kind = "cell" } = changes;
  return {
    metadata: {
      name,
      uid: "uid",
      resourceVersion: "7",
      labels: { [cellLeaseLabels.heartbeat]: kind, [cellLeaseLabels.cell]: cell },
      annotations: changes.annotations ?? {},
    },
    spec: "spec" in changes ? changes.spec : spec,
  };
}

const otherUID = "0b1c2d3e-0000-4000-8000-0123456789ab";

test("the name of a Lease is lower case whatever the name of its cell is, and differs with its case", () => {
  assert.match(cellLeaseName("Cell_1"), /^cell-[0-9a-f]{16}$/);
  assert.notEqual(cellLeaseName("Cell_1"), cellLeaseName("cell_1"));
});

test("a Lease is read with its annotations", () => {
  const annotations = {
    [cellLeaseAnnotations.productVersion]: "1.2",
    [cellLeaseAnnotations.clusterUID]: "cluster",
    [cellLeaseAnnotations.behind]: "AAAA",
    [cellLeaseAnnotations.silentSince]: "2026-01-01T00:00:00Z",
    [cellLeaseAnnotations.keepUntil]: "2026-01-01T02:00:00+01:00",
    [cellLeaseAnnotations.adopt]: otherUID,
    [cellLeaseAnnotations.forget]: "true",
    [cellLeaseAnnotations.gate]: "missing",
  };
  assert.deepEqual(readCellLease(rawLease({ annotations })), {
    name: cellLeaseName("Cell-1"),
    uid: "uid",
    resourceVersion: "7",
    cellID: "Cell-1",
    beat: JSON.stringify(["pod-1", "2026-01-01T00:00:00.000001Z", 3]),
    holderIdentity: "pod-1",
    renewedAt: "2026-01-01T00:00:00.000001Z",
    productVersion: "1.2",
    clusterUID: "cluster",
    behind: "AAAA",
    gate: "missing",
    silentSince: "2026-01-01T00:00:00.000000Z",
    keepUntil: "2026-01-01T01:00:00.000000Z",
    adopt: otherUID,
    isForgotten: true,
    isHurried: false,
    durationSeconds: undefined,
    ignored: [],
  });
});

test("the beat changes with the holder, the time and the transitions, and with nothing else", () => {
  const beatOf = (changes: Parameters<typeof rawLease>[0]): string | undefined =>
    readCellLease(rawLease(changes))?.beat;
  const beat = beatOf({});
  assert.equal(beatOf({ annotations: { other: "x" }, spec: { ...spec, leaseDurationSeconds: 5 } }), beat);
  for (const change of [{ holderIdentity: "pod-2" }, { renewTime: "2027-01-01T00:00:00Z" }, { leaseTransitions: 4 }]) {
    assert.notEqual(beatOf({ spec: { ...spec, ...change } }), beat);
  }
});

test("a wrong annotation counts as absent", () => {
  const lease = readCellLease(
    rawLease({ annotations: { [cellLeaseAnnotations.keepUntil]: "soon", [cellLeaseAnnotations.forget]: "yes" } }),
  );
  assert.equal(lease?.keepUntil, undefined);
  assert.equal(lease?.isForgotten, false);
});

test("a request to retire the cell may be a hurried one", () => {
  const lease = readCellLease(rawLease({ annotations: { [cellLeaseAnnotations.forget]: "now" } }));
  assert.deepEqual([lease?.isForgotten, lease?.isHurried, lease?.ignored], [true, true, []]);
});

test("a Lease of the generator has no cell", () => {
  const lease = readCellLease(rawLease({ kind: "observer", name: observerLeaseName }));
  assert.ok(lease !== undefined);
  assert.equal(lease.cellID, undefined);
});

test("what is no heartbeat is not read", () => {
  for (const raw of [
    undefined,
    null,
    "text",
    {},
    { metadata: { name: cellLeaseName("Cell-1") } },
    rawLease({ kind: "other" }),
    rawLease({ name: "copy" }),
    rawLease({ cell: "not a cell", name: cellLeaseName("not a cell") }),
    rawLease({ kind: "observer" }),
  ])
    assert.equal(readCellLease(raw), undefined);
});

test("a Lease without a spec is one that never beats", () => {
  assert.equal(readCellLease(rawLease({ spec: undefined }))?.beat, "[null,null,null]");
});

test("values of a person that cannot be read are named with what may stand there, and the duration is read", () => {
  const wrong = {
    [cellLeaseAnnotations.keepUntil]: "9999-12-31T23:59:59-23:59",
    [cellLeaseAnnotations.forget]: "yes",
    [cellLeaseAnnotations.adopt]: "worker-1",
  };
  const lease = readCellLease(rawLease({ annotations: wrong, spec: { leaseDurationSeconds: 180 } }));
  assert.deepEqual(
    lease?.ignored.map(({ annotation, value }) => [annotation, value]),
    Object.entries(wrong),
  );
  assert.equal(lease?.keepUntil, undefined);
  assert.equal(lease?.durationSeconds, 180);
});
