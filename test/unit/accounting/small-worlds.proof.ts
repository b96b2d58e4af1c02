import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket, type CellStatus } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type Disruption } from "../../../src/accounting/reserve/disruption.ts";
import { reserve, type Verdict } from "../../../src/accounting/reserve/reservation.ts";
import { digestOfUID, unpackDigests } from "../../../src/accounting/history/uid-digest.ts";
import { type Answer, decide, type Entry, type NaiveCell, type Wish } from "./naive-model.ts";
import {
  anonymous,
  at,
  cell,
  context,
  counts,
  disruption,
  notReady,
  packed,
  protector,
  single,
  version,
} from "./samples.ts";

const names = ["x", "y", "z", "w"];

/** All histories of up to three buckets in two cells; pods x, y, z live in cell a, w in cell b. */
const bucketChoices: readonly { cell: "a" | "b"; bucket: Bucket; pods: readonly string[] }[] = [
  { cell: "a", bucket: single("x", 5), pods: ["x"] },
  { cell: "a", bucket: single("x", 15), pods: ["x"] },
  { cell: "a", bucket: single("x"), pods: ["x"] },
  { cell: "a", bucket: single("y", 5), pods: ["y"] },
  { cell: "a", bucket: packed(["x", "z"], 12), pods: ["x", "z"] },
  { cell: "a", bucket: packed(["z"], 7), pods: ["z"] },
  { cell: "a", bucket: anonymous(2), pods: ["?"] },
  { cell: "b", bucket: single("w", 5), pods: ["w"] },
  { cell: "b", bucket: anonymous(1), pods: ["??"] },
];

function* histories(): Generator<typeof bucketChoices> {
  for (let mask = 0; mask < 2 ** bucketChoices.length; mask += 1) {
    const chosen = bucketChoices.filter((_, index) => (mask & (2 ** index)) !== 0);
    const pods = chosen.flatMap((one) => one.pods);
    if (chosen.length <= 3 && new Set(pods).size === pods.length) yield chosen;
  }
}

function* cellsOf(): Generator<readonly NaiveCell[]> {
  for (let a = 0; a <= 4; a += 1) {
    for (let b = 0; a + b <= 4; b += 1) {
      for (const [countsA, countsB] of [
        ["there", "there"],
        ["there", "former"],
        ["former", "there"],
        ["none", "there"],
        ["there", "none"],
      ] as const) {
        // How many pods nobody has counted makes no difference.
        if ((countsA === "none" && a > 0) || (countsB === "none" && b > 0)) continue;
        yield [
          { name: "a", available: a, counts: countsA },
          { name: "b", available: b, counts: countsB },
        ];
      }
    }
  }
}

const wishOf = (pod: string, changes: Partial<Wish> = {}): Wish => ({
  pod,
  cell: pod === "w" ? "b" : "a",
  version: 10,
  eviction: false,
  health: "ready",
  forced: false,
  protected: true,
  ...changes,
});

/** Pairs of reviews in one batch: each kind of first review, then a plain one. */
const batches: readonly (readonly Wish[])[] = [false, true].flatMap((eviction) => [
  ...(["ready", "young", "not ready", "terminating"] as const).map((health) => [
    wishOf("x", { eviction, health }),
    wishOf("y"),
  ]),
  [wishOf("x", { eviction, forced: true }), wishOf("w")],
  [wishOf("x", { eviction, protected: false }), wishOf("x")],
  [wishOf("w", { eviction }), wishOf("z", { version: 20 })],
]);

function disruptionOf(wish: Wish): Disruption {
  const health = {
    ready: {},
    young: { readySince: at(0) },
    "not ready": notReady,
    terminating: { isTerminating: true },
  }[wish.health];
  return disruption(wish.pod, {
    cellID: wish.cell,
    operation: wish.eviction ? "evict" : "delete",
    isForced: wish.forced,
    isProtected: wish.protected,
    as: { resourceVersion: version(wish.version), ...health },
  });
}

