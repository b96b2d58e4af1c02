import assert from "node:assert/strict";
import { test } from "node:test";
import { type Labels } from "../../../src/api/pod.ts";
import { type LabelSelector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { compileSelector } from "../../../src/label-index/canonical-selector.ts";
import { type LabelIndex } from "../../../src/label-index/label-index.ts";
import { createLabelSetIndex } from "../../../src/label-index/label-set-index.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { describeLabelSetIndex } from "./contract.ts";
import { createNaiveLabelSetIndex, naiveIsValid } from "./naive.ts";
import { pick, randomLabels, randomSelector } from "./random-world.ts";

/** The real index behind the contract's query by uncompiled selector. */
function createCompilingIndex(): LabelIndex<Labels, LabelSelector, void> {
  const index = createLabelSetIndex();
  return {
    track: (name, labels) => index.track(name, labels),
    untrack: (name) => index.untrack(name),
    query(selector, max) {
      const compiled = compileSelector(selector);
      assert.ok(compiled.ok);
      return index.query(compiled.selector, max);
    },
    get size() {
      return index.size;
    },
  };
}

describeLabelSetIndex("naive scan", createNaiveLabelSetIndex);
describeLabelSetIndex("label set index", createCompilingIndex);

test("a label-set index keeps no reference to a label object that its owner changes later", () => {
  const index = createCompilingIndex();
  const labels: Record<string, string> = { app: "web" };
  index.track("a", labels);
  labels["app"] = "api";
  assert.deepEqual(index.query({ matchLabels: { app: "web" } }), ["a"]);
  assert.equal(index.untrack("a"), true);
  assert.deepEqual(index.query({}), []);
});

test("a query checks no more label sets than the rarest requirement leaves", () => {
  let checks = 0;
  class CountingSet extends Set<string> {
    override has(value: string): boolean {
      checks++;
      return super.has(value);
    }
  }
  const index = createLabelSetIndex();
  for (let pod = 0; pod < 100; pod++) index.track(`${pod}`, { app: "web", pod: `${pod}`, zone: "a" });
  const requirements = [
    { kind: "in", key: "app", values: new CountingSet(["web"]) },
    { kind: "in", key: "pod", values: new Set(["7", "8"]) },
    { kind: "exists", key: "zone", except: new Set<string>() },
  ] as const;
  assert.deepEqual(index.query({ kind: "requirements", requirements }), ["7", "8"]);
  assert.equal(checks, 2);
});

test("a label-set index answers as a naive scan does through 3,000 random histories", () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const rng = createSeededRng(seed);
    const real = createCompilingIndex();
    const naive = createNaiveLabelSetIndex();
    for (let step = 0; step < 24; step++) {
      const name = pick(rng, ["p", "q", "r", "s", "t", "u"]);
      const dice = rng.next();
      if (dice < 0.5) {
        const labels = randomLabels(rng);
        real.track(name, labels);
        naive.track(name, labels);
      } else if (dice < 0.6) {
        assert.equal(real.untrack(name), naive.untrack(name), `seed ${seed}`);
      } else {
        const selector = randomSelector(rng);
        if (!naiveIsValid(selector)) continue;
        assert.deepEqual(
          real.query(selector).toSorted(),
          naive.query(selector).toSorted(),
          `seed ${seed}: ${JSON.stringify(selector)}`,
        );
      }
      assert.equal(real.size, naive.size, `seed ${seed}`);
    }
  }
});
