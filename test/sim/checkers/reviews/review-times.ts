/**
 * A review that has reached a running replica is answered in time, or its caller has gone: within the timeout that the
 * API server names less its rounding (docs/webhook.md#deadlines), by the replica's own clock. A paused replica may
 * answer as soon as it goes on. Nobody works on for a caller that has gone.
 */
import { type Kernel } from "../../kernel/kernel.ts";
import { type Arrival } from "../../network/reviews.ts";

/** The API server rounds its timeout up to whole seconds. */
const roundingMs = 1_000;
/** Timers of one moment, and the rounding of clocks that run at another rate. */
const toleranceMs = 1;

/** The answer leaves its replica now: in time, and not long after its caller has gone. */
export function checkAnswered(kernel: Kernel, what: string, arrival: Arrival): void {
  const lateMs = latenessMs(kernel, arrival);
  if (lateMs > toleranceMs) kernel.fail(`${what} was answered ${Math.round(lateMs)} ms after its deadline`);
  const { goneAtMs, node } = arrival;
  if (goneAtMs === undefined || kernel.nowMs - Math.max(goneAtMs, node.pausedUntilMs) <= toleranceMs) return;
  kernel.fail(`${what} was worked on for ${Math.round(kernel.nowMs - goneAtMs)} ms after its caller had gone`);
}

/** The API server gives up, and no answer has left the replica. */
export function checkUnanswered(kernel: Kernel, what: string, arrival: Arrival): void {
  if (arrival.node.isAlive && latenessMs(kernel, arrival) > toleranceMs) kernel.fail(`${what} was not answered at all`);
}

/** How long ago the deadline was, by the replica's clock; from the end of a pause on where that is less. */
function latenessMs({ nowMs }: Kernel, { node, atMonotonicMs, timeoutMs }: Arrival): number {
  const allowedMs = Math.max(timeoutMs - roundingMs, timeoutMs / 2);
  return Math.min(node.clock.monotonicMs() - atMonotonicMs - allowedMs, nowMs - node.pausedUntilMs);
}
