import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Bucket, type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Disruption } from "../../../../src/accounting/reserve/disruption.ts";
import { reserve, type Reservation, type ReservationContext } from "../../../../src/accounting/reserve/reservation.ts";
import {
  anonymous,
  at,
  cell,
  context,
  counts,
  disruption,
  lostUpTo,
  notReady,
  packed,
  protector,
  single,
  timeText,
  version,
} from "../samples.ts";

interface World {
  readonly minAvailable?: number;
  readonly cells?: readonly CellStatus[];
  readonly wishes: readonly Disruption[];
  readonly context?: Partial<ReservationContext>;
}
const run = ({ minAvailable = 2, cells = [cell(counts(3))], wishes, context: changes }: World): Reservation =>
  reserve(protector(minAvailable, cells, 30), wishes, context(changes));
const kinds = (result: Reservation): string[] =>
  result.verdicts.map((verdict) => (verdict.kind === "retry" ? verdict.cause : verdict.kind));
const bucketsOf = (result: Reservation): readonly Bucket[] =>
  result.status?.cells.flatMap((one) => one.admissionHistory?.buckets ?? []) ?? [];
const lag = (maxConcurrentLag: number): Partial<ReservationContext> => ({
  config: { maxConcurrentLag, compactThreshold: 100, aggregationRateMs: 1000 },
});

test("deletions are admitted down to exactly minAvailable, the first of a batch", () => {
  const result = run({ minAvailable: 1, wishes: ["x", "y", "z"].map((uid) => disruption(uid)) });
  assert.deepEqual(kinds(result), ["admitted", "admitted", "unconfirmed"]);
  const uids = bucketsOf(result).map(({ podUID }) => podUID);
  assert.deepEqual(uids, ["x", "y"]);
  assert.equal(result.status?.summary.estimatedAvailableReplicas, 1);
});

test("a record keeps the conditions, which others write", () => {
  const object = protector(1, [cell(counts(3))], 30);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const conditions = [{ type: "Dangling", status: "True", reason: "R", message: "", lastTransitionTime }] as const;
  assert.ok(object.status !== undefined);
  const result = reserve({ ...object, status: { ...object.status, conditions } }, [disruption("x")], context());
  assert.equal(bucketsOf(result).length, 1);
  assert.deepEqual(result.status?.conditions, conditions);
});

test("a deletion is rejected, not retried, when there are too few pods even without unconfirmed admissions", () => {
  const result = run({ minAvailable: 3, wishes: [disruption("x")] });
  assert.deepEqual(result.verdicts, [
    {
      kind: "rejected",
      figures: {
        criterion: "Available",
        required: 3,
        aggregated: 3,
        total: 3,
        unconfirmed: 0,
        outstanding: 0,
        cells: [{ cellID: "a", counts: "in-force", aggregated: 3, last: 3, unconfirmed: 0 }],
      },
    },
  ]);
  assert.equal(result.status, undefined);
});

test("the estimate sums the counts and the buckets of all cells", () => {
  const cells = [cell(counts(1), [single("q")], "a"), cell(counts(3), [packed(["r"], 5)], "b")];
  assert.deepEqual(kinds(run({ minAvailable: 1, cells, wishes: [disruption("x", { cellID: "b" })] })), ["admitted"]);
  assert.deepEqual(kinds(run({ minAvailable: 2, cells, wishes: [disruption("x", { cellID: "b" })] })), ["unconfirmed"]);
});

test("the estimate uses the count of the deletion's own criterion", () => {
  const cells = [cell(counts(1, { readyReplicas: 3 }))];
  assert.deepEqual(kinds(run({ cells, wishes: [disruption("x"), disruption("x", { criterion: "Ready" })] })), [
    "rejected",
    "admitted",
  ]);
});

test("a repeated review adds no weight but is judged by the same rule", () => {
  const cells = (available: number): CellStatus[] => [cell(counts(available), [single("x", 10)])];
  const again = run({ cells: cells(3), wishes: [disruption("x")] });
  assert.deepEqual([kinds(again), bucketsOf(again).length], [["admitted"], 1]);
  assert.deepEqual(kinds(run({ cells: cells(2), wishes: [disruption("x")] })), ["rejected"]);
  const crowded = [cell(counts(3), [single("x", 10), single("y", 10)])];
  assert.deepEqual(kinds(run({ cells: crowded, wishes: [disruption("x")] })), ["unconfirmed"]);
});

