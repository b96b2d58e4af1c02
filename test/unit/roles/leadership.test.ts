import assert from "node:assert/strict";
import { test } from "node:test";
import { createElector, SharedWork } from "../../../src/roles/leadership.ts";
import { withRig } from "../aggregator/rig.ts";
import { createEngineRuntime } from "./engine-runtime.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

function electorOf(rig: Parameters<typeof createEngineRuntime>[0], ...flags: readonly string[]) {
  const runtime = createEngineRuntime(rig, ["--role=aggregator", ...flags]);
  const elector = createElector(runtime, {
    role: "aggregator",
    config: runtime.config.aggregator.elector,
    clusterClass: "worker",
    client: runtime.workerElection,
    logger: runtime.logger,
  });
  return { elector, status: () => runtime.health.answerOne("aggregator-leader-elector/elector") };
}

test("a leader that has not renewed for a whole lease duration is not ready", () =>
  withRig(async (rig) => {
    const { elector, status } = electorOf(rig);
    assert.deepEqual(status(), { status: 200, text: "ok" });
    assert.deepEqual(await elector.tryAcquireOrRenew(1_000), { type: "held" });
    await rig.clock.advance(15_000);
    assert.deepEqual(status(), { status: 200, text: "ok" });
    await rig.clock.advance(1);
    const late = status();
    assert.equal(late.status, 500);
    assert.match(late.text, /default\/podseidon-aggregator has not been renewed/);
  }));

test("a disabled election has no check", () =>
  withRig(async (rig) => {
    assert.equal(electorOf(rig, "--aggregator-leader-elector-enable=false").status().status, 404);
  }));

const flush = (): Promise<void> => createVirtualClock().advance(0);

function create() {
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const work = new SharedWork(async (signal) => {
    log.push("began");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    log.push("asked to end");
    await new Promise<void>((resolve) => ends.push(resolve));
    log.push("ended");
  });
  return { work, log, end: () => ends.shift()?.() };
}

test("shared work runs once while any term lasts, and the last term waits for its end", async () => {
  const { work, log, end } = create();
  const [east, west] = [new AbortController(), new AbortController()];
  const first = work.during(east.signal);
  const last = work.during(west.signal);
  await flush();
  assert.deepEqual(log, ["began"]);
  east.abort();
  await first;
  assert.deepEqual(log, ["began"], "the other term lasts");
  west.abort();
  await flush();
  assert.deepEqual(log, ["began", "asked to end"]);
  end();
  await last;
  assert.deepEqual(log, ["began", "asked to end", "ended"]);
});

test("shared work of a new term never runs beside what is still ending of the last", async () => {
  const { work, log, end } = create();
  const [east, west] = [new AbortController(), new AbortController()];
  const first = work.during(east.signal);
  await flush();
  east.abort();
  await flush();
  const next = work.during(west.signal);
  await flush();
  assert.deepEqual(log, ["began", "asked to end"]);
  end();
  await first;
  await flush();
  assert.deepEqual(log, ["began", "asked to end", "ended", "began"]);
  west.abort();
  await flush();
  end();
  await next;
});

test("a term that is over before it begins starts nothing; what the work rejects with reaches the term", async () => {
  const { work, log } = create();
  await work.during(AbortSignal.abort());
  assert.deepEqual(log, []);
  const broken = new SharedWork(() => Promise.reject(new Error("broken")));
  await assert.rejects(broken.during(new AbortController().signal), /broken/);
});
