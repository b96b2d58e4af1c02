import assert from "node:assert/strict";
import { test } from "node:test";
import { StartError, type Component, type HealthCheck, createBackground } from "../../../src/lifecycle/component.ts";
import { runProcess, stopDeadlineMs, type StopSignal } from "../../../src/lifecycle/process.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

/** A process of components whose starts and stops the test may hold back. */
function run(components: readonly (Partial<Component> & { readonly name: string })[], drainDelayMs = 0) {
  const clock = createVirtualClock();
  const log: string[] = [];
  const checks = new Map<string, HealthCheck>();
  let send: (signal: StopSignal) => void = () => assert.fail("no listener for signals");
  const end = runProcess({
    components: components.map(({ name, upstreamNames, start, stop }) => ({
      name,
      ...(upstreamNames && { upstreamNames }),
      async start() {
        log.push(`start ${name}`);
        await start?.();
      },
      async stop() {
        log.push(`stop ${name}`);
        await stop?.();
      },
    })),
    health: { register: (name, check) => void checks.set(name, check) },
    logger: silentLogger,
    clock,
    onSignal: (listener) => (send = listener),
    drainDelayMs,
  });
  return { clock, log, end, check: (name: string) => checks.get(name)?.(), send: (signal: StopSignal) => send(signal) };
}

test("components start in order and stop in reverse", async () => {
  const { clock, log, end, send } = run([{ name: "a" }, { name: "b" }]);
  await clock.advance(0);
  assert.deepEqual(log, ["start a", "start b"]);
  send("SIGTERM");
  assert.deepEqual(await end, { exitCode: 0 });
  assert.deepEqual(log, ["start a", "start b", "stop b", "stop a"]);
  assert.equal(clock.pendingTimers, 0);
});

test("a component that does the work of several of upstream has the checks of all, which others share", async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, end, check, send } = run([
    { name: "a", upstreamNames: ["x", "y"] },
    { name: "b", upstreamNames: ["y"], start: () => gate.promise },
  ]);
  await clock.advance(0);
  assert.equal(check("x/phase"), undefined);
  assert.equal(check("y/phase"), "phase is Starting");
  gate.resolve();
  await clock.advance(0);
  assert.equal(check("y/phase"), undefined);
  send("SIGTERM");
  await end;
});

test("a component is ready once it has started, and the process is unready from the first signal on", async () => {
  const gate = Promise.withResolvers<void>();
  const stopGate = Promise.withResolvers<void>();
  const { clock, end, check, send } = run([
    { name: "a" },
    { name: "b", start: () => gate.promise, stop: () => stopGate.promise },
    { name: "c" },
  ]);
  await clock.advance(0);
  assert.equal(check("a/phase"), undefined);
  assert.equal(check("b/phase"), "phase is Starting");
  assert.equal(check("c/phase"), "phase is Init");
  gate.resolve();
  await clock.advance(0);
  assert.equal(check("c/phase"), undefined);
  assert.equal(check("shutdown-notifier/phase"), undefined);
  send("SIGINT");
  await clock.advance(0);
  assert.equal(check("shutdown-notifier/phase"), "the process is stopping");
  stopGate.resolve();
  assert.equal((await end).exitCode, 0);
});

test("a StartError ends the process with its message, after the started components are stopped", async () => {
  const { log, end, check } = run([
    { name: "a" },
    {
      name: "b",
      start: async () => {
        throw new StartError("port in use");
      },
    },
    { name: "c" },
  ]);
  assert.deepEqual(await end, { exitCode: 1, problem: "port in use" });
  assert.deepEqual(log, ["start a", "start b", "stop b", "stop a"]);
  assert.equal(check("b/phase"), "phase is StartError");
});

test("any other failure to start is a bug and is thrown", async () => {
  const { end } = run([
    {
      name: "a",
      start: async () => {
        throw new TypeError("bug");
      },
    },
  ]);
  await assert.rejects(end, TypeError);
});

test("a signal during the start stops the started components and starts no more", async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, log, end, send } = run([
    { name: "a" },
    { name: "b", start: () => gate.promise, stop: async () => gate.reject(new StartError("cut short")) },
    { name: "c" },
  ]);
  await clock.advance(0);
  send("SIGTERM");
  assert.deepEqual(await end, { exitCode: 0 });
  assert.deepEqual(log, ["start a", "start b", "stop b", "stop a"]);
});

test("all components together have one deadline to stop", async () => {
  let now = 0;
  const { clock, end, send } = run([
    { name: "a", stop: () => new Promise(() => {}) },
    { name: "b", stop: () => new Promise((resolve) => void clock.setTimer(stopDeadlineMs - 1, resolve)) },
  ]);
  await clock.advance(0);
  send("SIGTERM");
  void end.then(() => (now = clock.monotonicMs()));
  await clock.advance(2 * stopDeadlineMs);
  assert.deepEqual(await end, { exitCode: 1 });
  assert.equal(now, stopDeadlineMs);
});

test("a drain delay moves the deadline when it would leave less than 7 s for the stop", async () => {
  for (const [drainDelayMs, deadlineMs] of [
    [3_000, 10_000],
    [20_000, 27_000],
  ] as const) {
    const { clock, end, send } = run([{ name: "a", stop: () => new Promise(() => {}) }], drainDelayMs);
    let endedMs = 0;
    await clock.advance(0);
    send("SIGTERM");
    void end.then(() => (endedMs = clock.monotonicMs()));
    await clock.advance(60_000);
    assert.equal(endedMs, deadlineMs);
  }
});

test("a second signal ends the process at once with the code of that signal", async () => {
  for (const [second, exitCode] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const { clock, end, send } = run([{ name: "a", stop: () => new Promise(() => {}) }]);
    await clock.advance(0);
    send("SIGTERM");
    await clock.advance(1);
    send(second);
    assert.deepEqual(await end, { exitCode });
    assert.equal(clock.pendingTimers, 0);
  }
});

test("the work begins with the start, and the stop waits for its end", async () => {
  const happened: string[] = [];
  let finish = (): void => {};
  const component = createBackground("work", async (signal) => {
    happened.push("begun");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    happened.push("told to stop");
    await new Promise<void>((resolve) => (finish = resolve));
    happened.push("ended");
  });
  assert.equal(component.name, "work");
  assert.equal(happened.length, 0);
  await component.start();
  assert.deepEqual(happened, ["begun"]);
  const stopped = component.stop().then(() => void happened.push("stopped"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(happened, ["begun", "told to stop"]);
  finish();
  await stopped;
  assert.deepEqual(happened, ["begun", "told to stop", "ended", "stopped"]);
});

test("a component that was never started stops at once", async () => {
  await createBackground("work", () => assert.fail("never started")).stop();
});
