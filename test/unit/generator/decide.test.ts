import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type Action, decide, isDone, type Known } from "../../../src/generator/decide.ts";
import { type Verdict } from "../../../src/generator/mass-changes/judged-change.ts";
import { type Vanished } from "../../../src/generator/protectors/vanished-protectors.ts";
import { planFor, type WantedProtector } from "../../../src/generator/sources/source-plan.ts";
import { readProtector, type StoredProtector } from "../../../src/kube/resources.ts";
import { podDisruptionBudgets } from "../../../src/sources/budgets/pod-disruption-budget.ts";
import { type MonotonicMs } from "../../../src/util/clock.ts";
import { type JsonObject } from "../../double/index.ts";
import { deployment, rule } from "./mass-changes/samples.ts";

const guarded = { finalizers: [finalizer] };
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const source = deployment(8, guarded);
const wanted = planFor(source, rule);
const shadowed = planFor(source, rule, { mode: "shadow", healthCriterion: undefined });
const floor = wanted.spec.minAvailable;

/** The PodProtector of the source, as it should be but for these. */
function storedWith(minAvailable: number, metadata: JsonObject = {}): StoredProtector {
  const { labels, finalizer: own, ownerReference, name, namespace } = wanted;
  const { annotations: more = {}, ...others } = metadata as { annotations?: JsonObject };
  const read = readProtector({
    metadata: {
      name,
      namespace,
      uid: "p",
      resourceVersion: "1",
      labels,
      finalizers: [own],
      ownerReferences: [ownerReference],
      annotations: { ...wanted.annotations, ...more },
      ...others,
    },
    spec: { ...wanted.spec, minAvailable },
  });
  assert.ok(read.ok);
  return read.stored;
}

const inShadow = { annotations: { [annotations.mode]: "shadow" } };
const released = { annotations: { [annotations.released]: "true" } };
const finished = { ...released, ...deleted, finalizers: ["example.com/other"] };
const lost: Vanished = { source, stored: storedWith(floor), sinceMs: 0 as MonotonicMs };
const held: Verdict = { kind: "held" };
const passed: Verdict = { kind: "pass", cause: "namespace/shop", floorBefore: "9@2026" };
const none = { kind: "none" } as const;
const foreign = { kind: "foreign" } as const;

/** What is known, where it differs from a source that has its PodProtector. */
interface Given {
  readonly holder?: StoredProtector | "none" | "foreign";
  readonly source?: Known["source"];
  readonly wanted?: WantedProtector | "none";
  readonly lost?: Vanished;
  /** The floor that it had before a restore. */
  readonly before?: number;
  readonly keeps?: number;
  readonly isListed?: true;
  readonly isTold?: true;
  readonly verdict?: Verdict;
}

/** `action`: some of its fields; a number stands for what is wanted with that floor. */
type Row = readonly [
  name: string,
  given: Given,
  action: Pick<Action, "kind"> & Readonly<Record<string, unknown>>,
  isDone: boolean,
];

function knownOf(row: Given): Known {
  const { holder = storedWith(floor), isListed = false, isTold = false, lost: vanished, verdict } = row;
  const of = row.source ?? source;
  const present = typeof holder === "string" ? vanished?.stored : holder;
  const { before } = row;
  return {
    holder:
      typeof holder === "string" ? { none, foreign }[holder] : { kind: "ours", stored: holder, managedFields: [] },
    source: of,
    lost: vanished,
    wanted: row.wanted === "none" || typeof of === "string" ? undefined : (row.wanted ?? planFor(of, rule)),
    protector: before === undefined ? present : storedWith(before),
    keeps: row.keeps,
    isListed,
    isTold,
    verdict,
  };
}

const budget = { ...source, kind: podDisruptionBudgets, finalizers: [] };
const kept = (minAvailable: number): WantedProtector => ({ ...wanted, spec: { ...wanted.spec, minAvailable } });

