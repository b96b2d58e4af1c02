import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bool,
  choice,
  durationMs,
  float,
  int,
  labelSelector,
  port,
  text,
} from "../../../../src/config/types/scalar-types.ts";
import { type ValueType, inputText, quote } from "../../../../src/config/types/value-type.ts";
import { formatDuration, parseDurationMs } from "../../../../src/config/types/duration.ts";
import { nearest } from "../../../../src/config/types/nearest.ts";

function reads<T>(type: ValueType<T>, cases: Readonly<Record<string, T>>): void {
  for (const [input, value] of Object.entries(cases)) {
    assert.deepEqual(type.parse(input), { ok: true, value }, input);
    assert.deepEqual(type.parse(type.format(value)), { ok: true, value }, `${input} does not survive being written`);
  }
}
function refuses<T>(type: ValueType<T>, ...inputs: string[]): void {
  for (const input of inputs) assert.equal(type.parse(input).ok, false, input);
}

test("a switch takes the spellings that Go takes", () => {
  reads(bool(), { true: true, T: true, "1": true, TRUE: true, false: false, f: false, "0": false, False: false });
  refuses(bool(), "", "yes", "on", "tRue", "2", " true");
});

test("whole numbers are decimal, in range and without leading zeros", () => {
  reads(int({ min: -5, max: 20 }), { "0": 0, "-5": -5, "20": 20, "+7": 7, "-0": 0 });
  refuses(
    int({ min: -5, max: 20 }),
    "",
    "-6",
    "21",
    "007",
    "0x10",
    "1e1",
    "1.0",
    "1_0",
    "99999999999999999999",
    " 1",
    "NaN",
  );
  reads(port(), { "0": 0, "65535": 65_535 });
  refuses(port(), "-1", "65536");
});

test("decimal numbers are finite and in range", () => {
  reads(float({ min: 0, max: 2000 }), { "0": 0, "1.5": 1.5, ".5": 0.5, "1e3": 1000, "2.": 2 });
  refuses(float({ min: 0, max: 2000 }), "", "-1", "Infinity", "NaN", "1e999", "0x1", "1,5", ".", "2001");
  refuses(float({ min: 0, minExcluded: true, max: 1 }), "0");
});

test("durations have a unit and are in the range of timers", () => {
  reads(durationMs({ min: "zero" }), { "0": 0, "1m30s": 90_000, "596h": 2_145_600_000 });
  refuses(durationMs({ min: "zero" }), "", "10", "-1s", "597h", "1 s");
  refuses(durationMs({ min: "positive" }), "0", "0s");
  reads(durationMs({ min: 10_000 }), { "10s": 10_000 });
  refuses(durationMs({ min: 10_000 }), "9999ms", "0", "-10s");
  assert.match(durationMs({ min: 10_000 }).allowed, /^a duration from 10s to 596h/);
  const parsed = durationMs({ min: "zero" }).parse("10");
  assert(!parsed.ok);
  assert.equal(parsed.problem, "has no unit");
});

test("a choice is one of its words, and the nearest one is suggested for a mistyped one", () => {
  reads(choice("X", ["always", "never"]), { always: "always", never: "never" });
  const parsed = choice("X", ["always", "never"]).parse("nevr");
  assert(!parsed.ok);
  assert.equal(parsed.suggestion, "never");
});

test("a text has no control characters and a maximum length", () => {
  reads(text("X"), { "": "", " a b ": " a b ", "007": "007" });
  refuses(text("X"), "a\nb", "\u0000", "x".repeat(4097));
  refuses(text("X", { allowed: "a", problemOf: (value) => (value === "a" ? undefined : "is not a") }), "b");
});

test("a label selector is read and written", () => {
  reads(labelSelector(), { "": {}, "a=b": { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] } });
  refuses(labelSelector(), "a b");
});

test("a single value cannot be a list or a map", () => {
  for (const type of [text("X"), bool(), port()]) {
    assert.equal(type.parse(["a"]).ok, false);
    assert.equal(type.parse({ a: "b" }).ok, false);
  }
});

const cases: readonly [string, number][] = [
  ["0", 0],
  ["0s", 0],
  ["1h2m3s", 3_723_000],
  ["100ms", 100],
  ["1.5s", 1500],
  [".5s", 500],
  ["1.s", 1000],
  ["1.1s", 1100],
  ["1us", 0.001],
  ["1µs", 0.001],
  ["1μs", 0.001],
  ["1500ns", 0.0015],
  ["-2s", -2000],
  ["+2s", 2000],
  ["1s1s", 2000],
  ["0.1h", 360_000],
];

test("Go's duration syntax is read exactly", () => {
  for (const [text, ms] of cases) assert.equal(parseDurationMs(text), ms, text);
});

test("what Go refuses is refused", () => {
  const bad = ["", "1", "s", ".s", "1x", "1 s", "1,5s", "1s ", "--1s", "1e3s", "1S", "∞", "٣s", `${"1".repeat(70)}s`];
  for (const text of bad) assert.equal(parseDurationMs(text), undefined, text);
});

test("durations are written as Go writes them", () => {
  const texts: readonly [number, string][] = [
    [0, "0s"],
    [0.000001, "1ns"],
    [0.0015, "1.5us"],
    [1.5, "1.5ms"],
    [100, "100ms"],
    [1500, "1.5s"],
    [75_000, "1m15s"],
    [60_000, "1m0s"],
    [3_723_000, "1h2m3s"],
    [3_600_000, "1h0m0s"],
    [-1500, "-1.5s"],
  ];
  for (const [ms, text] of texts) assert.equal(formatDuration(ms), text);
});

test("what is written is read back", () => {
  for (const [, ms] of cases) assert.equal(parseDurationMs(formatDuration(ms)), ms);
});

test("a quoted input is one line of at most 80 characters without control characters", () => {
  assert.equal(quote("a\nb\u001b[31m\u009b\u2028"), '"a\\nb\\u001b[31m\\u009b\\u2028"');
  assert.equal(quote("x".repeat(500)).length, 78);
  assert(quote("x".repeat(500)).endsWith('…"'));
});

test("lists and maps are shown as on the command line, and never wholly when they are huge", () => {
  assert.equal(inputText(["a", "b"]), "a,b");
  assert.equal(inputText({ a: "1", b: "" }), "a=1,b=");
  assert.equal(quote({ a: "1" }), '"a=1"');
  const huge = Array.from({ length: 100_000 }, () => "y".repeat(1000));
  assert(quote(huge).length <= 80);
});

test("the nearest word has the fewest edits", () => {
  assert.equal(nearest("webhok", ["generator", "webhook"]), "webhook");
});

test("the case of letters makes no difference", () => {
  assert.equal(nearest("WEBHOOK", ["generator", "webhook"]), "webhook");
  assert.equal(nearest("podprotectors", ["PodProtectors"]), "PodProtectors");
});

test("a word is not near that shares little more than its length", () => {
  assert.equal(nearest("maybe", ["true", "false"]), undefined);
  assert.equal(nearest("nope", ["role", "config"]), undefined);
});

test("nothing is suggested when nothing is near, there is nothing to choose from, or the word is empty or huge", () => {
  assert.equal(nearest("zzzzzz", ["generator", "webhook"]), undefined);
  assert.equal(nearest("a", []), undefined);
  assert.equal(nearest("", ["a"]), undefined);
  assert.equal(nearest("a".repeat(201), ["a".repeat(200)]), undefined);
});
