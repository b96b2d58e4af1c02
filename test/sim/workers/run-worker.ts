/** A worker thread of the pool: runs one task after the other. */
import assert from "node:assert/strict";
import { parentPort } from "node:worker_threads";
import { type World } from "../world.ts";
import { type RunTask, runTask } from "./task.ts";

assert.ok(parentPort !== null, "this file is for worker threads");
const port = parentPort;
let world: World | undefined;

// An error that nobody handles would end the product's process, so it is a finding like any other, with the events that
// led to it.
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => {
    if (world === undefined) throw error;
    world.kernel.fail(`${event}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  });
}

async function answer(task: RunTask): Promise<void> {
  try {
    port.postMessage(await runTask(task, (created) => (world = created)));
  } finally {
    world = undefined;
  }
}

port.on("message", (task: RunTask) => void answer(task));