const rows: readonly Row[] = [
  // Without a source.
  ["nothing is there", { source: "gone", holder: "none" }, { kind: "leave" }, true],
  [
    "what vanished with its source is made again",
    { source: "gone", holder: "none", lost },
    { kind: "recreate", lost },
    false,
  ],
  [
    "what vanished is made again also while it is not known whether its source is there",
    { source: "unknown", holder: "none", lost },
    { kind: "recreate", lost },
    false,
  ],
  [
    "what vanished is not made again where somebody else has its name",
    { source: "gone", holder: "foreign", lost },
    { kind: "leave" },
    true,
  ],
  [
    "while it is not known whether the source is there, a PodProtector stays as it is",
    { source: "unknown", holder: storedWith(floor, released) },
    { kind: "leave" },
    true,
  ],
  ["what has lost its source dangles", { source: "gone" }, { kind: "dangle" }, false],
  ["what dangles is told once", { source: "gone", isTold: true }, { kind: "dangle" }, true],
  [
    "what dangles leaves the list of releases, though it was told",
    { source: "gone", isTold: true, isListed: true },
    { kind: "dangle" },
    false,
  ],
  [
    "a person releases what dangles by the mark",
    { source: "gone", isTold: true, holder: storedWith(floor, released) },
    { kind: "release", source: undefined, cause: "by hand" },
    false,
  ],
  [
    "what was released by hand and is only kept by finalizers of others is left alone",
    { source: "gone", holder: storedWith(floor, finished) },
    { kind: "release" },
    true,
  ],
  // The source wants one.
  ["a PodProtector as it is wanted is kept", {}, { kind: "keep", wanted: floor }, true],
  [
    "a floor that rises needs no judgement",
    { holder: storedWith(1) },
    { kind: "keep", wanted: floor, floorBefore: undefined },
    false,
  ],
  ["a source that lost our finalizer gets it again", { source: deployment(8) }, { kind: "keep" }, false],
  [
    "a terminating source accepts no finalizer, and its PodProtector is kept without",
    { source: deployment(8, deleted) },
    { kind: "keep" },
    true,
  ],
  ["a kind that is never written needs no finalizer", { source: budget, wanted }, { kind: "keep" }, true],
  [
    "what is to be kept after all leaves the list of releases",
    { isListed: true },
    { kind: "keep", wanted: floor },
    false,
  ],
  [
    "a mark of a release that is called off is taken off",
    { holder: storedWith(floor, released) },
    { kind: "keep", wanted: floor },
    false,
  ],
  [
    "a new source gets its PodProtector",
    { source: deployment(8), holder: "none" },
    { kind: "create", wanted: floor, lost: undefined },
    false,
  ],
  [
    "a terminating source that nobody holds gets none",
    { source: deployment(8, deleted), holder: "none" },
    { kind: "create" },
    true,
  ],
  [
    "a terminating source that we hold gets it",
    { source: deployment(8, { ...deleted, ...guarded }), holder: "none" },
    { kind: "create" },
    false,
  ],
  [
    "a source gets again what vanished, also while it terminates",
    { source: deployment(8, deleted), holder: "none", lost },
    { kind: "create", wanted: floor, lost },
    false,
  ],
  ["a name that somebody else has is not taken", { holder: "foreign" }, { kind: "yield" }, false],
  [
    "nor is it complained of for a source that is about to go",
    { source: deployment(8, deleted), holder: "foreign" },
    { kind: "yield" },
    true,
  ],
  // A lower floor.
  [
    "a lower floor is judged first",
    { holder: storedWith(9) },
    { kind: "judge", request: { to: floor, from: 9 } },
    false,
  ],
  [
    "so is that of what vanished",
    { holder: "none", lost: { ...lost, stored: storedWith(9) } },
    { kind: "judge" },
    false,
  ],
  [
    "a lower floor waits for its verdict",
    { holder: storedWith(9), verdict: { kind: "later", waitMs: 5 } },
    { kind: "wait", waitMs: 5 },
    true,
  ],
  [
    "a lower floor that passes is written with what it was before",
    { holder: storedWith(9), verdict: passed },
    { kind: "keep", wanted: floor, floorBefore: "9@2026" },
    false,
  ],
  [
    "a lower floor that is held stays",
    { holder: storedWith(9), verdict: held },
    { kind: "keep", wanted: 9, floorBefore: undefined },
    true,
  ],
  [
    "while a lower floor is held, everything else that is wanted is kept",
    { holder: storedWith(9, { labels: {} }), verdict: held },
    { kind: "keep", wanted: 9 },
    false,
  ],
  [
    "what vanished with a floor that is held comes back with it",
    { holder: "none", lost: { ...lost, stored: storedWith(9) }, verdict: held },
    { kind: "create", wanted: 9 },
    false,
  ],
  [
    "a floor that a restore has lowered is judged, though nothing differs",
    { before: 9 },
    { kind: "judge", request: { to: floor, from: 9 } },
    false,
  ],
  [
    "a floor that a restore has lowered is what it was before while that is held",
    { before: 9, verdict: held },
    { kind: "keep", wanted: 9 },
    false,
  ],
  [
    "a floor that a restore has lowered stays when it passes",
    { before: 9, verdict: passed },
    { kind: "keep", wanted: floor },
    true,
  ],
  // Shadow.
  ...[floor - 1, floor, floor + 1].flatMap((present): Row[] => [
    [
      `shadow is judged first, with a floor of ${present}`,
      { holder: storedWith(present), wanted: shadowed },
      { kind: "judge", request: { to: "shadow", from: present } },
      false,
    ],
    [
      `while shadow is held, a floor of ${present} stays out of it and is no lower`,
      { holder: storedWith(present), wanted: shadowed, verdict: held },
      { kind: "keep", wanted: Math.max(present, floor) },
      present >= floor,
    ],
  ]),
  [
    "what is in shadow needs no leave to stay there",
    { holder: storedWith(floor, inShadow), wanted: shadowed },
    { kind: "keep", wanted: shadowed },
    true,
  ],
  [
    "nor does what has no floor to go there",
    { holder: storedWith(0), wanted: shadowed },
    { kind: "keep", wanted: shadowed },
    false,
  ],
  [
    "while a lower floor in shadow is held, it stays there",
    { holder: storedWith(9, inShadow), wanted: shadowed, verdict: held },
    { kind: "keep", wanted: { ...shadowed, spec: kept(9).spec } },
    true,
  ],
  // The source wants none.
  ["a release is judged first", { wanted: "none" }, { kind: "judge", request: { to: undefined, from: floor } }, false],
  [
    "a release that has begun goes on without a judgement",
    { wanted: "none", holder: storedWith(floor, released) },
    { kind: "release", lost: undefined },
    false,
  ],
  ["so does one that is in the list of releases", { wanted: "none", isListed: true }, { kind: "release" }, false],
  [
    "a release waits for its verdict",
    { wanted: "none", verdict: { kind: "later", waitMs: 7 } },
    { kind: "wait", waitMs: 7 },
    true,
  ],
  ["a release that is held leaves all as it is", { wanted: "none", verdict: held }, { kind: "leave" }, true],
  [
    "what vanishes while its release is held is made again",
    { wanted: "none", holder: "none", lost, verdict: held },
    { kind: "recreate", lost },
    false,
  ],
  [
    "but not where somebody else has its name",
    { wanted: "none", holder: "foreign", lost, verdict: held },
    { kind: "leave" },
    true,
  ],
  [
    "a release that passes has the cause that was counted",
    { wanted: "none", verdict: passed },
    { kind: "release", source, cause: "namespace/shop" },
    false,
  ],
  [
    "what vanished is let go with its source",
    { wanted: "none", holder: "none", lost, verdict: passed },
    { kind: "release", stored: undefined, lost },
    false,
  ],
  [
    "a release that is not counted says that its source was deleted",
    { wanted: "none", source: deployment(8, { ...deleted, ...guarded }), holder: "none" },
    { kind: "release", cause: "deleted in shop" },
    false,
  ],
  [
    "or that it is no longer selected",
    { wanted: "none", holder: "none" },
    { kind: "release", cause: "not selected in shop" },
    false,
  ],
  [
    "a source that asks for nothing and has nothing is left alone",
    { wanted: "none", source: deployment(8), holder: "none" },
    { kind: "release" },
    true,
  ],
  [
    "a source whose name somebody else has is let go once it asks for nothing",
    { wanted: "none", holder: "foreign" },
    { kind: "release", stored: undefined },
    false,
  ],
  [
    "a source is let go although finalizers of others keep its PodProtector",
    { wanted: "none", holder: storedWith(floor, finished) },
    { kind: "release" },
    false,
  ],
  [
    "then nothing is left",
    { wanted: "none", source: deployment(8), holder: storedWith(floor, finished) },
    { kind: "release" },
    true,
  ],
];

for (const [name, given, expected, done] of rows)
  test(`decide: ${name}`, () => {
    const known = knownOf(given);
    const action = decide(known);
    for (const [field, value] of Object.entries(expected)) {
      const actual = (action as unknown as Record<string, unknown>)[field];
      if (field === "wanted") assert.deepEqual(actual, typeof value === "number" ? kept(value) : value);
      else if (field === "request") assert.deepEqual(requestIn(action), value);
      else assert.deepEqual(actual, value, field);
    }
    assert.equal(isDone(action, known), done, "done");
    if (action.kind === "keep" && known.verdict?.kind !== "held") assert.equal(action.wanted, known.wanted);
  });

function requestIn(action: Action): object {
  assert.equal(action.kind, "judge");
  const { protector, to } = action.request;
  return { to, from: protector.spec.minAvailable };
}
