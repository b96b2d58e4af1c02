/** A component that is one long-running piece of work. */
import { type Component } from "../lifecycle/component.ts";

/**
 * `run` begins with the start of the component and must resolve soon after its signal aborts. It handles operating
 * errors itself; a rejection is a programmer error and is left unhandled, so that it ends the process.
 */
export function createBackground(name: string, run: (signal: AbortSignal) => Promise<void>): Component {
  const controller = new AbortController();
  let running: Promise<void> | undefined;
  return {
    name,
    async start() {
      running = run(controller.signal);
    },
    async stop() {
      controller.abort();
      await running;
    },
  };
}
