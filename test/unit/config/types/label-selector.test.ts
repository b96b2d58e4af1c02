import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLabelSelector, parseLabelSelector } from "../../../../src/config/types/label-selector.ts";

const parse = (text: string) => {
  const parsed = parseLabelSelector(text);
  assert(parsed.ok, text);
  return parsed.value;
};

test("the empty string selects everything", () => {
  assert.deepEqual(parse(""), {});
  assert.deepEqual(parse("  "), {});
});

test("every form of requirement is read", () => {
  assert.deepEqual(parse("a=b, c==d,e!=f , example.com/g in (h, i,h),j notin (k),l,!m,! n,o=,p in (q,)"), {
    matchExpressions: [
      { key: "a", operator: "In", values: ["b"] },
      { key: "c", operator: "In", values: ["d"] },
      { key: "e", operator: "NotIn", values: ["f"] },
      { key: "example.com/g", operator: "In", values: ["h", "i"] },
      { key: "j", operator: "NotIn", values: ["k"] },
      { key: "l", operator: "Exists" },
      { key: "m", operator: "DoesNotExist" },
      { key: "n", operator: "DoesNotExist" },
      { key: "o", operator: "In", values: [""] },
      { key: "p", operator: "In", values: ["q", ""] },
    ],
  });
});

test("an invalid selector is refused, with the invalid part", () => {
  for (const text of [
    ",",
    "a,",
    "a in",
    "a in b",
    "a in (b",
    "a in (b))",
    "a b",
    "=b",
    "a=b=c",
    "a=-b",
    "-a",
    "a/b/c",
    "!a=b",
    "(a)",
  ]) {
    const parsed = parseLabelSelector(text);
    assert(!parsed.ok, text);
    assert.match(parsed.problem, /is not a label selector/);
  }
});

test("numeric comparison is refused, since a LabelSelector cannot express it", () => {
  const parsed = parseLabelSelector("a>5");
  assert(!parsed.ok);
  assert.match(parsed.problem, /< or >/);
});

test("an oversized selector is refused without being parsed", () => {
  assert(!parseLabelSelector("a,".repeat(5001)).ok);
});

test("what is written is read back", () => {
  const selector = parse("a=b,c!=d,e in (f,g),h notin (i,j),k,!l");
  assert.equal(formatLabelSelector(selector), "a=b,c!=d,e in (f,g),h notin (i,j),k,!l");
  assert.deepEqual(parse(formatLabelSelector(selector)), selector);
  assert.equal(
    formatLabelSelector({ matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] }),
    "a=b,c",
  );
});
