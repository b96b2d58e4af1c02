import assert from "node:assert/strict";
import { test } from "node:test";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { ProtectorWatch } from "../../../../src/aggregator/watching/protector-watch.ts";
import { type Informer, type InformerHandler } from "../../../../src/kube/informer.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { longAgo } from "../../../../src/util/clock.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { at } from "../../../support/moment.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { version } from "../../accounting/samples.ts";

interface Bench {
  readonly clock: VirtualClock;
  readonly watch: ProtectorWatch;
  readonly handler: InformerHandler<StoredProtector>;
  readonly relists: unknown[];
  answer: ResourceVersion;
  resets: number;
}

function started(): Bench {
  const clock = createVirtualClock();
  const handlers: InformerHandler<StoredProtector>[] = [];
  const relists: unknown[] = [];
  const protectors: Pick<Informer<StoredProtector>, "subscribe" | "relist"> = {
    subscribe: (handler) => void handlers.push(handler),
    relist: (options) => void relists.push(options),
  };
  const watch = new ProtectorWatch({
    protectors: protectors as Informer<StoredProtector>,
    listBarrier: async () => self.answer,
    clock,
    logger: silentLogger,
    historyResets: { inc: () => void (self.resets += 1) },
  });
  const self: Bench = { clock, watch, handler: handlers[0]!, relists, answer: version(10), resets: 0 };
  watch.barriers.start(new AbortController().signal);
  return self;
}

test("the first list is a barrier from the moment when it was asked for", async () => {
  const { clock, watch, handler } = started();
  await clock.advance(5);
  watch.starting();
  await clock.advance(20);
  assert.equal(watch.barriers.passedSentAtMs, longAgo);
  handler.onProgress?.(version(8));
  handler.onListed?.(true, undefined);
  assert.equal(watch.barriers.passedSentAtMs, 5);
  handler.onListed?.(false, undefined);
  assert.equal(watch.barriers.passedSentAtMs, 5, "no later list is one by itself");
});

test("a barrier is passed when the watch reaches its version, by an event, a bookmark or a list", async () => {
  const { clock, watch, handler } = started();
  handler.onProgress?.(version(9));
  watch.barriers.want(at(0));
  await clock.advance(10);
  assert.equal(watch.barriers.waitingSinceMs, 1);
  handler.onProgress?.(version(10));
  assert.equal(watch.barriers.waitingSinceMs, undefined);
  assert.equal(watch.barriers.passedSentAtMs, 1);
});

test("a list that somebody needs now is asked for without a pause", () => {
  const { watch, relists } = started();
  watch.barriers.relist();
  assert.deepEqual(relists, [{ isPaced: true }]);
});

test("a barrier below the watch means a restored core: all are listed again, which is a barrier", async () => {
  const bench = started();
  const { clock, watch, handler, relists } = bench;
  handler.onProgress?.(version(20));
  watch.barriers.want(at(0));
  await clock.advance(10);
  assert.equal(bench.resets, 1);
  assert.deepEqual(relists, [undefined]);
  assert.equal(watch.barriers.passedSentAtMs, longAgo);
  await clock.advance(100);
  handler.onProgress?.(version(10));
  handler.onListed?.(false, undefined);
  assert.equal(watch.barriers.passedSentAtMs, 1, "sent when the reset was found");
});