test("a repeated review is admitted when the history is full or the lag limit is reached", () => {
  const names = Array.from({ length: 2000 }, (_, index) => `p${index}`);
  const cells = [cell(counts(9000), [packed(names, 5)])];
  const result = run({ cells, wishes: [disruption("p7"), disruption("new")], context: lag(2000) });
  assert.deepEqual(kinds(result), ["admitted", "full-buffer"]);
  assert.deepEqual(
    kinds(run({ cells, wishes: [disruption("p7"), disruption("new", { isForced: true })], context: lag(2000) })),
    ["admitted", "admitted"],
  );
});

test("a repeated review of a packed pod leaves it single in this write, however small the threshold", () => {
  const cells = [cell(counts(50), [packed(["x", "y"], 10)])];
  const config = { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMs: 1000 };
  const wishes = ["x", "a", "b", "c"].map((uid) => disruption(uid, { as: { resourceVersion: version(12) } }));
  const buckets = bucketsOf(run({ cells, wishes, context: { config } }));
  assert.deepEqual(
    buckets.map(({ podUID, counter }) => podUID ?? counter),
    [4, "x"],
  );
  // The next write may pack it: the aggregator has seen it single in between.
  const next = bucketsOf(run({ cells: [cell(counts(50), buckets)], wishes: [disruption("d")], context: { config } }));
  const counters = next.map(({ counter }) => counter);
  assert.deepEqual(counters, [6]);
});

test("maxConcurrentLag is used up within a batch", () => {
  const cells = [cell(counts(10))];
  const wishes = ["x", "y", "z"].map((uid) => disruption(uid));
  assert.deepEqual(kinds(run({ cells, wishes, context: lag(2) })), ["admitted", "admitted", "lag-limit"]);
  assert.deepEqual(kinds(run({ cells, wishes, context: lag(0) })), ["admitted", "admitted", "admitted"]);
});

test("maxConcurrentLag that is already exceeded means retry", () => {
  const cells = [cell(counts(10), [packed(["a", "b", "c"], 5)])];
  assert.deepEqual(kinds(run({ cells, wishes: [disruption("x")], context: lag(2) })), ["lag-limit"]);
});

test("maxConcurrentLag does not limit what needs no quota", () => {
  const cells = [cell(counts(10), [single("q")])];
  const wishes = [disruption("x", { as: notReady }), disruption("y", { as: { readySince: at(9) } })];
  assert.deepEqual(kinds(run({ cells, wishes, context: lag(1) })), ["admitted", "admitted"]);
});

