import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { decodePodProtector, withTypeMeta } from "../../../../src/api/v1alpha1/decode.ts";

const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
const object = (changes: object = {}): Record<string, unknown> => ({
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1" },
  spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
  ...changes,
});
const statusWith = (cell: object): Record<string, unknown> =>
  object({ status: { cells: [{ cellID: "a", ...cell }], summary } });
const reasonOf = (raw: unknown): string => {
  const result = decodePodProtector(raw);
  return result.ok ? "" : result.reason;
};

test("an object comes back with everything in it, known or not", () => {
  const raw = {
    ...statusWith({
      later: 1,
      aggregation: { totalReplicas: 1, availableReplicas: 1, later: 2 },
      admissionHistory: { later: 3, buckets: [{ startTime: "t", later: 4 }] },
    }),
    later: 5,
  };
  const result = decodePodProtector(raw);
  assert.deepEqual(result.ok && result.protector, raw);
});

test("an object without status is usable", () => {
  assert.equal(decodePodProtector(object()).ok, true);
});

test("Go's null for no cells is an empty list", () => {
  for (const cells of [null, undefined]) {
    const result = decodePodProtector(object({ status: { cells, summary } }));
    assert.deepEqual(result.ok && result.protector.status?.cells, []);
  }
});

test("odd buckets are taken as they are: the core gives them a safe meaning", () => {
  const buckets = [
    { startTime: "not a time", counter: -5, podResourceVersion: "x", podUIDDigests: "?" },
    { startTime: "" },
  ];
  assert.equal(decodePodProtector(statusWith({ admissionHistory: { buckets } })).ok, true);
});

describe("what cannot be understood", () => {
  test("names the field", () => {
    assert.match(
      reasonOf(object({ spec: { minAvailable: "1", minReadySeconds: 0, selector: {} } })),
      /^spec\.minAvailable: /,
    );
    assert.match(
      reasonOf(object({ spec: { minAvailable: 1.5, minReadySeconds: 0, selector: {} } })),
      /^spec\.minAvailable: /,
    );
    assert.match(reasonOf(statusWith({ admissionHistory: { buckets: [{ startTime: 5 }] } })), /startTime: /);
    assert.match(reasonOf(statusWith({ aggregation: { totalReplicas: -1, availableReplicas: 0 } })), /totalReplicas: /);
    const operator = { matchExpressions: [{ key: "k", operator: "Near" }] };
    assert.match(reasonOf(object({ spec: { minAvailable: 1, minReadySeconds: 0, selector: operator } })), /operator: /);
  });

  test("never throws", () => {
    for (const raw of [
      null,
      undefined,
      1,
      "x",
      [],
      {},
      object({ metadata: null }),
      object({ kind: "Pod" }),
      object({ status: 5 }),
    ]) {
      assert.equal(decodePodProtector(raw).ok, false, JSON.stringify(raw));
    }
  });
});

test("items of a list get the type that they do not carry; what is no object stays", () => {
  const { apiVersion: _a, kind: _k, ...item } = object();
  assert.deepEqual(withTypeMeta(item), object());
  assert.equal(withTypeMeta(null), null);
});
