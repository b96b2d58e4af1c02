/** Ready webhook replicas behind the balancer, as the endpoints of a Service. */
import { setTimeout as delay } from "node:timers/promises";
import { type Fleet } from "./fleet.ts";
import { type CaseContext } from "../runner/runner.ts";

/** A Service hears of an unready pod within a moment. */
const endpointsMs = 200;

/**
 * Takes replicas out of the balancer when /readyz fails and puts them in again, as the endpoints of a Service follow
 * readiness.
 */
export function followReadiness(
  context: CaseContext,
  fleet: Fleet,
): { readonly leftOutMs: (replica: number) => number; stop(): void } {
  const end = new AbortController();
  context.cleanup(() => end.abort());
  const leftOut = new Map<number, number>();
  const look = async (): Promise<void> => {
    const codes = await Promise.all(
      fleet.webhooks.map((webhook) =>
        webhook.readyz().then(
          ({ code }) => code,
          () => 0,
        ),
      ),
    );
    if (end.signal.aborted) return;
    const ready = fleet.webhooks.filter((_, index) => codes[index] === 200);
    for (const [index, code] of codes.entries()) {
      if (code === 200) leftOut.delete(index);
      else if (!leftOut.has(index)) leftOut.set(index, performance.now());
    }
    fleet.balancer?.setTargets(ready.map(({ ports }) => ports.webhook));
  };
  void (async () => {
    while (!end.signal.aborted) {
      await look();
      await delay(endpointsMs);
    }
  })();
  return { leftOutMs: (replica) => leftOut.get(replica) ?? Infinity, stop: () => end.abort() };
}