describe("counts that are not there", () => {
  const lost = lostUpTo(version(100));
  const states: Readonly<Record<string, readonly [readonly CellStatus[], Partial<ReservationContext>]>> = {
    "no cell": [[], {}],
    "no aggregation": [[cell(undefined, [single("q")])], {}],
    "another countedSpec (10)": [[cell(counts(9, { countedSpec: "former" }))], {}],
    "a version that a core restore made doubtful (13b)": [[cell(counts(9))], lost],
    "no version after a core restore": [[cell({ totalReplicas: 9, availableReplicas: 9 })], lost],
  };
  for (const [name, [cells, changes]] of Object.entries(states)) {
    test(`${name}: quota and evictions are refused; forced, unprotected and NotReady deletions are not`, () => {
      const wishes = [
        disruption("x"),
        disruption("x", { operation: "evict", as: notReady }),
        disruption("x", { isForced: true }),
        disruption("y", { isProtected: false }),
        disruption("z", { as: notReady }),
      ];
      const result = run({ cells, wishes, context: changes });
      assert.deepEqual(kinds(result), ["counts-pending", "counts-pending", "admitted", "admitted", "admitted"]);
    });
  }

  test("the counts of a Go aggregator are valid, and so are ours after the CRD pruned them", () => {
    const cells = [cell({ totalReplicas: 3, availableReplicas: 3 })];
    assert.deepEqual(kinds(run({ cells, wishes: [disruption("x")] })), ["admitted"]);
  });

  test("without counts of another cell its pods are 0, and its buckets take nothing from the others", () => {
    const other = cell(counts(50, { countedSpec: "former" }), [single("q")], "b");
    assert.deepEqual(kinds(run({ cells: [cell(counts(4)), other], wishes: [disruption("x")] })), ["admitted"]);
    const few = cell(counts(1, { countedSpec: "former" }), [single("q"), single("r")], "b");
    assert.deepEqual(kinds(run({ cells: [cell(counts(3)), few], wishes: [disruption("x")] })), ["admitted"]);
  });

  test("when the last numbers of other cells would do, their counts are waited for", () => {
    const former = (available: number, cellID: string) =>
      cell(counts(available, { countedSpec: "former" }), [], cellID);
    const verdictOf = (cells: readonly CellStatus[], changes: Partial<ReservationContext> = {}) =>
      run({ minAvailable: 4, cells, wishes: [disruption("x")], context: changes }).verdicts[0];
    const pending = { kind: "counts-pending", awaited: ["b", "c"] };
    assert.partialDeepStrictEqual(verdictOf([cell(counts(1)), former(3, "b"), former(1, "c")]), pending);
    assert.partialDeepStrictEqual(verdictOf([cell(counts(5), [single("q")]), former(3, "b"), former(1, "c")]), pending);
    assert.equal(verdictOf([cell(counts(1)), former(3, "b")])?.kind, "rejected");
    assert.equal(verdictOf([cell(counts(1)), cell(undefined, [], "b")])?.kind, "rejected");
    const restored = lostUpTo(version(100), "b");
    const lostCells = [cell(counts(3)), cell(counts(9), [], "b")];
    assert.partialDeepStrictEqual(verdictOf(lostCells, restored), { kind: "counts-pending", awaited: ["b"] });
  });
});

describe("a cell that nobody counts", () => {
  const states: Readonly<Record<string, readonly CellStatus[]>> = {
    "not in the status": [],
    "beside a counted one": [cell(counts(3), [], "b")],
    "left by another webhook": [cell(undefined, [single("q"), single("x", 5)])],
  };
  for (const [name, cells] of Object.entries(states)) {
    test(`${name}: forced and unprotected deletions are allowed, and leave no record`, () => {
      for (const operation of ["delete", "evict"] as const) {
        const wishes = [
          disruption("x", { operation, isForced: true }),
          disruption("y", { operation, isProtected: false }),
          disruption("x", { operation, isForced: true, isProtected: false }),
        ];
        const result = run({ cells, wishes });
        for (const verdict of result.verdicts) {
          assert.partialDeepStrictEqual(verdict, { kind: "admitted", isRecorded: false, leftOut: "unknown-cell" });
        }
        assert.equal(result.status, undefined);
      }
    });

    test(`${name}: what needs a record is refused, a pod that is too young as well`, () => {
      const young = { readySince: at(5) };
      const wishes = [
        disruption("x"),
        disruption("x", { operation: "evict" }),
        disruption("x", { operation: "evict", as: notReady }),
        disruption("x", { as: young }),
        disruption("x", { operation: "evict", as: young }),
      ];
      const result = run({ cells, wishes });
      assert.deepEqual(
        kinds(result),
        wishes.map(() => "counts-pending"),
      );
      assert.equal(result.status, undefined);
    });
  }
});

test("counts of another spec are no reason to leave out a record: the cell has an aggregator", () => {
  const cells = [cell(counts(3, { countedSpec: "former" }))];
  const wishes = [disruption("x", { isForced: true }), disruption("y", { as: { readySince: at(5) } })];
  const result = run({ cells, wishes });
  assert.deepEqual(kinds(result), ["admitted", "admitted"]);
  assert.equal(bucketsOf(result).length, 2);
});

test("counts that are not in force tell a pod's age all the same, or a slow clock would give quota away", () => {
  const counted = (changes = {}) => counts(3, { countedAt: timeText(40), ...changes });
  const wishes = [disruption("x", { as: { readySince: at(5) } })];
  const remade: Partial<ReservationContext> = { doubtOf: () => "remade" };
  assert.deepEqual(kinds(run({ cells: [cell(counted({ countedSpec: "former" }))], wishes })), ["counts-pending"]);
  assert.deepEqual(kinds(run({ cells: [cell(counted())], wishes, context: remade })), ["counts-pending"]);
  const before = [cell(counts(3, { countedAt: timeText(6) }))];
  assert.deepEqual(kinds(run({ cells: before, wishes, context: remade })), ["admitted"], "nobody can have counted it");
});

