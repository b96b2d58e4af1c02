import assert from "node:assert/strict";
import { test } from "node:test";
import { choices, list, map } from "../../../../src/config/types/collection-types.ts";
import { formatLabelSelector, parseLabelSelector } from "../../../../src/config/types/label-selector.ts";

const anything = { keyProblem: () => undefined, valueProblem: () => undefined };

test("a list is read from a comma-separated list and from a YAML list", () => {
  assert.deepEqual(list("X").parse("a, b"), { ok: true, value: ["a", "b"] });
  assert.deepEqual(list("X").parse(["a", "b,c"]), { ok: true, value: ["a", "b,c"] });
  assert.deepEqual(list("X").parse(""), { ok: true, value: [] });
});

test("an invalid list is refused", () => {
  for (const input of ["a,,b", ",", "a,a", "a,", { a: "b" }]) assert.equal(list("X").parse(input).ok, false);
  assert.equal(list("X", (item) => (item === "b" ? "is b" : undefined)).parse("a,b").ok, false);
  assert.equal(list("X").parse(Array.from({ length: 10_001 }, String)).ok, false);
});

test("choices are some of a few words, and the nearest one is suggested for a mistyped one", () => {
  const type = choices("X", ["generator", "webhook"]);
  assert.deepEqual(type.parse("webhook,generator"), { ok: true, value: ["webhook", "generator"] });
  const parsed = type.parse("generator,webhok");
  assert(!parsed.ok);
  assert.equal(parsed.suggestion, "webhook");
  assert.equal(type.parse("webhook,webhook").ok, false);
});

test("a map is read from pairs and from a YAML map; only the first equals sign divides", () => {
  assert.deepEqual(map("X", anything).parse("a=b=c, d="), { ok: true, value: { a: "b=c", d: "" } });
  assert.deepEqual(map("X", anything).parse({ a: "b,c" }), { ok: true, value: { a: "b,c" } });
  assert.deepEqual(map("X", anything).parse(""), { ok: true, value: {} });
});

test("a key that is a name of Object is a key like any other", () => {
  const parsed = map("X", anything).parse("__proto__=1,constructor=2");
  assert(parsed.ok);
  assert.deepEqual(Object.entries(parsed.value), [
    ["__proto__", "1"],
    ["constructor", "2"],
  ]);
});

test("an invalid map is refused", () => {
  for (const input of ["a", "=b", "a=1,a=2", "a=1,,b=2"])
    assert.equal(map("X", anything).parse(input).ok, false, input);
  const strict = map("X", {
    keyProblem: (key) => (key === "k" ? undefined : "is not k"),
    valueProblem: (value) => (value === "v" ? undefined : "is not v"),
  });
  assert.equal(strict.parse("k=v").ok, true);
  assert.equal(strict.parse("x=v").ok, false);
  assert.equal(strict.parse("k=x").ok, false);
});

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
