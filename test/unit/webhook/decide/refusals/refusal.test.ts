/** Refusals in words (docs/webhook.md#refusals). Those that are compared whole are in told/refusal.txt. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type QuotaFigures } from "../../../../../src/accounting/reserve/quota-figures.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { type Refused } from "../../../../../src/webhook/decide/decision.ts";
import { type FloorOwner } from "../../../../../src/webhook/decide/refusals/floor-owner.ts";
import * as unrecorded from "../../../../../src/webhook/decide/refusals/record-refusal.ts";
import {
  refusalOf,
  type RefusingProtector,
  type RefusingVerdict,
} from "../../../../../src/webhook/decide/refusals/refusal.ts";
import { ageText, missedText, silenceAdvice } from "../../../../../src/webhook/decide/refusals/silence-text.ts";
import { type ReservationResult } from "../../../../../src/webhook/protector/status-writer.ts";
import { cell, deleteReview, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";
import { comparesAll } from "../../support/told.ts";

const figures: QuotaFigures = {
  criterion: "Available",
  required: 80,
  aggregated: 100,
  total: undefined,
  unconfirmed: 20,
  outstanding: 21,
  cells: [
    { cellID: "c1", counts: "in-force", aggregated: 50, last: 50, unconfirmed: 20 },
    { cellID: "c2", counts: "in-force", aggregated: 50, last: 50, unconfirmed: 0 },
    { cellID: "c3", counts: "none", aggregated: 0, last: 0, unconfirmed: 0 },
    { cellID: "c4", counts: "other-spec", aggregated: 0, last: 7, unconfirmed: 1 },
    { cellID: "c5", counts: "lost", aggregated: 0, last: 6, unconfirmed: 0 },
  ],
};
const owner: FloorOwner = {
  name: "Deployment default/web",
  fields: "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable",
  overrides: "its annotation podseidon.kubewharf.io/min-available or podseidon.kubewharf.io/max-unavailable",
  undone: "edits of the PodProtector",
  hasVanished: false,
  isUndrainable: false,
};

const refuse = (verdict: RefusingVerdict, by?: FloorOwner, more: Partial<RefusingProtector> = {}) =>
  refusalOf([{ id: "core/ns/web", verdict, owner: by, ...more }], "c1");

/** All of some refusals, one after the other. */
function texts(...refusals: readonly Refused[]): () => string {
  const textOf = ({ status, code, reason, message, causes, audit, figures: numbers }: Refused): string =>
    [
      `${status}, ${code} ${reason}: ${message}`,
      ...causes.map(({ reason: word, field, message: cause }) => `  cause: ${word} of ${field}: ${cause}`),
      `  audit: ${Object.entries(audit)
        .map(([key, value]) => `${key}=${value}`)
        .join("; ")}`,
      ...(numbers === undefined ? ["  no figures"] : []),
    ].join("\n");
  return () => refusals.map(textOf).join("\n\n");
}

const rejected = (parts: Partial<QuotaFigures> = {}) =>
  ({ kind: "rejected", figures: { ...figures, ...parts } }) as const;
const retry = (
  cause: "unconfirmed" | "lag-limit" | "full-buffer" | "full-status" = "unconfirmed",
  parts: object = {},
) => ({ kind: "retry", cause, figures, ...parts }) as const;
const pending = (awaited: readonly string[], parts: object = {}) =>
  ({ kind: "counts-pending", awaited, figures, ...parts }) as const;
const late = new Map([
  ["c1", 65_000],
  ["c2", 130_000],
]);
const lateForMs = (cellID: string) => late.get(cellID);
const silent = {
  ...figures,
  cells: figures.cells.map((one) => (one.cellID === "c2" ? { ...one, silentForMs: 240_000 } : one)),
};
const oldest = [
  { cellID: "c1", pod: "web\n1", kind: "delete", ageSeconds: 42 },
  { cellID: "c2", pod: undefined, kind: "packed", ageSeconds: 7 },
];
const undrainable = { ...owner, isUndrainable: true };
const restart = "kubectl -n default rollout restart deployment web";

