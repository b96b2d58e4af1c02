import assert from "node:assert/strict";
import { test } from "node:test";
import { Kernel } from "./kernel.ts";

test("a world fails instead of never ending when one waits for no time at all, again and again", async () => {
  const kernel = new Kernel(1);
  const again = (): void => void kernel.schedule(0, again);
  kernel.schedule(5, again);
  await kernel.run(1_000);
  assert.match(kernel.failure?.message ?? "", /time stands still/);
  assert.equal(kernel.nowMs, 5);
});
