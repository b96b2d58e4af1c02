import assert from "node:assert/strict";
import { test } from "node:test";
import { Kernel } from "./kernel.ts";
import { epochMs, SimNode } from "./node.ts";

test("a world fails instead of never ending when one waits for no time at all, again and again", async () => {
  const kernel = new Kernel(1);
  const again = (): void => void kernel.schedule(0, again);
  kernel.schedule(5, again);
  await kernel.run(1_000);
  assert.match(kernel.failure?.message ?? "", /time stands still/);
  assert.equal(kernel.nowMs, 5);
});

test("a suspended machine runs nothing, its monotonic clock stands still, and its timers are that late", async () => {
  const kernel = new Kernel(1);
  const node = new SimNode(kernel, "sleeper", { offsetMs: 0, rate: 1 });
  const woken: (readonly [atMs: number, monotonicMs: number, epochMs: number])[] = [];
  const note = (): void => {
    const { clock } = node;
    woken.push([kernel.nowMs, clock.monotonicMs(), clock.epochMicros() / 1000 - epochMs]);
  };
  node.clock.setTimer(100, note);
  node.clock.setTimer(5000, note);
  node.clock.setTimer(7000, note).cancel();
  kernel.schedule(50, () => node.suspendFor(1000));
  kernel.schedule(60, () => node.execute(note));
  kernel.schedule(2000, () => node.suspendFor(1000));
  await kernel.run(20_000);
  assert.deepEqual(woken, [
    [1050, 50, 1050],
    [1100, 100, 1100],
    [7000, 5000, 7000],
  ]);
});
