import assert from "node:assert/strict";
import { it } from "node:test";
import { live } from "./life.ts";

it("a life is the same each time it is lived", async () => {
  const [first, second] = [await live({ seed: 3 }), await live({ seed: 3 })];
  assert.equal(first.digest, second.digest);
});

it("no floor is broken and all quota comes back, whatever goes wrong", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { failure, recent } = await live({ seed });
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.message}\n${recent.join("\n")}`);
  }
});
