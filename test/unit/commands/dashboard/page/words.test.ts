import assert from "node:assert/strict";
import { test } from "node:test";
import { loadModule } from "./modules.ts";

interface Words {
  readonly ageText: (milliseconds: number) => string;
  readonly capital: (text: string) => string;
  readonly counted: (number: number, one: string, many?: string) => string;
}

const { ageText, capital, counted } = await loadModule<Words>("words.js");

test("an age has one unit, and is never negative", () => {
  for (const [seconds, text] of [
    [-5, "0 s"],
    [0.4, "0 s"],
    [99, "99 s"],
    [100, "2 min"],
    [99 * 60, "99 min"],
    [3 * 3600, "3 h"],
    [47 * 3600, "47 h"],
    [72 * 3600, "3 d"],
  ] as const)
    assert.equal(ageText(seconds * 1000), text);
});

test("states begin with a capital, and OK is written as people write it", () => {
  assert.equal(capital("below floor"), "Below floor");
  assert.equal(capital("ok"), "OK");
});

test("numbers agree with their nouns and are grouped", () => {
  assert.equal(counted(1, "entry", "entries"), "1 entry");
  assert.equal(counted(12480, "entry", "entries"), "12,480 entries");
});
