import assert from "node:assert/strict";
import { test } from "node:test";
import { SmallSet } from "../../../src/label-index/small-set.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

test("a small set holds what a Set holds, through random additions and deletions", () => {
  const rng = createSeededRng(1);
  const small = new SmallSet<string>();
  const real = new Set<string>();
  for (let step = 0; step < 2_000; step++) {
    const item = String(Math.floor(rng.next() * 4));
    if (rng.next() < 0.5) {
      small.add(item);
      real.add(item);
    } else if (real.delete(item)) {
      small.delete(item);
    }
    assert.deepEqual([...small].toSorted(), [...real].toSorted());
    assert.equal(small.size, real.size);
  }
});

test("a small set refuses to delete what it does not hold", () => {
  const small = new SmallSet<string>();
  assert.throws(() => small.delete("a"), /not in the set/);
  small.add("a");
  assert.throws(() => small.delete("b"), /not in the set/);
  small.add("c");
  assert.throws(() => small.delete("b"), /not in the set/);
  assert.deepEqual([...small], ["a", "c"]);
});
