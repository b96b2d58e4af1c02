import assert from "node:assert/strict";
import { test } from "node:test";
import { reportPage, type ReportData } from "../../../scripts/demo/report/page.ts";
import { sampleChart } from "./sample-chart.ts";

const data: ReportData = {
  date: "2026-01-02 03:04 UTC",
  services: [
    {
      name: "search",
      replicas: 12,
      floor: 9,
      lowestWith: 10,
      lowestWithout: 1,
      deletions: { tried: 77, admitted: 2, refused: 71, unanswered: 4 },
    },
  ],
  charts: [sampleChart],
  verdict: { exitCode: 0, sentences: ["Every floor held."] },
  refusal: "PodProtector shop/<a> refuses",
  remarks: [{ atMs: 1500, text: "a <remark>" }],
};

test("the page needs nothing from elsewhere and runs no script", () => {
  const page = reportPage(data);
  assert.doesNotMatch(page, /https?:|<script|<link|@import|url\(|src=/);
  assert.match(page, /^<!doctype html>/);
});

test("the page holds a chart and a row for each service, in light and dark", () => {
  const page = reportPage(data);
  assert.match(page, /<svg /);
  assert.match(
    page,
    /<td>search<\/td><td>12<\/td><td>9<\/td>.*>10<.*>1<.*<td>77<\/td><td>2<\/td><td>71<\/td><td>4<\/td>/,
  );
  assert.match(page, /prefers-color-scheme: dark/);
  assert.match(page, /1\.5 s<\/time><span>a &lt;remark&gt;</);
});

test("the page says that all floors held only when there is no problem", () => {
  assert.match(reportPage(data), /Every floor held/);
  assert.match(reportPage(data), /class="verdict">/);
  const broken = reportPage({ ...data, verdict: { exitCode: 1, sentences: ["search fell to 8"] } });
  assert.doesNotMatch(broken, /Every floor held/);
  assert.match(broken, /class="verdict broken"><p>search fell to 8/);
});

test("the page quotes what a refused request was told, and leaves that out when nothing was refused", () => {
  assert.match(reportPage(data), /<blockquote>PodProtector shop\/&lt;a&gt; refuses</);
  assert.doesNotMatch(reportPage({ ...data, refusal: undefined }), /<blockquote>/);
});
