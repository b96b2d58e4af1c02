import assert from "node:assert/strict";
import { test } from "node:test";
import { impossibleLines, readLcov } from "./coverage.ts";

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

test("only branches that TypeScript proves to be impossible do not count", () => {
  const source = [
    "    default:",
    "      return assertNever(kind);",
    "    default:",
    "      kind satisfies never;",
    "    default:",
    "      return kind;",
    "    default:",
    "      throw new Error(`${assertNever(kind)}`);",
  ].join("\n");
  assert.deepEqual([...impossibleLines(source)], [1, 3]);
  const isImpossible = (file: string, line: number): boolean => file === "src/core/a.ts" && line === 9;
  const [file] = readLcov("SF:src/core/a.ts\nBRDA:1,0,0,5\nBRDA:9,1,0,0\nend_of_record", isImpossible);
  assert.deepEqual(file, { file: "src/core/a.ts", branches: 1, reached: 1, missedLines: [] });
});
