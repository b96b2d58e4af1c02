/** Metrics of an elector, with upstream's names (docs/compatibility.md#metrics). */
import { type Metrics } from "../../util/metrics.ts";

export interface ElectorMetrics {
  event(event: "acquired" | "lost"): void;
}

/** `leadingSeconds` is read before each scrape: seconds since the Lease was acquired, 0 while another leads. */
export function createElectorMetrics(
  metrics: Metrics,
  labels: { readonly cluster_class: string; readonly elector_name: string; readonly identity: string },
  leadingSeconds: () => number,
): ElectorMetrics {
  const names = ["cluster_class", "elector_name", "identity"];
  const events = metrics.counter("leader_event", "Changes of leadership, by event: acquired or lost", [
    ...names,
    "event",
  ]);
  const heartbeat = metrics.gauge(
    "leader_heartbeat",
    "Seconds since leadership was acquired; 0 while another process leads",
    names,
  );
  metrics.onScrape(() => heartbeat.set(labels, leadingSeconds()));
  return { event: (event) => events.inc({ ...labels, event }) };
}
