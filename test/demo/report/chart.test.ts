import assert from "node:assert/strict";
import { test } from "node:test";
import { chartSvg, escapeXml, stairPath } from "../../../scripts/demo/report/chart.ts";
import { sampleChart } from "./sample-chart.ts";

const exact = { x: (atMs: number): number => atMs, y: (value: number): number => value };

test("a line is a staircase that goes down to the lowest of each slot", () => {
  const points = [
    { atMs: 0, lowest: 12, last: 12 },
    { atMs: 100, lowest: 7, last: 11 },
  ];
  assert.equal(stairPath(points, exact), "M0 12H100V7V11");
});

test("text from outside cannot break the picture", () => {
  assert.equal(escapeXml(`a<b>&"c"`), "a&lt;b&gt;&amp;&quot;c&quot;");
  assert.doesNotMatch(chartSvg({ ...sampleChart, marks: [{ atMs: 1, text: "<script>" }] }), /<script>/);
});

test("a chart has both lines, the floor, the acts and the marks", () => {
  const svg = chartSvg(sampleChart);
  for (const part of [
    /class="line with"/,
    /class="line without"/,
    /class="floorline"/,
    />floor 9</,
    />The disaster</,
    />kill -9</,
  ]) {
    assert.match(svg, part);
  }
});

test("the floor is drawn above zero and below the replicas", () => {
  const svg = chartSvg(sampleChart);
  const [top, bottom] = [...svg.matchAll(/class="grid"[^>]* y1="([\d.]+)"/g)]
    .map((found) => Number(found[1]))
    .sort((a, b) => a - b);
  const floor = Number(/class="floorline"[^>]* y1="([\d.]+)"/.exec(svg)?.[1]);
  assert.ok(top! < floor && floor < bottom!, `${top} ${floor} ${bottom}`);
});

test("labels at the ends of lines do not touch, also when a line ends on its floor", () => {
  const heights = [...chartSvg(sampleChart).matchAll(/class="label [a-z]+"[^>]* y="([\d.]+)"/g)].map((found) =>
    Number(found[1]),
  );
  assert.equal(heights.length, 3);
  for (const [index, height] of heights.entries()) assert.ok(index === 0 || height - heights[index - 1]! >= 14);
});

test("a surge above the replicas stays inside the picture", () => {
  const surge = [{ atMs: 0, lowest: 12, last: 15 }];
  const path = /class="line with" d="([^"]+)"/.exec(chartSvg({ ...sampleChart, withPodseidon: surge }))?.[1] ?? "";
  const highest = Math.min(...[...path.matchAll(/V([\d.]+)/g)].map((found) => Number(found[1])));
  assert.ok(highest > 0, path);
});
