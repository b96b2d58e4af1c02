import assert from "node:assert/strict";
import { test } from "node:test";
import { renderFrame } from "../../../scripts/demo/view/live.ts";
import { sampleService, sampleState } from "./sample-state.ts";
import { type DemoState } from "../../../scripts/demo/view/state.ts";
import { createStyle } from "../../../scripts/demo/view/style.ts";

const style = createStyle({ colour: false, utf8: false });
const size = { columns: 80, rows: 24 };

function lineWith(lines: readonly string[], text: string): string {
  const line = lines.find((candidate) => candidate.includes(text));
  assert.ok(line !== undefined, `no line with ${text}`);
  return line;
}

const fullState: DemoState = {
  ...sampleState,
  act: { title: "Act", words: "many words ".repeat(40).trim() },
  services: Array.from({ length: 3 }, () => ({
    ...sampleService,
    cells: Array.from({ length: 3 }, () => sampleService),
  })),
  reviews: { admitted: 123_456, refused: 123_456, waiting: 1234, unanswered: 1234 },
  remarks: Array.from({ length: 30 }, (_, index) => ({ atMs: index * 1000, text: "a long remark ".repeat(12) })),
};

test("a frame of three services in three cells fits 80 columns and 24 rows, however much happened", () => {
  const lines = renderFrame(fullState, size, style);
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length < 80, `${line.length}: ${line}`);
  assert.match(lines.join("\n"), /generator up/);
  assert.match(lines.at(-1) ?? "", /29\.0 s {2}a long remark/);
});

test("a larger terminal shows the newest remarks below", () => {
  const lines = renderFrame(fullState, { columns: 120, rows: 40 }, style);
  assert.ok(lines.length <= 40);
  assert.match(lines.at(-1) ?? "", /29\.0 s {2}a long remark/);
  assert.ok(lines.filter((line) => line.includes("a long remark")).length > 10);
});

test("a frame says how much is available, where the floor is and how low it went", () => {
  assert.match(lineWith(renderFrame(sampleState, size, style), "search"), / 93\/120 {2}floor {2}90 {2}lowest {2}91$/);
});

test("a bar is as long as its share, and marks the floor", () => {
  const bar = /[#.|]{10,}/.exec(lineWith(renderFrame(sampleState, size, style), "search"))?.[0] ?? "";
  assert.equal(bar.indexOf("|") + 1, Math.round(bar.length * 0.75));
  assert.equal(bar.replaceAll(".", "").length, Math.round((bar.length * 93) / 120));
});

test("a bar of no pods is empty, and one of a single pod of many is not", () => {
  const bars = [0, 1].map((available) => {
    const service = { ...sampleService, floor: undefined, lowest: undefined, available, replicas: 1000, cells: [] };
    return lineWith(renderFrame({ ...sampleState, services: [service] }, size, style), "search");
  });
  assert.doesNotMatch(bars[0]!, /#/);
  assert.match(bars[1]!, / #\./);
});

test("a surge above the replicas does not make the bar longer", () => {
  const surge = { ...sampleState, services: [{ ...sampleService, available: 150 }] };
  const length = (state: DemoState): number =>
    (/[#.|]{10,}/.exec(lineWith(renderFrame(state, size, style), "search"))?.[0] ?? "").length;
  assert.equal(length(surge), length(sampleState));
});

test("a cell says how many of its pods are surge, and nothing when there are none", () => {
  const cells = [
    { name: "worker-1", available: 66, replicas: 50 },
    { name: "worker-2", available: 70, replicas: 70 },
  ];
  const lines = renderFrame({ ...sampleState, services: [{ ...sampleService, cells }] }, size, style);
  assert.match(lineWith(lines, "worker-1"), / 66\/50 {2}\+16 surge$/);
  assert.match(lineWith(lines, "worker-2"), / 70\/70$/);
});

test("a service under its floor is red, on it yellow, above it green", () => {
  const colours = createStyle({ colour: true, utf8: true });
  const toneOf = (available: number): string => {
    const state = { ...sampleState, services: [{ ...sampleService, available }] };
    return /\u001B\[(3\d)m/.exec(lineWith(renderFrame(state, size, colours), "search"))?.[1] ?? "";
  };
  assert.deepEqual([89, 90, 91].map(toneOf), ["31", "33", "32"]);
});

test("without colour there is no escape sequence", () => {
  assert.doesNotMatch(renderFrame(sampleState, size, style).join(""), /\u001B/);
});

test("each process is shown with its state, those of one role together", () => {
  assert.match(
    lineWith(renderFrame(sampleState, size, style), "generator"),
    /generator up {3}aggregator up \.\. {3}update-trigger up {3}webhook dead up/,
  );
});

test("without processes the frame says that Podseidon is off", () => {
  const lines = renderFrame({ ...sampleState, roles: [] }, size, style);
  assert.match(lines.join("\n"), /Podseidon is off/);
  assert.match(lineWith(lines, "deletions"), /nobody is asked/);
});

test("reviews without answer are shown as soon as there are some", () => {
  assert.doesNotMatch(renderFrame(sampleState, size, style).join("\n"), /no answer/);
  const reviews = { ...sampleState.reviews, unanswered: 3 };
  assert.match(
    lineWith(renderFrame({ ...sampleState, reviews }, size, style), "deletions"),
    /admitted 80 {3}refused 1300 {3}waiting 7 {3}no answer 3$/,
  );
});