comparesAll(new URL("../told/refusal.txt", import.meta.url), {
  "refusals give the numbers, per cell, and mark a cell without counts": texts(refuse(retry())),
  "refusals name the cells that have not been heard for a while, though they still count": texts(
    ...[rejected(), retry(), pending(["c2", "c4"])].map((verdict) => refuse(verdict, owner, { lateForMs })),
  ),
  "refusals because of silent cells begin with them, and never tell to try again in a few seconds": texts(
    refuse({ kind: "rejected", figures: silent, missed: ["c2"] }),
    refuse({ kind: "retry", cause: "unconfirmed", figures: silent, missed: ["c2"] }),
  ),
  "a cell that fell silent before it had counted is told as silent, not as one that counts in a few seconds": texts(
    refuse(pending(["c1"], { silentForMs: 240_000 })),
  ),
  "refusals by promised deletions name those that have been open longest": texts(
    refuse(retry("unconfirmed", { oldest })),
  ),
  "refusals say what to do when too few replicas are there: wait, scale up, or lower a floor made by hand": texts(
    refuse(rejected()),
  ),
  "refusals by a generated PodProtector name the owner and its fields, and never advise to edit it": texts(
    refuse(rejected(), owner),
  ),
  "refusals say that nothing can ever be admitted where all must stay, and what is there where a pod lacks": texts(
    ...[81, 80, 1, undefined].map((total) => refuse(rejected({ total }))),
    refuse(rejected(), undrainable),
    refuse(rejected(), { ...undrainable, restart }),
  ),
  "refusals by a PodProtector whose owner vanished say so, since there is no owner to change": texts(
    refuse(rejected(), { ...owner, hasVanished: true }),
  ),
  "refusals of an invalid PodProtector say what is wrong, and are no 429, because waiting does not help": texts(
    refuse({ kind: "unusable", reason: "spec.selector: odd" }),
  ),
  "refusals for promised deletions begin with their cause, and say when quota comes back": texts(
    ...(["unconfirmed", "lag-limit", "full-buffer", "full-status"] as const).map((cause) => refuse(retry(cause))),
  ),
  "refusals say which replicas are too few": texts(
    ...(["Scheduled", "Initialized", "Running", "Ready", "Available"] as const).map((criterion) =>
      refuse(rejected({ criterion })),
    ),
  ),
  "refusals that wait for counts name the cells, the pod's own or others": texts(
    refuse(pending(["c1"])),
    refuse(pending(["c4", "c5"])),
    refuse(pending(Array.from({ length: 20 }, (_, index) => `c${index}`))),
  ),
  "refusals for want of a record name the PodProtector and their cause, and have no numbers": texts(
    unrecorded.vanished("core/ns/web"),
    unrecorded.coreUnavailable("core/ns/web", "500"),
    unrecorded.notInTime("core/ns/web", "500"),
    unrecorded.notInTime("core/ns/web", undefined),
    unrecorded.queueFull("core/ns/web"),
  ),
});

test("no refusal teaches the annotation that forces a deletion: whoever may patch pods may use it", () => {
  for (const by of [undefined, owner]) {
    for (const verdict of [
      { kind: "rejected", figures },
      { kind: "retry", cause: "unconfirmed", figures },
      { kind: "counts-pending", awaited: ["c1"], figures },
      { kind: "unusable", reason: "odd" },
    ] as const)
      assert.doesNotMatch(refuse(verdict, by).message, /force/);
  }
});

test("refusals stay readable with many cells and many PodProtectors", () => {
  const cells = Array.from({ length: 500 }, (_, index) => ({
    cellID: `cell-${index}`,
    counts: "in-force" as const,
    aggregated: 1,
    last: 1,
    unconfirmed: 0,
  }));
  const verdict = { kind: "rejected", figures: { ...figures, cells } } as const;
  const one = { id: "core/ns/web", verdict, owner };
  const { message, causes } = refusalOf([one, ...Array.from({ length: 50 }, () => one)], "c1");
  assert.match(message, /492 more cells/);
  const nine = { ...verdict, figures: { ...figures, cells: cells.slice(0, 9) } };
  assert.match(refusalOf([{ ...one, verdict: nine }], "c1").message, /, one more cell/);
  assert.ok(message.length < 1000, `${message.length}`);
  assert.equal(causes.length, 8);
});

