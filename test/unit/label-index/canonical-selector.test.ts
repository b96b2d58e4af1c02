import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type LabelSelector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { compileSelector, formatSelector, matches } from "../../../src/label-index/canonical-selector.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { naiveIsValid, naiveMatches } from "./naive.ts";
import { randomLabels, randomSelector } from "./random-world.ts";
import { absent, exists, isIn, notIn, selectorCases } from "./selector-cases.ts";

function compiled(selector: LabelSelector) {
  const result = compileSelector(selector);
  assert.ok(result.ok);
  return result.selector;
}

function text(selector: LabelSelector): string {
  return formatSelector(compiled(selector));
}

describe("compiled selector", () => {
  for (const { sentence, selector, matches: matching, rejects } of selectorCases) {
    test(sentence, () => {
      for (const labels of matching) assert.equal(matches(compiled(selector), labels), true, JSON.stringify(labels));
      for (const labels of rejects) assert.equal(matches(compiled(selector), labels), false, JSON.stringify(labels));
    });
  }

  test("a compiled selector matches as the naive reading does for 20,000 random pairs", () => {
    const rng = createSeededRng(7);
    let matched = 0;
    for (let round = 0; round < 20_000; round++) {
      const selector = randomSelector(rng);
      const result = compileSelector(selector);
      assert.equal(result.ok, naiveIsValid(selector));
      if (!result.ok) continue;
      const labels = randomLabels(rng);
      const expected = naiveMatches(selector, labels);
      if (expected) matched++;
      assert.equal(matches(result.selector, labels), expected, JSON.stringify({ selector, labels }));
    }
    assert.ok(matched > 2000 && matched < 18_000, `the worlds must be mixed: ${matched}`);
  });

  for (const [reason, requirement] of [
    ['key "app": unknown operator "in"', { key: "app", operator: "in", values: ["x"] }],
    ['key "app": operator In needs values', { key: "app", operator: "In" }],
    ['key "app": operator NotIn needs values', { key: "app", operator: "NotIn", values: [] }],
    ['key "app": operator Exists takes no values', { key: "app", operator: "Exists", values: ["x"] }],
    ['key "app": operator DoesNotExist takes no values', { key: "app", operator: "DoesNotExist", values: ["x"] }],
  ] as const) {
    test(`an invalid selector is refused with the reason ${reason}`, () => {
      const selector = { matchExpressions: [exists("tier"), requirement] } as unknown as LabelSelector;
      assert.deepEqual(compileSelector(selector), { ok: false, reason });
    });
  }
});

describe("canonical text", () => {
  test("the canonical text has the syntax of kubectl's selector argument", () => {
    assert.equal(
      text({
        matchLabels: { tier: "front" },
        matchExpressions: [notIn("zone", "b", "a"), absent("debug"), exists("app")],
      }),
      "app,!debug,tier in (front),zone notin (a,b)",
    );
  });

  test("the canonical text shows that nothing or everything matches", () => {
    assert.equal(text({}), "");
    assert.equal(text({ matchExpressions: [exists("a"), absent("a")] }), "<nothing>");
  });

  const spellings: readonly (readonly [string, LabelSelector, LabelSelector])[] = [
    ["the order of matchLabels", { matchLabels: { a: "1", b: "2" } }, { matchLabels: { b: "2", a: "1" } }],
    [
      "the order of matchExpressions",
      { matchExpressions: [exists("a"), absent("b")] },
      { matchExpressions: [absent("b"), exists("a")] },
    ],
    [
      "the order and repetition of values",
      { matchExpressions: [isIn("a", "x", "y")] },
      { matchExpressions: [isIn("a", "y", "x", "y")] },
    ],
    ["matchLabels against In of one value", { matchLabels: { a: "x" } }, { matchExpressions: [isIn("a", "x")] }],
    [
      "a redundant Exists",
      { matchExpressions: [isIn("a", "x")] },
      { matchExpressions: [exists("a"), isIn("a", "x"), exists("a")] },
    ],
    [
      "one NotIn or several",
      { matchExpressions: [notIn("a", "x", "y")] },
      { matchExpressions: [notIn("a", "y"), notIn("a", "x")] },
    ],
    [
      "the intersection spelled out",
      { matchLabels: { a: "y" } },
      { matchExpressions: [isIn("a", "x", "y"), isIn("a", "y", "z")] },
    ],
    ["empty lists", {}, { matchLabels: {}, matchExpressions: [] }],
    [
      "one contradiction or another",
      { matchExpressions: [exists("a"), absent("a")] },
      { matchExpressions: [isIn("b", "x"), isIn("b", "y")] },
    ],
  ];
  for (const [what, one, other] of spellings) {
    test(`the canonical text is the same whatever ${what}`, () => {
      assert.equal(text(one), text(other));
    });
  }

  test("the canonical text quotes what would read as something else", () => {
    assert.equal(text({ matchLabels: { a: "x,b" } }), 'a in ("x,b")');
    assert.notEqual(text({ matchLabels: { a: "x,y" } }), text({ matchExpressions: [isIn("a", "x", "y")] }));
    assert.notEqual(
      text({ matchExpressions: [exists("a,b")] }),
      text({ matchExpressions: [exists("a"), exists("b")] }),
    );
    assert.notEqual(text({ matchLabels: { a: "" } }), text({ matchExpressions: [exists("a")] }));
    assert.notEqual(text({ matchExpressions: [exists("<nothing>")] }), "<nothing>");
  });

  test("the canonical text differs whenever two random selectors differ in some label set", () => {
    const rng = createSeededRng(11);
    const labelSets = Array.from({ length: 300 }, () => randomLabels(rng));
    const meaningByText = new Map<string, string>();
    for (let round = 0; round < 5000; round++) {
      const selector = randomSelector(rng);
      if (!naiveIsValid(selector)) continue;
      const meaning = labelSets.map((labels) => (naiveMatches(selector, labels) ? "1" : "0")).join("");
      const canonical = text(selector);
      assert.equal(meaningByText.get(canonical) ?? meaning, meaning, canonical);
      meaningByText.set(canonical, meaning);
    }
  });
});
