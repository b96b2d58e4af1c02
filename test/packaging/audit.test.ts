import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAudit } from "../../scripts/audit.ts";

const report = (counts: Readonly<Record<string, number>>, vulnerabilities = {}): string =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata: { vulnerabilities: counts } });

test("a high or critical vulnerability fails, and its package is named", () => {
  const found = { "left-pad": { severity: "critical" }, other: { severity: "low" } };
  const verdict = judgeAudit(report({ low: 1, high: 0, critical: 1, total: 2 }, found));
  assert.deepEqual(verdict, { isFailure: true, text: "1 critical: left-pad (npm audit says more)" });
});

test("lesser ones do not fail, and are counted", () => {
  const verdict = judgeAudit(report({ low: 3, moderate: 1, high: 0, critical: 0, total: 4 }));
  assert.deepEqual(verdict, { isFailure: false, text: "4 known vulnerabilities, none high" });
});

test("a registry that answers no audits is said, and fails nothing", () => {
  for (const output of ["", "not JSON", "null", JSON.stringify({ error: { summary: "" } })]) {
    const verdict = judgeAudit(output);
    assert.deepEqual(verdict, { isFailure: false, text: "NOT CHECKED: the registry answers no audits" });
  }
});
