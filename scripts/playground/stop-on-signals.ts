/** Ends a program that people end with Ctrl-C, without leaving processes behind. */
import os from "node:os";

/**
 * The signal that is returned aborts at the first SIGINT, SIGTERM or SIGHUP, and when nobody reads the output any more.
 * A second one ends the process at once: `killNow` is called on every exit.
 */
export function stopOnSignals(killNow: () => void): AbortSignal {
  const controller = new AbortController();
  process.on("exit", killNow);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(128 + os.constants.signals[signal]);
      controller.abort(new Error(`stopped by ${signal}`));
    });
  }
  process.stdout.on("error", () => controller.abort(new Error("nobody reads the output")));
  return controller.signal;
}
