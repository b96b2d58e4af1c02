import assert from "node:assert/strict";
import { test } from "node:test";
import { VanishedPods } from "../../../../src/aggregator/audits/vanished-pods.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type InformerHandler } from "../../../../src/kube/informer.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

function bench(hasSelector = false) {
  const clock = createVirtualClock();
  const metrics = createCountingMetrics();
  const logger = new RecordedLog();
  const events: string[] = [];
  let handler: InformerHandler<PodRecord> | undefined;
  const pods = { subscribe: (given: InformerHandler<PodRecord>) => void (handler = given) };
  const event = (type: string, reason: string, message: string): void =>
    void events.push(`${type} ${reason}: ${message}`);
  const vanished = new VanishedPods({ cellID: "a", pods, hasSelector, event, clock, logger, metrics });
  const term = new AbortController();
  vanished.lead(term.signal);
  const send = (change: Partial<PodRecord> = {}, more: object = {}): void => {
    const object = { key: "default/x", isTerminating: false, isTerminal: false, ...change } as PodRecord;
    handler?.onEvent({ type: "deleted", object, ...more });
  };
  const count = (): number => metrics.value("aggregator_vanished_pods_total", { cell: "a" });
  return { clock, logger, events, term, send, count };
}

test("a pod that leaves without having been terminating is counted", () => {
  const { send, count } = bench();
  send();
  assert.equal(count(), 1);
});

test("a pod that was deleted, has ended, or is only absent from a list has not vanished", () => {
  const { send, count } = bench();
  send({ isTerminating: true });
  send({ isTerminal: true });
  send({}, { isAbsent: true });
  assert.equal(count(), 0);
});

test("a burst of vanished pods is told once, with its number and a few names", async () => {
  const { clock, events, logger, send } = bench();
  for (let pod = 0; pod < 30; pod += 1) send({ key: `default/p${pod}` as PodRecord["key"] });
  await clock.advance(30_000);
  send();
  await clock.advance(120_000);
  assert.equal(events.length, 1);
  assert.match(events[0] ?? "", /^Warning PodsVanished: 30 pods of cell "a" .*default\/p6, .*default\/p10: lost/);
  assert.equal(logger.lines.length, 1);
  for (let pod = 0; pod < 11; pod += 1) send();
  await clock.advance(5_000);
  assert.equal(events.length, 2, "another burst after a quiet minute");
});

test("ten vanished pods in a minute, and any number spread over hours, are no burst", async () => {
  const { clock, events, send } = bench();
  for (let pod = 0; pod < 10; pod += 1) send();
  for (let pod = 0; pod < 50; pod += 1) {
    await clock.advance(60_000);
    send();
  }
  await clock.advance(60_000);
  assert.deepEqual(events, []);
});

test("a watch that selects by labels says that vanished pods may have been relabelled", async () => {
  const { clock, events, send } = bench(true);
  for (let pod = 0; pod < 11; pod += 1) send();
  await clock.advance(5_000);
  assert.match(events[0] ?? "", /or their labels no longer fit --aggregator-pod-label-selector/);
});

test("vanished pods are neither counted nor told after the end of the term", async () => {
  const { clock, events, send, term, count } = bench();
  for (let pod = 0; pod < 11; pod += 1) send();
  term.abort();
  send();
  await clock.advance(60_000);
  assert.equal(count(), 11);
  assert.deepEqual(events, []);
  assert.equal(clock.pendingTimers, 0);
});
