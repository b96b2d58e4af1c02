import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type QuotaFigures } from "../../../../../src/accounting/reserve/quota-figures.ts";
import { cell, deleteReview, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";
import { type FloorOwner } from "../../../../../src/webhook/decide/refusals/floor-owner.ts";
import { refusalOf, type RefusingVerdict } from "../../../../../src/webhook/decide/refusals/refusal.ts";

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
const refuse = (verdict: RefusingVerdict, owner?: FloorOwner) =>
  refusalOf([{ id: "core/ns/web", verdict, owner }], "c1");
const owner: FloorOwner = {
  name: "Deployment default/web",
  fields: "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable",
  overrides: "its annotation podseidon.kubewharf.io/min-available or podseidon.kubewharf.io/max-unavailable",
  undone: "edits of the PodProtector",
  hasVanished: false,
  isUndrainable: false,
};

test("refusals give the numbers, per cell, and mark a cell without counts", () => {
  const { message, causes } = refuse({ kind: "retry", cause: "unconfirmed", figures });
  const numbers =
    'Must stay 80, available 100, promised 20, free 0; by cell: "c1" 50 - 20, "c2" 50, "c3" not counted, ' +
    '"c4" not counted (7 by an earlier spec) - 1, "c5" not counted (6 before a restore)';
  assert.ok(message.includes(numbers), message);
  assert.equal(causes[0]?.message, numbers);
});

test("refusals name the cells that have not been heard for a while, though they still count", () => {
  const late = new Map([
    ["c1", 65_000],
    ["c2", 130_000],
  ]);
  const lateForMs = (cellID: string) => late.get(cellID);
  const refused = (verdict: RefusingVerdict) =>
    refusalOf([{ id: "core/ns/web", verdict, owner, lateForMs }], "c1").message;
  const rejected = refused({ kind: "rejected", figures });
  const retry = refused({ kind: "retry", cause: "unconfirmed", figures });
  const pending = refused({ kind: "counts-pending", awaited: ["c2", "c4"], figures });
  assert.match(rejected, /^PodProtector core\/ns\/web reports too few available replicas/);
  assert.match(
    retry,
    /^PodProtector core\/ns\/web hears nothing of cell "c1" and is temporarily unable to admit pod deletion: after the/,
  );
  assert.match(retry, /\. What is promised in cell "c1" settles when it is heard again\. Not heard: cell "c1"/);
  assert.match(pending, /^PodProtector core\/ns\/web hears nothing of cell "c2" and is temporarily unable to/);
  for (const message of [rejected, retry, pending]) {
    assert.doesNotMatch(message, /in a few seconds/);
    assert.match(
      message,
      /\. Not heard: cell "c1" for 65 s, cell "c2" for 2 min\. If that goes on, check the aggregator there$/,
    );
  }
});

test("refusals because of silent cells begin with them, and never tell to try again in a few seconds", () => {
  const cells = figures.cells.map((one) => (one.cellID === "c2" ? { ...one, silentForMs: 240_000 } : one));
  const silent = { ...figures, cells };
  for (const verdict of [
    { kind: "rejected", figures: silent, missed: ["c2"] },
    { kind: "retry", cause: "unconfirmed", figures: silent, missed: ["c2"] },
  ] as const) {
    const { message } = refuse(verdict);
    assert.match(
      message,
      /^PodProtector core\/ns\/web has no news of cell "c2" and is temporarily unable to admit pod/,
    );
    assert.match(message, /cell "c2" has been silent for 4 min/);
    assert.doesNotMatch(message, /in a few seconds/);
  }
});

test("a cell that fell silent before it had counted is told as silent, not as one that counts in a few seconds", () => {
  const { message } = refuse({ kind: "counts-pending", awaited: ["c1"], figures, silentForMs: 240_000 });
  assert.match(message, /^PodProtector core\/ns\/web has no news of this cell and is temporarily unable to admit /);
  assert.match(
    message,
    /: nothing has been heard from cell "c1" for 4 min, and it had not counted what the PodProtector selects now\./,
  );
  assert.match(message, /Check the aggregator of cell "c1"/);
  assert.doesNotMatch(message, /in a few seconds/);
});

test("refusals say when quota comes back", () => {
  const { message } = refuse({ kind: "retry", cause: "unconfirmed", figures });
  assert.match(
    message,
    /Try again in a few seconds: a promised deletion settles a second or two after its pod begins to terminate;/,
  );
  assert.match(message, /one that is not carried out settles after about 15 s \(evictions: 2 min\)$/);
});

test("refusals by promised deletions name those that have been open longest", () => {
  const oldest = [
    { cellID: "c1", pod: "web\n1", kind: "delete", ageSeconds: 42 },
    { cellID: "c2", pod: undefined, kind: "packed", ageSeconds: 7 },
  ] as const;
  const { message } = refuse({ kind: "retry", cause: "unconfirmed", figures, oldest });
  assert.match(
    message,
    /\. Promised longest: delete of pod "web\\n1" in cell "c1", 42 s ago; packed pods in cell "c2", 7 s ago$/,
  );
});

test("refusals say what to do when too few replicas are there: wait, scale up, or lower a floor made by hand", () => {
  const { message, code, reason } = refuse({ kind: "rejected", figures });
  const advice =
    "Wait until more than 80 replicas are available. " +
    "If none is on its way, scale the workload up, or lower spec.minAvailable of the PodProtector";
  assert.ok(message.endsWith(advice), message);
  assert.deepEqual([code, reason], [429, "TooManyRequests"]);
});

test("refusals by a generated PodProtector name the owner and its fields, and never advise to edit it", () => {
  const { message } = refuse({ kind: "rejected", figures }, owner);
  const advice =
    "Wait until more than 80 replicas are available. The floor is set by " +
    "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable of Deployment default/web, or by its annotation " +
    "podseidon.kubewharf.io/min-available or podseidon.kubewharf.io/max-unavailable; " +
    "edits of the PodProtector are undone";
  assert.ok(message.endsWith(advice), message);
  assert.ok(!message.includes("minAvailable"), message);
});

test("refusals say that nothing can ever be admitted where all must stay, and what is there where a pod lacks", () => {
  const advice = (total: number | undefined, by?: FloorOwner): string =>
    refuse({ kind: "rejected", figures: { ...figures, total } }, by).message;
  assert.match(advice(81), /\. Wait until more than 80 replicas are available\./);
  assert.match(
    advice(80),
    /\. Only 80 replicas exist now: no available one may go until there are more than 80\. If none/,
  );
  assert.match(advice(1), /\. Only 1 replica exists now: no available one may go until there are more than 80\./);
  const never =
    "All replicas must stay, so outside rolling updates no deletion of an available one can ever be admitted";
  assert.ok(advice(undefined, { ...owner, isUndrainable: true }).includes(never));
  assert.doesNotMatch(advice(undefined), /ever/);
  const restart = "kubectl -n default rollout restart deployment web";
  const movable = advice(undefined, { ...owner, isUndrainable: true, restart });
  assert.ok(movable.includes(`${never}. To move the pods: ${restart}. The floor is set by`), movable);
});

test("refusals by a PodProtector whose owner vanished say so, since there is no owner to change", () => {
  const { message } = refuse({ kind: "rejected", figures }, { ...owner, hasVanished: true });
  assert.match(
    message,
    /The floor was set by Deployment default\/web, which vanished without being deleted: create it again$/,
  );
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

test("refusals of an invalid PodProtector say what is wrong, and are no 429, because waiting does not help", () => {
  const refusal = refuse({ kind: "unusable", reason: "spec.selector: odd" });
  assert.deepEqual([refusal.status, refusal.code, refusal.reason], ["ProtectorUnusable", 503, "ServiceUnavailable"]);
  assert.match(
    refusal.message,
    /^PodProtector core\/ns\/web is invalid, so pod deletions are denied: spec\.selector: odd\. Fix/,
  );
  assert.deepEqual(refusal.causes, [
    { reason: "UnusablePodProtector", message: "spec.selector: odd", field: "core/ns/web" },
  ]);
});

test("refusals for promised deletions begin with their cause", () => {
  const unable = "and is temporarily unable to admit pod deletion";
  for (const [cause, reason, beginning] of [
    [
      "unconfirmed",
      "UnconfirmedAdmissions",
      `has promised all pods that may go ${unable}: ` +
        "after the promised deletions fewer than the 80 that must stay could be left.",
    ],
    [
      "lag-limit",
      "MaxConcurrentLag",
      `has promised as many deletions as maxConcurrentLag permits ${unable}: ` +
        "no other is admitted before one of them has settled.",
    ],
    ["full-buffer", "FullBuffer", `has full admission buffer ${unable}: the admission history of cell "c1" is full.`],
    [
      "full-status",
      "FullBuffer",
      `has full admission buffer ${unable}: ` +
        "the admission history of all cells together is as large as the object may be.",
    ],
  ] as const) {
    const refusal = refuse({ kind: "retry", cause, figures });
    assert.equal(refusal.status, "RetryAdvised");
    assert.equal(refusal.causes[0]?.reason, reason);
    assert.ok(refusal.message.startsWith(`PodProtector core/ns/web ${beginning}`), refusal.message);
    assert.match(refusal.message, /Try again in a few seconds/);
  }
});

test("refusals say which replicas are too few", () => {
  for (const criterion of ["Scheduled", "Initialized", "Running", "Ready", "Available"] as const) {
    const { message, audit } = refuse({ kind: "rejected", figures: { ...figures, criterion } });
    assert.ok(message.startsWith(`PodProtector core/ns/web reports too few ${criterion.toLowerCase()} replicas`));
    assert.equal(audit["criterion"], criterion);
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

test("refusals that wait for counts name the cells, the pod's own or others", () => {
  const own = refuse({ kind: "counts-pending", awaited: ["c1"], figures });
  assert.match(own.message, /has no counts of cell "c1" and .*: the aggregator of cell "c1" has not counted the pods/);
  const others = refuse({ kind: "counts-pending", awaited: ["c4", "c5"], figures });
  assert.equal(others.status, "CountsPending");
  assert.match(others.message, /^PodProtector core\/ns\/web has no counts of cells "c4", "c5" and is temporarily/);
  assert.match(others.message, /there may be enough replicas, but these aggregators have not counted/);
  assert.equal(others.causes[0]?.reason, "CountsPending");
  assert.match(others.causes[0].message, /^No counts of cells "c4", "c5"\. Must stay 80, available 100, /);
  const many = Array.from({ length: 20 }, (_, index) => `c${index}`);
  assert.match(refuse({ kind: "counts-pending", awaited: many, figures }).message, /"c6", "c7" and 12 more and is/);
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