test("refusals escape control characters of cell IDs", () => {
  const { message } = refuse({ kind: "counts-pending", awaited: ["c\n1"], figures });
  assert.ok(message.includes('"c\\n1"'));
  assert.ok(!message.includes("\n"));
});

const docs = readFileSync(path.join(import.meta.dirname, "../../../../../docs/refusals.md"), "utf8").replaceAll(
  /\s+/g,
  " ",
);
const cells = (openInOsaka: number): QuotaFigures["cells"] => [
  { cellID: "tokyo", counts: "in-force", aggregated: 3, last: 3, unconfirmed: 0 },
  { cellID: "osaka", counts: "in-force", aggregated: 3, last: 3, unconfirmed: openInOsaka },
];
const figuresOf = (required: number, unconfirmed: number): QuotaFigures => ({
  criterion: "Available",
  required,
  aggregated: 6,
  total: 8,
  unconfirmed,
  outstanding: unconfirmed,
  cells: cells(unconfirmed),
});
const shown: Readonly<Record<string, RefusingVerdict>> = {
  "too few replicas": { kind: "rejected", figures: figuresOf(6, 0) },
  "unconfirmed deletions": { kind: "retry", cause: "unconfirmed", figures: figuresOf(5, 1) },
  "counts of another cell": {
    kind: "counts-pending",
    awaited: ["osaka"],
    figures: {
      ...figuresOf(5, 0),
      aggregated: 3,
      cells: [
        { cellID: "tokyo", counts: "in-force", aggregated: 3, last: 3, unconfirmed: 0 },
        { cellID: "osaka", counts: "other-spec", aggregated: 0, last: 3, unconfirmed: 0 },
      ],
    },
  },
  "an invalid object": {
    kind: "unusable",
    reason:
      "spec.selector.matchExpressions.0.operator: Invalid type: " +
      'Expected ("In" | "NotIn" | "Exists" | "DoesNotExist") but received "Near"',
  },
};
for (const [name, verdict] of Object.entries(shown)) {
  test(`docs/refusals.md shows the message as it is: ${name}`, () => {
    const { message } = refusalOf([{ id: "core/default/deployment-web", verdict, owner }], "tokyo");
    assert.ok(docs.includes(message), message);
  });
}

/** A control sequence of one character, the reversal of what follows, and a length that fills a screen. */
const hostile = `\u{9b}31m\u{202e}${"x".repeat(100_000)}`;

test("a refusal shows cell names without control characters, and no more of them than fit into a message", async () => {
  const cells = Array.from({ length: 9 }, (_, index) => cell(`${index}${hostile}`, 3));
  const { replica } = world([protector({ minAvailable: 5_000, cells })]);
  for (const cellID of [`0${hostile}`, "9".repeat(10_000)]) {
    const answer = await replica.review(deleteReview(pod("p")), { cellID: encodeURIComponent(cellID) });
    assert.equal(answer.allowed, false);
    const text = JSON.stringify(answer.body);
    assert.ok(text.length < 10_000, `${text.length} characters`);
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  }
});

test("ages are told in seconds, minutes and hours, never more than it has been", () => {
  const ages = [-5, 0, 119_999, 120_000, 299_999, 7_199_999, 7_200_000, 90_000_000].map(ageText);
  assert.deepEqual(ages, ["0 s", "0 s", "119 s", "2 min", "4 min", "119 min", "2 h", "25 h"]);
});

