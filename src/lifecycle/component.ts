/**
 * What a process is made of. Components start in the order given and stop in reverse, each with the same deadline
 * (lifecycle/process.ts). A component that fails to start ends the process with a clear message.
 */

export interface Component {
  /** Name in logs and in /readyz checks, upstream's where there is one: "webhook", "aggregator-leader-elector". */
  readonly name: string;
  /** Components of upstream that this one does the work of: each has a check of its phase in /readyz there. */
  readonly upstreamNames?: readonly string[];
  /** Resolves when the component serves. Throws a StartError when it cannot. */
  start(): Promise<void>;
  /** Finishes the work in flight and releases everything. Never rejects for operating errors. */
  stop(): Promise<void>;
}

/** A readiness check: undefined = passed; otherwise the reason. */
export type HealthCheck = () => string | undefined;

/** Where components register readiness checks, with upstream's names where it has one: `<component>/<check>`. */
export interface Health {
  register(name: string, check: HealthCheck): void;
}

/** A failure to start that the user can act on; printed as one line without a stack trace, exit code 1. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/**
 * A component that runs one long-running function. `run` is called when the component starts, and must resolve soon
 * after its signal aborts. It handles operating errors itself. A rejection is a programmer error; it is left unhandled
 * and ends the process.
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
