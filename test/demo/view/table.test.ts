import assert from "node:assert/strict";
import { test } from "node:test";
import { createStyle } from "../../../scripts/demo/view/style.ts";
import { resultTable } from "../../../scripts/demo/view/table.ts";

const deletions = { tried: 123_456, admitted: 30, refused: 123_400, unanswered: 26 };

test("the table has one row for each service, under headings that stand above their columns", () => {
  const services = [{ name: "checkout", replicas: 45, floor: 34, lowestWith: 35, lowestWithout: 0, deletions }];
  const lines = resultTable(services, createStyle({ colour: false, utf8: false }));
  const headings = lines[1] ?? "";
  const row = lines[3] ?? "";
  assert.deepEqual(row.trim().split(/ +/), ["checkout", "45", "34", "35", "0", "123456", "30", "123400", "26"]);
  for (const [heading, value] of [
    ["floor", "34"],
    ["without", "0"],
    ["refused", "123400"],
    ["no answer", "26"],
  ] as const) {
    const end = headings.indexOf(heading) + heading.length;
    assert.equal(row.slice(end - value.length, end), value);
  }
  for (const line of lines) assert.ok(line.length <= 80, `${line.length}: ${line}`);
});

test("what held its floor is green and what fell under it is red", () => {
  const services = [{ name: "checkout", replicas: 45, floor: 34, lowestWith: 34, lowestWithout: 33, deletions }];
  const lines = resultTable(services, createStyle({ colour: true, utf8: true }));
  assert.match(lines.at(-1) ?? "", /\u001B\[32m +34\u001B\[0m\u001B\[31m +33\u001B\[0m/);
});
