import assert from "node:assert/strict";
import { test } from "node:test";
import { type Group } from "../../../../src/commands/check/finding.ts";
import { countsOf, reportJson, reportText } from "../../../../src/commands/check/report.ts";

const long = "the webhook configuration calls /worker-1, but the aggregator of this cluster reports as another cell";
const groups: readonly Group[] = [
  { title: "core", findings: [{ check: "crd", level: "ok", text: "the CRD keeps all fields" }] },
  {
    title: "worker-1",
    findings: [
      {
        check: "webhook-cell",
        level: "fail",
        text: long,
        cure: "end the URL with /worker-2",
        command: "podseidon cells",
        page: "docs/cells.md#names",
      },
      { check: "gate", level: "unchecked", text: "the gate: not checked" },
    ],
  },
  { title: "nothing", findings: [] },
];

test("a report fits 80 columns, and each finding is followed by its cure and its page", () => {
  assert.equal(
    reportText(groups, { columns: 80, isColoured: false }),
    `core
  ok    the CRD keeps all fields
worker-1
  FAIL  the webhook configuration calls /worker-1, but the aggregator of this
        cluster reports as another cell
        -> end the URL with /worker-2
      podseidon cells
        docs/cells.md#names
  ?     the gate: not checked
1 failure; 1 not checked
`,
  );
});

test("a wider terminal has longer lines, up to 120 columns", () => {
  const lines = (columns: number): number => reportText(groups, { columns, isColoured: false }).split("\n").length;
  assert.ok(lines(120) < lines(80));
  assert.equal(lines(300), lines(120));
});

test("colours surround words and change none", () => {
  const text = reportText(groups, { columns: 80, isColoured: true });
  assert.match(text, /\u001b\[31mFAIL\u001b\[0m {2}the webhook/);
  assert.match(text, /\n\u001b\[31m1 failure\u001b\[0m; 1 not checked\n$/);
  assert.equal(text.replaceAll(/\u001b\[\d+m/g, ""), reportText(groups, { columns: 80, isColoured: false }));
});

test("text of others cannot steer the terminal", () => {
  const findings = [{ check: "protectors", level: "warn", text: "a\u001b[2Jb\nc" }] as const;
  assert.match(
    reportText([{ title: "x\u0007", findings }], { columns: 80, isColoured: false }),
    /^x\?\n {2}warn {2}a\?\[2Jb\?c\n1 warning\n$/,
  );
});

test("nothing wrong is said in words", () => {
  assert.match(reportText(groups.slice(0, 1), { columns: 80, isColoured: false }), /no failures, no warnings\n$/);
});

test("a program gets all findings with their groups, and the counts", () => {
  const read = JSON.parse(reportJson(groups)) as { failures: number; warnings: number; findings: readonly object[] };
  assert.equal(read.failures, countsOf(groups).fail);
  assert.equal(read.warnings, 0);
  assert.deepEqual(read.findings[1], { group: "worker-1", ...groups[1]?.findings[0] });
});
