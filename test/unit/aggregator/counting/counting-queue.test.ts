import assert from "node:assert/strict";
import { test } from "node:test";
import { CountingQueue } from "../../../../src/aggregator/counting/counting-queue.ts";
import { ProtectorMemories } from "../../../../src/aggregator/counting/protector-memories.ts";
import { createAggregatorMetrics } from "../../../../src/aggregator/metrics.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { silentMetrics } from "../../../../src/util/metrics.ts";
import { at } from "../../../support/moment.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { marks } from "../../accounting/samples.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { storedProtector } from "../protectors.ts";
import { defaultConfig } from "../run-aggregator.ts";

test("each kind of failure is told at once, and then once in ten seconds with the number of the others", async () => {
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const memories = new ProtectorMemories({ cellID: "cell-1", marks });
  const names = Array.from({ length: 50 }, (_, index) => `p${index}`).toSpliced(11, 0, "odd");
  for (const name of names) {
    const object = { ...storedProtector(1), key: objectKey("ns", name) };
    memories.watched({ type: "added", object }, "selector", at(0));
  }
  const once = 1_000_000;
  const queue = new CountingQueue({
    config: { ...defaultConfig, queue: { ...defaultConfig.queue, backoffBaseMs: once, backoffMaxMs: once } },
    memories,
    countsNone: () => false,
    async count(key) {
      const error = key === "ns/odd" ? new KubeError("forbidden", "no") : new KubeError("network", "refused");
      return [{ kind: "failed", error }, "open"];
    },
    clock,
    rng: createSeededRng(1),
    logger,
    metrics: createAggregatorMetrics(silentMetrics),
  });
  const told = () =>
    logger.entries.map(({ fields }) => [fields["podProtector"], (fields["err"] as Error).message, fields["others"]]);
  const term = new AbortController();
  const running = queue.run(term.signal);
  await clock.advance(0);
  const first = [
    ["ns/p0", "refused", undefined],
    ["ns/odd", "no", undefined],
  ];
  assert.deepEqual(told(), first);
  await clock.advance(10_000);
  assert.deepEqual(told(), [...first, ["ns/p49", "refused", 48]]);
  assert.equal(queue.backlog.behind(at(20_000)).length, 51, "what failed stays due");
  queue.add(objectKey("ns", "p0"));
  await clock.advance(1_000);
  term.abort();
  await running;
  assert.deepEqual(told().at(-1), ["ns/p0", "refused", undefined], "the end of the term tells what is left");
  assert.equal(clock.pendingTimers, 0);
});
