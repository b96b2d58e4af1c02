import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedWork } from "../../../src/roles/shared-work.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

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