for (const [what, ids, missed, expected] of [
  [
    "a silent cell is named with its age",
    ["a", "b"],
    ["b"],
    'cell "b" has been silent for 4 min, so what was counted there is left out; with it there would be room',
  ],
  [
    "at most three silent cells are named",
    ["a", "b", "c", "d", "e"],
    ["a", "b", "c", "d", "e"],
    'cell "a" has been silent for 4 min and cell "b" has been silent for 4 min and cell "c" has been silent ' +
      "for 4 min, and so have 2 more cells, so what was counted there is left out; with it there would be room",
  ],
  [
    "one cell that is not named is one cell",
    ["a", "b", "c", "d"],
    ["a", "b", "c", "d"],
    'cell "a" has been silent for 4 min and cell "b" has been silent for 4 min and cell "c" has been silent ' +
      "for 4 min, and so has one more cell, so what was counted there is left out; with it there would be room",
  ],
] as const) {
  test(what, () => {
    const cells = ids.map((cellID) => ({ ...figures.cells[0]!, cellID, silentForMs: 240_000 }));
    assert.equal(missedText({ ...figures, cells }, missed), expected);
  });
}

test("the advice names the Lease of the cell", () => {
  assert.match(silenceAdvice("Cell-1"), /on its Lease cell-[0-9a-f]{16} in the core cluster keeps the last counts/);
  assert.match(silenceAdvice("no cell"), /of cell "no cell": .* on its Lease keeps the last counts/);
});

test("a refusal in a cell that is being retired says so, and how to keep the cell", () => {
  const { status, message, causes } = refuse({ kind: "cell-silent", silentForMs: 0, isRetiring: true, figures });
  assert.equal(status, "CellSilent");
  assert.match(message, /^PodProtector core\/ns\/web is losing this cell and is temporarily unable to admit/);
  assert.match(message, /: cell "c1" is being retired, so nothing can be recorded there\. Must stay 80, /);
  assert.match(
    message,
    /It is decided within minutes; to keep the cell, take the annotation \S+forget off its Lease cell-/,
  );
  assert.match(causes[0]?.message ?? "", /^The cell of the pod is being retired\. /);
});

const admission = { kind: "admitted", need: "record", isRecorded: false, isRepeated: false } as const;

function failureOf(result: ReservationResult): string | undefined {
  return unrecorded.recordFailure({ kind: "done", result });
}

test("a record that was written, or that nobody needs any more, has not failed", () => {
  assert.equal(failureOf({ kind: "judged", verdict: { ...admission, isRecorded: true } }), undefined);
  assert.equal(failureOf({ kind: "not-in-force" }), undefined);
});

test("a record that was left out has the word of its reason", () => {
  for (const [leftOut, word] of [
    ["full-buffer", "FullBuffer"],
    ["unknown-cell", "UnknownCell"],
  ] as const)
    assert.equal(failureOf({ kind: "judged", verdict: { ...admission, leftOut } }), word);
});

test("a record that its object cannot take has the word of the object's state", () => {
  assert.equal(failureOf({ kind: "vanished" }), "Vanished");
  assert.equal(failureOf({ kind: "unusable", reason: "odd" }), "Unusable");
  assert.equal(failureOf({ kind: "core-unavailable", trouble: "refused" }), "CoreUnavailable");
});

test("a record whose write has failed, came too late or found no room has the word of that", () => {
  assert.equal(unrecorded.recordFailure({ kind: "failed", error: new KubeError("forbidden", "no") }), "forbidden");
  assert.equal(unrecorded.recordFailure({ kind: "cancelled" }), "Cancelled");
  assert.equal(unrecorded.recordFailure({ kind: "overloaded" }), "Overloaded");
});

test("refusals tell of several cells that are not heard in the plural, and name three of them at most", () => {
  const both = figures.cells.map((one) => ({ ...one, unconfirmed: 20 }));
  const { message } = refuse(retry("unconfirmed", { figures: { ...figures, cells: both } }), owner, {
    lateForMs: () => 65_000,
  });
  assert.match(message, /settles when they are heard again/);
  assert.match(message, /Not heard: cell "c1" for 65 s, cell "c2" for 65 s, cell "c3" for 65 s, 2 more\./);
});

test("a refusal by a PodProtector that follows workloads names its own fields, and nothing that overrides them", () => {
  const { name, fields, undone, hasVanished, isUndrainable } = owner;
  const { message } = refuse(rejected(), { name, fields, undone, hasVanished, isUndrainable });
  assert.match(message, /The floor is set by spec\.replicas and \S+ of Deployment default\/web; edits of/);
});
