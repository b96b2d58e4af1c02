/** A component that runs one long-running function. */
import { type Component } from "../lifecycle/component.ts";

/**
 * `run` is called when the component starts, and must resolve soon after its signal aborts. It handles operating errors
 * itself. A rejection is a programmer error; it is left unhandled and ends the process.
 */
export function createBackground(
  named: string | Pick<Component, "name" | "upstreamNames">,
  run: (signal: AbortSignal) => Promise<void>,
): Component {
  const controller = new AbortController();
  let running: Promise<void> | undefined;
  return {
    ...(typeof named === "string" ? { name: named } : named),
    async start() {
      running = run(controller.signal);
    },
    async stop() {
      controller.abort();
      await running;
    },
  };
}
