/**
 * Runs a process: starts the components in order, serves until a signal, and stops the components in reverse order. As
 * in upstream, one deadline covers the whole stop. A second signal ends the process at once.
 */
import { sleep, type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { StartError, type Component, type Health } from "./component.ts";

export type StopSignal = "SIGTERM" | "SIGINT";

export interface ProcessOptions {
  /** In the order in which they start. */
  readonly components: readonly Component[];
  readonly health: Health;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Calls the listener with each signal that asks to stop. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => void;
  /** How long the components deliberately wait before they stop. */
  readonly drainDelayMs: number;
}

export interface ProcessEnd {
  /** 0 = stopped as asked; 1 = could not start, or did not stop in time; 130 and 143 = a second SIGINT or SIGTERM. */
  readonly exitCode: number;
  /** Why it could not start, one line for the user. */
  readonly problem?: string;
}

/** Kubernetes sends SIGKILL 30 s after SIGTERM by default; upstream allows itself 10 s of them. */
export const stopDeadlineMs = 10_000;
/** What remains for the stop itself after the default drain delay of 3 s; a longer delay moves the deadline. */
const afterDrainMs = 7_000;

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const satisfies Record<StopSignal, number>;

type Phase = "Init" | "Starting" | "StartError" | "Started";

/**
 * Runs until a signal or a StartError. Registers the checks `<component>/phase`, by upstream's names too, which pass
 * once the component has started, and `shutdown-notifier/phase`, which fails from the first signal on. Rejects only for
 * programmer errors.
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  const { components, health, logger } = options;
  const phases = new Map<Component, Phase>(components.map((component) => [component, "Init"]));
  for (const [name, parts] of namedPhases(components)) {
    health.register(`${name}/phase`, () =>
      parts.map((component) => phaseProblem(phases.get(component))).find((problem) => problem !== undefined),
    );
  }
  let isStopping = false;
  health.register("shutdown-notifier/phase", () => (isStopping ? "the process is stopping" : undefined));

  const { first, second } = awaitSignals(options.onSignal);
  // The components whose start was called, in that order. Only these are stopped.
  const begun: Component[] = [];
  const starting = startAll(components, phases, begun, () => isStopping);
  const early = await Promise.race([starting, first]);
  if (early instanceof StartError) {
    isStopping = true;
    const stopped = await stopAll(begun, options, second);
    return { exitCode: stopped === 0 ? 1 : stopped, problem: early.message };
  }
  if (early === undefined) logger.info("Startup complete");
  // A start that is interrupted by the stop may fail; that is not a failure of the process.
  else starting.catch((error: unknown) => logger.warn("Startup interrupted", { err: error }));
  const signal = await first;
  isStopping = true;
  logger.info("Stopping", { signal });
  return { exitCode: await stopAll(begun, options, second) };
}

/** By the name of a check: upstream's component of one name may be a part of several roles. */
function namedPhases(components: readonly Component[]): ReadonlyMap<string, readonly Component[]> {
  const named = new Map<string, Component[]>();
  for (const component of components)
    for (const name of [component.name, ...(component.upstreamNames ?? [])])
      named.set(name, [...(named.get(name) ?? []), component]);
  return named;
}

function phaseProblem(phase: Phase = "Init"): string | undefined {
  return phase === "Started" ? undefined : `phase is ${phase}`;
}

function awaitSignals(onSignal: ProcessOptions["onSignal"]): {
  first: Promise<StopSignal>;
  second: Promise<StopSignal>;
} {
  const signals = [Promise.withResolvers<StopSignal>(), Promise.withResolvers<StopSignal>()] as const;
  let count = 0;
  onSignal((signal) => {
    signals[count]?.resolve(signal);
    count += 1;
  });
  return { first: signals[0].promise, second: signals[1].promise };
}

/** Resolves to the StartError of the component that could not start, or to nothing. */
async function startAll(
  components: readonly Component[],
  phases: Map<Component, Phase>,
  begun: Component[],
  isStopping: () => boolean,
): Promise<StartError | undefined> {
  for (const component of components) {
    if (isStopping()) return undefined;
    phases.set(component, "Starting");
    begun.push(component);
    try {
      await component.start();
    } catch (error) {
      phases.set(component, "StartError");
      if (error instanceof StartError) return error;
      throw error;
    }
    phases.set(component, "Started");
  }
  return undefined;
}

/** Stops in reverse; resolves to the exit code. */
async function stopAll(
  begun: readonly Component[],
  { clock, logger, drainDelayMs }: ProcessOptions,
  second: Promise<StopSignal>,
): Promise<number> {
  const deadlineMs = Math.max(stopDeadlineMs, drainDelayMs + afterDrainMs);
  let current = "";
  const stopping = (async () => {
    for (const component of begun.toReversed()) {
      current = component.name;
      await component.stop();
    }
    return "stopped" as const;
  })();
  const cancelled = new AbortController();
  const deadline = sleep(clock, deadlineMs, cancelled.signal).then(() => "late" as const);
  const end = await Promise.race([stopping, deadline, second]);
  cancelled.abort();
  if (end === "stopped") {
    logger.info("Stopped");
    return 0;
  }
  if (end === "late") {
    logger.error("Shutdown timed out", { component: current, deadlineMs });
    return 1;
  }
  logger.warn("Stopped at once by a second signal", { signal: end, component: current });
  return exitCodes[end];
}
