import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, comparisonText, type Turn } from "./comparison.ts";

/** Turns of one row: its ratio in each, of the base and of this commit. */
function turnsOf(what: string, ...pairs: readonly (readonly [base: number, own: number])[]): Turn[] {
  return pairs.map(([base, own]) => ({ base: [{ what, ratio: base }], own: [{ what, ratio: own }] }));
}

function only(turns: readonly Turn[]) {
  const { rows, unpaired } = compare(turns);
  assert.equal(rows.length, 1);
  assert.deepEqual(unpaired, []);
  return rows[0]!;
}

test("a row has the medians of its turns, and the spread of the pairs", () => {
  const row = only(turnsOf("a write", [1, 2], [4, 4], [2, 3]));
  assert.deepEqual(row, { what: "a write", base: 2, own: 3, ratio: 1.5, least: 1, most: 2, isWorse: false });
});

test("the median of two turns is their mean", () => {
  const { base, own } = only(turnsOf("a write", [1, 5], [3, 7]));
  assert.deepEqual([base, own], [2, 6]);
});

const verdicts: readonly (readonly [verdict: string, isWorse: boolean, pairs: [number, number][]])[] = [
  [
    "worse by 4 % in each turn is worse",
    true,
    [
      [1, 0.96],
      [1, 0.95],
      [1, 0.97],
    ],
  ],
  [
    "worse by 2 % in each turn is not",
    false,
    [
      [1, 0.98],
      [1, 0.98],
      [1, 0.98],
    ],
  ],
  [
    "worse by 10 % in the median, and better in one turn, is not",
    false,
    [
      [1, 0.9],
      [1, 0.8],
      [1, 1.01],
    ],
  ],
  [
    "worse by 10 % on a machine that became twice as slow is worse",
    true,
    [
      [1, 0.9],
      [0.5, 0.45],
      [0.5, 0.45],
    ],
  ],
  [
    "better in each turn is not",
    false,
    [
      [1, 1.2],
      [1, 1.3],
      [1, 1.4],
    ],
  ],
];
for (const [verdict, isWorse, pairs] of verdicts) {
  test(`a row that is ${verdict}`, () => {
    assert.equal(only(turnsOf("a write", ...pairs)).isWorse, isWorse);
  });
}

test("rows are paired whose names differ in what was measured, and those that differ in size are kept apart", () => {
  const run = (history: number) => [
    { what: `refusals after ${history} admissions`, ratio: 1 },
    { what: "a query, 1000", ratio: 2 },
    { what: "a query, 10,000", ratio: 3 },
  ];
  const { rows, unpaired } = compare([{ base: run(800), own: run(801) }]);
  assert.deepEqual(
    rows.map(({ what }) => what),
    ["refusals after # admissions", "a query, 1000", "a query, 10,000"],
  );
  assert.deepEqual(unpaired, []);
});

test("a row is named and not compared that one of the two has not, or that has no ratio in one turn", () => {
  const turns = [
    {
      base: [
        { what: "old", ratio: 1 },
        { what: "torn", ratio: 1 },
      ],
      own: [
        { what: "new", ratio: 1 },
        { what: "torn", ratio: null },
      ],
    },
  ];
  const { rows, unpaired } = compare(turns);
  assert.deepEqual(rows, []);
  assert.deepEqual(unpaired.toSorted(), ["new", "old", "torn"]);
});

test("the table has a line for each row, marks what is worse, and says how many are", () => {
  const turns = [
    {
      base: [
        { what: "a write", ratio: 2 },
        { what: "a read", ratio: 1 },
      ],
      own: [
        { what: "a write", ratio: 1 },
        { what: "a read", ratio: 1.5 },
      ],
    },
  ];
  assert.equal(
    comparisonText(turns, "abc1234"),
    [
      "| row, 1 turns (higher is better) | abc1234 | this | this / abc1234 |",
      "|---|---:|---:|---:|",
      "| a write | 2 | 1 | 0.50 (0.50..0.50) **WORSE** |",
      "| a read | 1 | 1.5 | 1.50 (1.50..1.50) |",
      "",
      "1 of 2 rows are worse by more than 3 %",
    ].join("\n"),
  );
});
