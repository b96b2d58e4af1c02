import assert from "node:assert/strict";
import { test } from "node:test";
import { createSelectorIndex } from "../../../src/label-index/selector-index.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { describeSelectorIndex } from "./contract.ts";
import { createNaiveSelectorIndex } from "./naive.ts";
import { pick, randomLabels, randomSelector } from "./random-world.ts";
import { isIn } from "./selector-cases.ts";

describeSelectorIndex("naive scan", createNaiveSelectorIndex);
describeSelectorIndex("selector index", createSelectorIndex);

test("an invalid selector is refused with the key and the fault", () => {
  assert.deepEqual(createSelectorIndex().track("it", { matchExpressions: [{ key: "app", operator: "In" }] }), {
    ok: false,
    reason: 'key "app": operator In needs values',
  });
});

test("a selector index keeps no reference to a selector object that its owner changes later", () => {
  const index = createSelectorIndex();
  const values = ["web"];
  index.track("it", { matchExpressions: [{ key: "app", operator: "In", values }] });
  values[0] = "api";
  assert.deepEqual(index.query({ app: "web" }), ["it"]);
  assert.equal(index.untrack("it"), true);
});

test("a selector with 64^20 combinations of values is tracked without spelling them out", () => {
  const index = createSelectorIndex();
  const values = Array.from({ length: 64 }, (_, value) => `v${value}`);
  const keys = Array.from({ length: 20 }, (_, key) => `k${key}`);
  index.track("it", { matchExpressions: keys.map((key) => isIn(key, ...values)) });
  assert.deepEqual(index.query(Object.fromEntries(keys.map((key) => [key, "v63"]))), ["it"]);
  assert.equal(index.untrack("it"), true);
});

test("a selector and labels with 20,000 keys do not overflow the stack", () => {
  const index = createSelectorIndex();
  const labels = Object.fromEntries(Array.from({ length: 20_000 }, (_, key) => [`k${key}`, ""]));
  index.track("it", { matchLabels: labels });
  assert.deepEqual(index.query(labels), ["it"]);
});

test("a selector index answers as a naive scan does through 3,000 random histories", () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const rng = createSeededRng(seed);
    const real = createSelectorIndex();
    const naive = createNaiveSelectorIndex();
    for (let step = 0; step < 24; step++) {
      const name = pick(rng, ["p", "q", "r", "s", "t", "u"]);
      const dice = rng.next();
      if (dice < 0.5) {
        const selector = randomSelector(rng);
        assert.equal(real.track(name, selector).ok, naive.track(name, selector).ok, `seed ${seed}`);
      } else if (dice < 0.6) {
        assert.equal(real.untrack(name), naive.untrack(name), `seed ${seed}`);
      } else {
        const labels = randomLabels(rng);
        assert.deepEqual(
          real.query(labels).toSorted(),
          naive.query(labels).toSorted(),
          `seed ${seed}: ${JSON.stringify(labels)}`,
        );
      }
      assert.equal(real.size, naive.size, `seed ${seed}`);
    }
  }
});
