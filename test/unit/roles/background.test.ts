import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackground } from "../../../src/roles/background.ts";

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
