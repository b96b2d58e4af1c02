import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { decodePodProtector, withTypeMeta } from "../../../../src/api/v1alpha1/decode.ts";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { isFilled, readPodSelector, stringMap } from "../../../../src/api/v1alpha1/label-selector.ts";
import { annotations, isInShadow } from "../../../../src/api/v1alpha1/names.ts";

const time = "2026-01-01T00:00:00.000001Z";
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
      admissionHistory: { later: 3, buckets: [{ startTime: time, later: 4 }] },
    }),
    later: 5,
  };
  const result = decodePodProtector(raw);
  assert.deepEqual(result.ok && result.protector, raw);
});

/** The only cell of the decoded object; `raw` must not be changed by that. */
function cellOf(cell: object): CellStatus | undefined {
  const raw = statusWith(cell);
  const before = structuredClone(raw);
  const result = decodePodProtector(raw);
  assert.deepEqual(raw, before);
  return result.ok ? result.protector.status?.cells[0] : undefined;
}

test("times of a status get Kubernetes' own form, to the microsecond", () => {
  const goTime = "2026-01-01T02:00:00.5+02:00";
  const counts = { totalReplicas: 1, availableReplicas: 1 };
  const buckets = [{ startTime: goTime, endTime: "2026-01-01T00:00:00.123456789Z" }, { startTime: time }];
  const times = { lastEventTime: "2026-01-01T00:00:00Z", countedAt: goTime, recountedAt: time };
  assert.deepEqual(cellOf({ aggregation: { ...counts, ...times }, admissionHistory: { buckets } }), {
    cellID: "a",
    aggregation: {
      ...counts,
      lastEventTime: "2026-01-01T00:00:00.000000Z",
      countedAt: "2026-01-01T00:00:00.500000Z",
      recountedAt: time,
    },
    admissionHistory: {
      buckets: [
        { startTime: "2026-01-01T00:00:00.500000Z", endTime: "2026-01-01T00:00:00.123456Z" },
        { startTime: time },
      ],
    },
  });
});

test("a malformed time of a bucket is known as such, and one of counts is absent", () => {
  for (const malformed of ["", "?", "2026-13-01T00:00:00.000000Z", "9999-12-31T23:59:59-23:59"]) {
    const aggregation = { totalReplicas: 1, availableReplicas: 1 };
    const times = { lastEventTime: malformed, countedAt: malformed, recountedAt: malformed };
    const buckets = [{ startTime: malformed, endTime: malformed, podUID: "x" }];
    assert.deepEqual(
      cellOf({ aggregation: { ...aggregation, ...times }, admissionHistory: { buckets } }),
      { cellID: "a", aggregation, admissionHistory: { buckets: [{ startTime: "", endTime: "", podUID: "x" }] } },
      malformed,
    );
  }
});

test("versions of a status are kept, and malformed ones are absent", () => {
  const aggregation = { totalReplicas: 1, availableReplicas: 1 };
  const bucket = { startTime: time, podUID: "x" };
  const good = {
    aggregation: { ...aggregation, resourceVersion: "9".repeat(39) },
    admissionHistory: { buckets: [{ ...bucket, podResourceVersion: "1", evictionResourceVersion: "2" }] },
  };
  assert.deepEqual(cellOf(good), { cellID: "a", ...good });
  for (const resourceVersion of ["", "0", "-1", "01", "1e3", "abc", "9".repeat(40)]) {
    assert.deepEqual(
      cellOf({
        aggregation: { ...aggregation, resourceVersion },
        admissionHistory: {
          buckets: [{ ...bucket, podResourceVersion: resourceVersion, evictionResourceVersion: resourceVersion }],
        },
      }),
      { cellID: "a", aggregation, admissionHistory: { buckets: [bucket] } },
      resourceVersion,
    );
  }
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

test("odd buckets are taken: the accounting gives them a safe meaning", () => {
  const buckets = [
    { startTime: "not a time", counter: -5, podResourceVersion: "x", podUIDDigests: "?" },
    { startTime: "" },
  ];
  assert.equal(decodePodProtector(statusWith({ admissionHistory: { buckets } })).ok, true);
});

test("an invalid object is refused with the name of the field", () => {
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

test("nothing makes the decoder throw", () => {
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

test("items of a list get the type that they do not carry; what is no object stays", () => {
  const { apiVersion: _a, kind: _k, ...item } = object();
  assert.deepEqual(withTypeMeta(item), object());
  assert.equal(withTypeMeta(null), null);
});

test("conditions are kept as they are, and a malformed list is absent instead of making the object invalid", () => {
  const condition = { type: "AtFloor", status: "True", reason: "R", message: "", lastTransitionTime: time, later: 1 };
  const conditionsOf = (conditions: unknown): unknown => {
    const result = decodePodProtector(object({ status: { cells: [], summary, conditions } }));
    assert.ok(result.ok);
    return result.protector.status?.conditions;
  };
  assert.deepEqual(conditionsOf([condition]), [condition]);
  assert.equal(conditionsOf(null), undefined);
  assert.equal(conditionsOf([{ ...condition, status: "Perhaps" }]), undefined);
});

const selector = { matchLabels: { app: "web" } };

test("the selector of a workload is read in both forms, and one that selects everything is none", () => {
  const labels = { app: "web", constructor: "a" };
  assert.deepEqual(readPodSelector({ matchLabels: labels, other: 1 }, false), { matchLabels: labels });
  assert.deepEqual(readPodSelector(labels, true), { matchLabels: labels });
  const matchExpressions = [{ key: "app", operator: "In", values: ["web"] }];
  assert.deepEqual(readPodSelector({ matchExpressions }, false), { matchExpressions });
  for (const isLabels of [true, false])
    for (const other of [undefined, null, {}, [], 3, "app=web", { matchLabels: 3 }, { matchExpressions: [{}] }])
      assert.equal(readPodSelector(other, isLabels), undefined, JSON.stringify([other, isLabels]));
});

test("a selector that selects everything is told from one that does not", () => {
  assert.ok(isFilled(selector) && isFilled({ matchExpressions: [{ key: "a", operator: "Exists" }] }));
  assert.ok(!isFilled({}) && !isFilled({ matchLabels: {}, matchExpressions: [] }));
});

test("every key is kept, whatever it means to JavaScript", () => {
  const text = '{"app":"web","constructor":"a","prototype":"b","__proto__":"c","toString":"d"}';
  const read = v.safeParse(stringMap, JSON.parse(text));
  assert.ok(read.success);
  assert.equal(JSON.stringify(read.output), text);
});

test("anything but a map of strings is refused", () => {
  for (const other of [null, [], ["a"], "a", 1, { a: 1 }, { a: null }, { a: { b: "c" } }]) {
    assert.equal(v.safeParse(stringMap, other).success, false, JSON.stringify(other));
  }
});

test("only the value shadow takes a PodProtector out of force, whatever else its metadata is", () => {
  assert.equal(isInShadow({ annotations: { [annotations.mode]: "shadow" } }), true);
  for (const value of ["Shadow", "off", "", 1, null, ["shadow"]])
    assert.equal(isInShadow({ annotations: { [annotations.mode]: value } }), false);
  for (const metadata of [undefined, null, "shadow", {}, { annotations: "shadow" }])
    assert.equal(isInShadow(metadata), false);
});
