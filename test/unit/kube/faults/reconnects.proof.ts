import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, startInformer } from "./informer-rig.ts";
import { startRig } from "./rig.ts";

/** Bytes of heap in use after a full collection. */
function usedHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

test("a thousand reconnects over sockets leave no socket, timer or memory behind", async (t) => {
  const rig = await startRig(t);
  const { informer, stop } = await startInformer(t, rig);
  const resources = (): number => process.getActiveResourcesInfo().length;
  let before: { heap: number; sockets: number; timers: number; resources: number } | undefined;
  for (let reconnect = 1; reconnect <= 1_500; reconnect++) {
    const seen = rig.requests();
    // A look at the version, then the watch.
    if (reconnect % 50 === 0) await create(rig, `item-${reconnect}`);
    rig.server.dropWatches();
    await rig.until(() => rig.requests() === seen + 2 && rig.server.openWatches === 1, "the next watch");
    // By the 500th, what is made once is there: buffers, compiled code.
    if (reconnect !== 500 && reconnect !== 1_500) continue;
    const now = {
      heap: usedHeapBytes(),
      sockets: rig.server.openConnections,
      timers: rig.clock.pendingTimers,
      resources: resources(),
    };
    before ??= now;
    assert.deepEqual([now.sockets, now.timers], [1, before.timers]);
    assert.ok(now.resources <= before.resources + 2, `${now.resources} handles after ${before.resources}`);
    // A thousand leaked sockets or streams are 5 MB and more. What compiled code and buffers take goes up and down by
    // 1.3 MB, as measured over 3,500 reconnects.
    assert.ok(now.heap - before.heap < 3_000_000, `${now.heap - before.heap} bytes more`);
  }
  assert.equal(informer.size, 30);
  await stop();
  await rig.until(() => rig.server.openConnections === 0, "the connection is closed");
  assert.equal(rig.clock.pendingTimers, 0);
});
