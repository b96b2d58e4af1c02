import assert from "node:assert/strict";
import { test } from "node:test";
import { readLcov } from "./coverage.ts";

test("branches are summed by file, and the lines of those never taken are listed once", () => {
  const text = [
    "SF:src/core/a.ts",
    "BRDA:1,0,0,5",
    "BRDA:9,1,0,0",
    "BRDA:9,2,0,0",
    "BRDA:4,3,0,-",
    "BRF:4",
    "BRH:1",
    "end_of_record",
    "SF:src/core/b.ts",
    "end_of_record",
    "",
  ].join("\n");
  assert.deepEqual(readLcov(text), [
    { file: "src/core/a.ts", branches: 4, reached: 1, missedLines: [4, 9] },
    { file: "src/core/b.ts", branches: 0, reached: 0, missedLines: [] },
  ]);
});
