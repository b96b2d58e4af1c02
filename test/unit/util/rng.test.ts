import assert from "node:assert/strict";
import { test } from "node:test";
import { createSystemRng, randomHex, secretHex, uniform } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

test("uniform stays in its half-open range and reaches both ends of it", () => {
  assert.equal(uniform({ next: () => 0 }, 3, 5), 3);
  assert.ok(uniform({ next: () => 0.999999 }, 3, 5) < 5);
  assert.equal(uniform({ next: () => 0.5 }, 3, 5), 4);
  assert.equal(uniform({ next: () => 0.7 }, 2, 2), 2);
});

test("random texts have exactly the digits that were asked for", () => {
  const rng = createSeededRng(1);
  for (const digits of [0, 1, 16]) assert.match(randomHex(rng, digits), new RegExp(`^[0-9a-f]{${digits}}$`));
  assert.equal(new Set(Array.from({ length: 1000 }, () => randomHex(rng, 16))).size, 1000);
  assert.equal(randomHex({ next: () => 1 - Number.EPSILON }, 2), "ff");
});

test("the machine's own numbers are in [0, 1) and not all the same", () => {
  const rng = createSystemRng();
  const numbers = Array.from({ length: 100 }, () => rng.next());
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  assert.ok(new Set(numbers).size > 90);
});

test("a secret has exactly the digits that were asked for, and is another one each time", () => {
  for (const digits of [0, 1, 32]) assert.match(secretHex(digits), new RegExp(`^[0-9a-f]{${digits}}$`));
  assert.notEqual(secretHex(32), secretHex(32));
});