test("a best-effort record that a full history leaves out says so", () => {
  const names = Array.from({ length: 2000 }, (_, index) => `p${index}`);
  const result = run({
    cells: [cell(counts(9000), [packed(names, 5)])],
    wishes: [disruption("n", { isForced: true })],
  });
  assert.partialDeepStrictEqual(result.verdicts, [{ kind: "admitted", isRecorded: false, leftOut: "full-buffer" }]);
});

test("the status keeps unknown fields, and other cells as they are", () => {
  const strange = { ...cell(counts(3)), admissionHistory: { buckets: [], later: 1 }, tomorrow: true };
  const other = cell(counts(3), [], "b");
  const object = {
    ...protector(1, [strange, other]),
    status: { cells: [strange, other], summary: protector(1, []).status!.summary, conditions: [] },
  };
  const result = reserve(object, [disruption("x")], context());
  assert.partialDeepStrictEqual(result.status, {
    conditions: [],
    cells: [{ tomorrow: true, admissionHistory: { later: 1 } }],
  });
  assert.equal(result.status?.cells[1], other);
});

test("there is no status to write when nothing was recorded", () => {
  assert.equal(run({ wishes: [disruption("x", { as: notReady })] }).status, undefined);
  assert.equal(run({ wishes: [] }).status, undefined);
});

test("the object that was read is not changed", () => {
  const object = protector(1, [cell(counts(3), [single("x", 1)])]);
  const before = structuredClone(object);
  reserve(object, [disruption("x"), disruption("y")], context());
  assert.deepEqual(object, before);
});

test("what needs no quota is admitted below the floor and lowers the estimate for the next", () => {
  const wishes = [
    disruption("x", { as: { readySince: at(5) } }),
    disruption("y"),
    disruption("z", { operation: "evict", as: notReady }),
  ];
  const result = run({ cells: [cell(counts(3, { countedAt: timeText(9) }))], wishes });
  assert.deepEqual(kinds(result), ["admitted", "unconfirmed", "admitted"]);
  assert.equal(bucketsOf(result).length, 2);
});

test("a huge counter refuses deletions, and its neighbours still work", () => {
  const cells = [
    cell(counts(9), [
      { startTime: timeText(0), counter: 1e308 },
      { startTime: timeText(0), counter: 1e308 },
    ]),
  ];
  assert.deepEqual(kinds(run({ cells, wishes: [disruption("x"), disruption("y", { isForced: true })] })), [
    "unconfirmed",
    "admitted",
  ]);
});

test("a cell that has promised more than it counts takes nothing from other cells", () => {
  const owing = cell(counts(2), [single("q", 5), anonymous(1_000_000)], "a");
  const uncounted = cell(counts(9, { countedSpec: "former" }), [anonymous(7)], "b");
  const cells = [owing, uncounted, cell(counts(3), [], "c")];
  const wishes = ["x", "y"].map((uid) => disruption(uid, { cellID: "c" }));
  assert.deepEqual(kinds(run({ minAvailable: 2, cells, wishes })), ["admitted", "counts-pending"]);
});

test("in a cell that has promised more than it counts, a deletion needs what any other does", () => {
  const cells = (elsewhere: number) => [cell(counts(1), [anonymous(2)], "a"), cell(counts(elsewhere), [], "b")];
  assert.deepEqual(kinds(run({ minAvailable: 3, cells: cells(4), wishes: [disruption("x")] })), ["admitted"]);
  assert.deepEqual(kinds(run({ minAvailable: 3, cells: cells(3), wishes: [disruption("x")] })), ["unconfirmed"]);
});

test("the limit of unconfirmed admissions is about all of them, also those beyond the counts", () => {
  const cells = [cell(counts(0), [anonymous(5)], "a"), cell(counts(9), [], "b")];
  const wishes = [disruption("x", { cellID: "b" })];
  assert.deepEqual(kinds(run({ minAvailable: 1, cells, wishes, context: lag(5) })), ["lag-limit"]);
  assert.deepEqual(kinds(run({ minAvailable: 1, cells, wishes, context: lag(6) })), ["admitted"]);
});
