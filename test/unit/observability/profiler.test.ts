import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cpuSecondsMax,
  createInspectorSession,
  createProfiler,
  type InspectorSession,
} from "../../../src/observability/profiler.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

/** Answers each question with `answer`, and writes down what was asked. */
function fakeSession(answer: unknown): { readonly session: InspectorSession; readonly asked: string[] } {
  const asked: string[] = [];
  const session = {
    connect: () => void asked.push("connect"),
    disconnect: () => void asked.push("disconnect"),
    post: async (method: string) => {
      asked.push(method);
      return answer;
    },
  };
  return { session: session as unknown as InspectorSession, asked };
}

const never = new AbortController().signal;

test("a profile of the CPU takes as long as was asked for, and who asks meanwhile is told to wait", async () => {
  const clock = createVirtualClock();
  const { session, asked } = fakeSession({ profile: { nodes: [] } });
  const profiler = createProfiler({ clock, createSession: async () => session });
  await profiler.start();
  const first = profiler.cpu(5, never);
  await clock.advance(2_000);
  const second = await profiler.cpu(1, never);
  assert.deepEqual(second, { kind: "busy", retryAfterMs: 3_000, reason: "a profile is being taken" });
  assert.equal(asked.at(-1), "Profiler.start");
  await clock.advance(3_000);
  assert.deepEqual(await first, { kind: "profile", text: '{"nodes":[]}' });
  const third = profiler.cpu(1, never);
  await clock.advance(1_000);
  assert.equal((await third).kind, "profile");
  profiler.stop();
  assert.equal(asked.at(-1), "disconnect");
  assert.equal(clock.pendingTimers, 0);
});

test("a profile that nobody waits for any more ends at once", async () => {
  const clock = createVirtualClock();
  const { session, asked } = fakeSession({ profile: {} });
  const profiler = createProfiler({ clock, createSession: async () => session });
  const client = new AbortController();
  const profiling = profiler.cpu(cpuSecondsMax, client.signal);
  await clock.advance(1_000);
  client.abort();
  await profiling;
  assert.equal(asked.at(-1), "Profiler.stop");
  assert.equal(clock.pendingTimers, 0);
});

test("the heap is looked at once in ten seconds, because each look stops everything else", async () => {
  const clock = createVirtualClock();
  const { session, asked } = fakeSession({ profile: { head: {} } });
  const profiler = createProfiler({ clock, createSession: async () => session });
  assert.equal((await profiler.heap()).kind, "profile");
  await clock.advance(4_000);
  assert.deepEqual(await profiler.heap(), {
    kind: "busy",
    retryAfterMs: 6_000,
    reason: "the last profile is too young",
  });
  await clock.advance(6_000);
  assert.equal((await profiler.heap()).kind, "profile");
  assert.equal(asked.filter((method) => method.endsWith("getSamplingProfile")).length, 2);
});

test("a failure of the inspector ends only the profile that it belongs to", async () => {
  const clock = createVirtualClock();
  let fails = true;
  const { session } = fakeSession({ profile: {} });
  const failing = { ...session, post: async () => (fails ? Promise.reject(new Error("no")) : { profile: {} }) };
  const profiler = createProfiler({ clock, createSession: async () => failing as unknown as InspectorSession });
  await assert.rejects(profiler.cpu(1, never), /no/);
  fails = false;
  const next = profiler.cpu(1, never);
  await clock.advance(1_000);
  assert.equal((await next).kind, "profile");
});

test("what is too large is not sent", async () => {
  const clock = createVirtualClock();
  const { session } = fakeSession({ profile: "x".repeat(64 * 1024 * 1024) });
  const profiler = createProfiler({ clock, createSession: async () => session });
  assert.equal((await profiler.heap()).kind, "tooLarge");
});

test("the inspector of this process gives both profiles in Node's formats, without a word of its data", async () => {
  const clock = createVirtualClock();
  const profiler = createProfiler({ clock, createSession: createInspectorSession });
  await profiler.start();
  const secret = ["pass", "word"].join("-");
  const kept = Array.from({ length: 20_000 }, (_, index) => ({ secret, token: `${secret} ${index}` }));
  const profiling = profiler.cpu(1, never);
  await clock.advance(1_000);
  const [cpu, heap] = [await profiling, await profiler.heap()];
  profiler.stop();
  assert(cpu.kind === "profile" && heap.kind === "profile");
  const { nodes, samples } = JSON.parse(cpu.text) as { nodes: { callFrame: unknown }[]; samples: unknown[] };
  assert(nodes.length > 0 && Array.isArray(samples));
  const { head } = JSON.parse(heap.text) as { head: { callFrame: { functionName: string }; children: unknown[] } };
  assert.equal(head.callFrame.functionName, "(root)");
  assert.ok(kept.length > 0);
  assert(!cpu.text.includes(secret) && !heap.text.includes(secret));
});
