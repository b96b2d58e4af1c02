import assert from "node:assert/strict";
import { test } from "node:test";
import { Alphabet } from "../../../src/label-index/alphabet.ts";

const app = { key: "app", value: undefined };
const web = { key: "app", value: "web" };
const api = { key: "app", value: "api" };
const tier = { key: "tier", value: undefined };

test("an alphabet spells only the letters that are in use", () => {
  const alphabet = new Alphabet();
  const word = alphabet.acquire([app, web]);
  assert.deepEqual(alphabet.spell({ app: "web", zone: "a" }), word);
  assert.deepEqual(alphabet.spell({ zone: "a" }), []);
  assert.equal(alphabet.spell({ app: "api" }).length, 1);
});

test("equal letters get the same number, in ascending order", () => {
  const alphabet = new Alphabet();
  alphabet.acquire([web]);
  alphabet.acquire([tier]);
  assert.deepEqual(alphabet.acquire([tier, web]), alphabet.spell({ app: "web", tier: "x" }));
  const word = alphabet.acquire([tier, api, web]);
  assert.deepEqual(
    word,
    word.toSorted((a, b) => a - b),
  );
});

test("a letter is freed with its last use", () => {
  const alphabet = new Alphabet();
  const both = alphabet.acquire([app, web]);
  const one = alphabet.acquire([web]);
  assert.equal(alphabet.spell({ app: "web" }).length, 2);
  alphabet.release(both);
  assert.equal(alphabet.spell({ app: "web" }).length, 1);
  alphabet.release(one);
  assert.deepEqual(alphabet.spell({ app: "web" }), []);
});

test("releasing a letter that is not in use is a programmer error", () => {
  assert.throws(() => new Alphabet().release([0]), /not in use/);
});
