import assert from "node:assert/strict";
import { test } from "node:test";
import { type Environment, readSettings, type Settings } from "./settings.ts";

function good(environment: Environment): Settings {
  const read = readSettings(environment);
  assert.ok(read.ok, read.ok ? "" : read.problem);
  return read.settings;
}

function problem(environment: Environment): string {
  const read = readSettings(environment);
  assert.ok(!read.ok, "these settings are bad");
  return read.problem;
}

test("without settings a hunt of one minute begins at seed 1, without overrides", () => {
  const { mode, minutes, firstSeed, overrides } = good({ SEED: "" });
  assert.deepEqual({ mode, minutes, firstSeed, overrides }, { mode: "hunt", minutes: 1, firstSeed: 1, overrides: {} });
});

test("a wrong number is answered with the variable, its value and what is allowed", () => {
  assert.equal(problem({ MINUTES: "soon" }), 'MINUTES="soon": a number of at least 0 is needed');
  assert.equal(problem({ SEED: "1.5" }), 'SEED="1.5": a whole number of at least 0 is needed');
  assert.equal(problem({ SEEDS: "0" }), 'SEEDS="0": a whole number of at least 1 is needed');
  assert.match(problem({ MINUTES: "Infinity" }), /^MINUTES="Infinity"/);
});

test("only one kind of run may be asked for at a time", () => {
  assert.equal(good({ REPORT: "1", SPEED: "0" }).mode, "report");
  assert.match(problem({ REPORT: "1", SPEED: "1" }), /^SPEED="1": not together with REPORT=1/);
  assert.match(problem({ REPORT: "yes" }), /^REPORT="yes": 1 or 0 is needed/);
});

test("a shrinker needs the seed that fails", () => {
  assert.match(problem({ SHRINK: "1" }), /^SEED="": SHRINK=1 needs the seed/);
  assert.equal(good({ SHRINK: "1", SEED: "7" }).firstSeed, 7);
});

test("ONLY names fault classes, or none", () => {
  assert.deepEqual(good({ ONLY: "crashes, edits" }).overrides.only, ["crashes", "edits"]);
  assert.deepEqual(good({ ONLY: "none" }).overrides.only, []);
  assert.match(problem({ ONLY: "crashes,typhoons" }), /^ONLY="crashes,typhoons": none, or some of latency/);
});

test("PLAN overrides fields of the plan with values of their kind", () => {
  assert.deepEqual(good({ PLAN: '{"cells":["a"],"webhooks":1}' }).overrides.plan, { cells: ["a"], webhooks: 1 });
  assert.match(problem({ PLAN: "{" }), /a JSON object is needed, with some of cells/);
  assert.match(problem({ PLAN: '{"clusters":1}' }), /a JSON object is needed/);
  assert.match(problem({ PLAN: '{"webhooks":"1"}' }), /webhooks must be like/);
});

test("FORMAT is text or markdown", () => {
  assert.equal(good({ FORMAT: "markdown" }).format, "markdown");
  assert.match(problem({ FORMAT: "html" }), /^FORMAT="html": text or markdown is needed/);
});
