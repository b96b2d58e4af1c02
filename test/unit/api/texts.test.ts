import assert from "node:assert/strict";
import { test } from "node:test";
import { isCellID } from "../../../src/api/cell-id.ts";
import { labelValueProblem } from "../../../src/config/types/kubernetes-names.ts";
import { cellOfGateWarning, gateWarning, releaseOfWarning, releaseWarning } from "../../../src/api/gate-warning.ts";
import { ignoredAnnotationText } from "../../../src/api/ignored-annotation.ts";
import { failedCallStatus } from "../../../src/api/failed-call.ts";
import {
  CallerTally,
  formatCallerCounts,
  parseCallerCounts,
  withoutCallerCounts,
} from "../../../src/api/caller-counts.ts";

test("a cell ID has 1 to 63 letters, digits, dashes, underscores and dots, and no sign at its ends", () => {
  for (const text of ["a", "7", "default", "eu-west.1", "Zelle_7", "a--b", "x".repeat(63)])
    assert(isCellID(text), text);
  for (const text of ["", "-a", "a-", ".", "..", ".a", "a_", "a b", "a/b", "a,b", "a=b", "a%20b", "x".repeat(64)])
    assert(!isCellID(text), text);
});

test("a cell ID has no letters beyond ASCII, no control characters and no second line", () => {
  for (const text of ["zelle-ä", "a\n", "\na", "a\nb", "a\0b", "a\u001bb", "a\u202eb", "ａ"])
    assert(!isCellID(text), JSON.stringify(text));
});

test("every cell ID is a value of a label", () => {
  const texts = ["a", "A.b_c-9", "x".repeat(63), "", "a-", "x".repeat(64), "a/b", "ä"];
  for (const text of texts) assert.equal(isCellID(text), text !== "" && labelValueProblem(text) === undefined, text);
});

test("the warning of a webhook says for which cell it was called, and is read back", () => {
  assert.equal(gateWarning("worker-1"), "podseidon: reviewed as cell worker-1");
  assert.equal(cellOfGateWarning(gateWarning("worker-1")), "worker-1");
});

test("a second warning says the release, and neither is taken for the other", () => {
  assert.equal(releaseOfWarning(releaseWarning("0.1.0 (abc)")), "0.1.0 (abc)");
  assert.equal(cellOfGateWarning(releaseWarning("0.1.0 (abc)")), undefined);
  assert.equal(releaseOfWarning(gateWarning("a")), undefined);
});

test("the warning of another webhook names no cell", () => {
  assert.equal(cellOfGateWarning("allowed by force-delete or dry-run: podseidon: reviewed as cell a"), undefined);
  assert.equal(cellOfGateWarning(""), undefined);
});

test("an ignored annotation is quoted, cut where it is long, with what is allowed", () => {
  const text = (value: string) => ignoredAnnotationText({ annotation: "a/b", value, allowed: "true" });
  assert.equal(text('"no'), 'Ignoring the annotation a/b="\\"no": it must be true');
  assert.equal(text("x".repeat(99)), `Ignoring the annotation a/b="${"x".repeat(64)}…": it must be true`);
  assert.equal(text("\u009b31m\u202eno"), 'Ignoring the annotation a/b="?31m?no": it must be true');
});

test("a failed call is a Status with the reason that Kubernetes has for its code", () => {
  assert.deepEqual(failedCallStatus(401, "who are you?"), {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "who are you?",
    reason: "Unauthorized",
    code: 401,
  });
});

/** `callers`: each as often as its number says. */
function tallyOf(callers: Readonly<Record<string, number>>): CallerTally {
  const tally = new CallerTally();
  for (const [caller, count] of Object.entries(callers)) for (let i = 0; i < count; i += 1) tally.add(caller);
  return tally;
}
const textOf = (callers: Readonly<Record<string, number>>, elapsedMs = 0): string =>
  formatCallerCounts(tallyOf(callers).counts(elapsedMs));

test("callers are named with their counts, those with the most first", () => {
  assert.equal(
    textOf({ alice: 11, "system:serviceaccount:fed:runaway": 240 }, 59_001),
    "Refused 251 deletions in 60 s (by system:serviceaccount:fed:runaway 240, alice 11)",
  );
  assert.equal(textOf({ alice: 1 }), "Refused 1 deletion in 1 s (by alice 1)");
});

test("five callers are named, and the others are counted together", () => {
  const callers = { a: 9, b: 8, c: 7, d: 6, e: 5, f: 2, g: 1 };
  assert.equal(textOf(callers, 1_000), "Refused 38 deletions in 1 s (by a 9, b 8, c 7, d 6, e 5, others 3)");
});

test("of any number of callers the memory and the text are bounded", () => {
  const tally = new CallerTally();
  for (let index = 0; index < 10_000; index += 1) tally.add(`${"x".repeat(1_000)}${index}`);
  for (let index = 0; index < 10_000; index += 1) tally.add(`caller-${index}`);
  const counts = tally.counts(5_000);
  assert.equal(counts.total, 20_000);
  assert.equal(counts.callers.length, 5);
  assert.equal(
    counts.callers.reduce((sum, { count }) => sum + count, counts.others),
    20_000,
  );
  assert.ok(formatCallerCounts(counts).length < 700);
});

test("a name that is no plain word is quoted, and shows nothing that a terminal would act on", () => {
  assert.equal(
    textOf({ 'a", b 7): "x': 2, others: 1, "jürgen (CN=x)": 1, "red\u001b[31m": 1 }),
    'Refused 5 deletions in 1 s (by "a?, b 7): ?x" 2, "others" 1, "jürgen (CN=x)" 1, "red?[31m" 1)',
  );
});

test("what was written is read again, whatever follows it", () => {
  for (const callers of [
    { alice: 1 },
    { "system:node:n-1.example": 3, "kubernetes-admin": 2 },
    { a: 9, b: 8, c: 7, d: 6, e: 5, f: 2, others: 1 },
    { "Jane Doe, admins 3": 2, 'quote"': 1, "": 1 },
  ]) {
    const counts = tallyOf(callers).counts(61_000);
    assert.deepEqual(parseCallerCounts(`${formatCallerCounts(counts)}; last: Deletion of pod p (by eve 9)`), counts);
  }
});

test("another text is none of a refusal", () => {
  for (const text of [
    "",
    "It is invalid, so pod deletions are denied",
    "Refused 2 deletions in 3 s (by alice 2",
    "Refused 2 deletions in 3 s (by alice)",
    'Refused 2 deletions in 3 s (by "alice 2)',
    "Refused 2 deletions in 3 s (by alice 2, )",
    "Refused many deletions in 3 s (by alice 2)",
    " Refused 2 deletions in 3 s (by alice 2)",
  ])
    assert.equal(parseCallerCounts(text), undefined, text);
});

test("what follows the counts is told without them, and another text stays whole", () => {
  const counts = textOf({ "a, b 7); last: x": 2, alice: 1 });
  assert.equal(withoutCallerCounts(`${counts}; last: Deletion of pod p: no`), "last: Deletion of pod p: no");
  assert.equal(withoutCallerCounts("Refused; last: x"), "Refused; last: x");
});
