import assert from "node:assert/strict";
import { test } from "node:test";
import { ageText } from "../../../../src/commands/text/age.ts";

test("an age is told in its two largest units", () => {
  const cases: readonly (readonly [number, string])[] = [
    [-5_000, "0 s"],
    [0, "0.0 s"],
    [340, "0.3 s"],
    [9_949, "9.9 s"],
    [9_950, "10 s"],
    [59_499, "59 s"],
    [59_500, "1 m 00 s"],
    [242_000, "4 m 02 s"],
    [3_599_499, "59 m 59 s"],
    [3_600_000, "1 h 00 m"],
    [11_100_000, "3 h 05 m"],
    [187_200_000, "2 d 04 h"],
  ];
  for (const [ms, text] of cases) assert.equal(ageText(ms), text);
});
