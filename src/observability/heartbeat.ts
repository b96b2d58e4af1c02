/**
 * The gauge `heartbeat`: seconds since the process started. A stuck process shows a flat line, a missing one none. And
 * `wall_clock_seconds`, by which a scraper finds a clock that is wrong: nothing else tells, and times of records and
 * Leases are compared with those of other machines.
 */
import { type Component } from "../lifecycle/component.ts";
import { type Clock, type Timer } from "../util/clock.ts";
import { type Metrics } from "../util/metrics.ts";

/** Samples at once, and then every `sampleFrequencyMs` milliseconds. */
export function createHeartbeat(options: {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly sampleFrequencyMs: number;
}): Component {
  const { clock, metrics, sampleFrequencyMs } = options;
  const gauge = metrics.gauge("heartbeat", "Seconds since the process started");
  const wallClock = metrics.gauge("wall_clock_seconds", "The clock of this process, in seconds since 1970");
  metrics.onScrape(() => wallClock.set({}, clock.epochMicros() / 1e6));
  const startedMs = clock.monotonicMs();
  let timer: Timer | undefined;
  const beat = (): void => {
    gauge.set({}, (clock.monotonicMs() - startedMs) / 1000);
    timer = clock.setTimer(sampleFrequencyMs, beat);
  };
  return {
    name: "metrics",
    start: async () => beat(),
    stop: async () => timer?.cancel(),
  };
}