function answerOf(verdict: Verdict): Answer | "full-buffer" | "full-status" {
  switch (verdict.kind) {
    case "admitted":
      return verdict.isRecorded ? "allowed, recorded" : "allowed, not recorded";
    case "retry":
      return verdict.cause;
    case "rejected":
    case "counts-pending":
      return verdict.kind;
    default:
      throw new Error("unknown verdict");
  }
}

/** What a status says, one line per admission, whatever bucket it is in; packed pods have their bucket's version. */
function linesOf(cells: readonly CellStatus[]): string[] {
  return cells
    .flatMap(({ cellID, admissionHistory }) =>
      (admissionHistory?.buckets ?? []).flatMap(({ podUID, podUIDDigests, podResourceVersion = "-", counter = 1 }) => {
        if (podUID !== undefined) return [`${cellID} ${podUID} ${podResourceVersion}`];
        const digests = unpackDigests(podUIDDigests ?? "")?.list();
        if (digests === undefined) return Array.from({ length: counter }, () => `${cellID} ? -`);
        return digests.map(
          (digest) => `${cellID} ${names.find((name) => digestOfUID(name) === digest)} ${podResourceVersion}`,
        );
      }),
    )
    .toSorted();
}

const entryLines = (entries: readonly Entry[]): string[] =>
  entries.map((entry) => `${entry.cell} ${entry.pod ?? "?"} ${entry.version ?? "-"}`).toSorted();

function entriesOf(chosen: typeof bucketChoices): Entry[] {
  return chosen.flatMap(({ cell: cellID, bucket, pods }): Entry[] => {
    const podVersion = bucket.podResourceVersion === undefined ? undefined : Number(bucket.podResourceVersion);
    if (bucket.podUID === undefined && bucket.podUIDDigests === undefined) {
      return Array.from({ length: bucket.counter ?? 1 }, () => ({ pod: undefined, cell: cellID, version: undefined }));
    }
    return pods.map((pod) => ({ pod, cell: cellID, version: podVersion }));
  });
}

/** Compares one batch in one world. */
function compare(
  object: ReturnType<typeof protector>,
  before: readonly Entry[],
  naiveCells: readonly NaiveCell[],
  batch: readonly Wish[],
  maxConcurrentLag: number,
): void {
  const config = { maxConcurrentLag, compactThreshold: 100, aggregationRateMs: 1000 };
  const result = reserve(object, batch.map(disruptionOf), context({ now: at(20), config }));
  let entries = before;
  const expected = batch.map((wish) => {
    const step = decide(wish, naiveCells, entries, object.spec.minAvailable, maxConcurrentLag);
    entries = step.entries;
    return step.answer;
  });
  const is = [...result.verdicts.map(answerOf), ...linesOf((result.status ?? object.status)?.cells ?? [])];
  const should = [...expected, ...entryLines(entries)];
  if (is.join() !== should.join())
    assert.deepEqual(is, should, JSON.stringify({ object, naiveCells, batch, maxConcurrentLag }));
}

test("reservation agrees with the naive model in all small worlds", () => {
  let compared = 0;
  const naiveWorlds = [...cellsOf()];
  const worlds = [...histories()].flatMap((chosen) => naiveWorlds.map((naiveCells) => ({ chosen, naiveCells })));
  for (const { chosen, naiveCells } of worlds) {
    const cells = naiveCells.map(({ name, available, counts: made }) =>
      cell(
        made === "none" ? undefined : counts(available, made === "there" ? {} : { countedSpec: "former" }),
        chosen.filter((one) => one.cell === name).map((one) => one.bucket),
        name,
      ),
    );
    const entries = entriesOf(chosen);
    for (let minAvailable = 0; minAvailable <= 4; minAvailable += 1) {
      const object = protector(minAvailable, cells, 30);
      for (const [index, batch] of batches.entries()) {
        // The limit is tried at three values, without multiplying all worlds by three.
        const maxConcurrentLag = (index + minAvailable) % 3 === 0 ? 1 + (chosen.length % 3) : 0;
        compare(object, entries, naiveCells, batch, maxConcurrentLag);
        compared += 1;
      }
    }
  }
  assert.ok(compared > 100_000, `${compared} worlds`);
});
