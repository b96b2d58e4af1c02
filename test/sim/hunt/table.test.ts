import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown, renderText } from "./table.ts";

const table = {
  title: "Beds",
  header: ["room", "beds", "free beds"],
  rows: [
    ["attic", "12", "3"],
    ["cellar", "4", "0"],
  ],
};

test("names stand left and figures right, in aligned columns", () => {
  assert.equal(
    renderText(table, 80),
    ["Beds", "room    beds  free beds", "attic     12          3", "cellar     4          0"].join("\n"),
  );
});

test("where the table is too wide, each row becomes a record whose lines fit", () => {
  assert.equal(
    renderText(table, 15),
    ["Beds", "attic", "  beds 12", "  free beds 3", "cellar", "  beds 4", "  free beds 0"].join("\n"),
  );
  assert.equal(renderText(table, 22).split("\n")[2], "  beds 12  free beds 3");
});

test("markdown aligns figures right", () => {
  assert.equal(
    renderMarkdown(table),
    [
      "**Beds**",
      "",
      "| room | beds | free beds |",
      "| --- | ---: | ---: |",
      "| attic | 12 | 3 |",
      "| cellar | 4 | 0 |",
    ].join("\n"),
  );
});
