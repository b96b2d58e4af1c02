/** Metrics of an informer. */
import { type MetricLabels, type Metrics } from "../../util/metrics.ts";

export interface InformerMetrics {
  relist(reason: string): void;
  decodeError(): void;
}

/** `labels`: cluster and informer. `stalenessMs` is read before each scrape until the informer has `ended`. */
export function createInformerMetrics(
  metrics: Metrics,
  labels: MetricLabels,
  stalenessMs: () => number,
  ended: AbortSignal,
): InformerMetrics {
  const names = ["cluster", "informer"];
  const silence = metrics.gauge(
    "kube_informer_watch_silence_seconds",
    "Seconds since the last event, bookmark or list; +Inf before the first list",
    names,
  );
  metrics.onScrape(() => silence.set(labels, stalenessMs() / 1000), ended);
  const relists = metrics.counter("kube_informer_relists_total", "Lists after the first one, by reason", [
    ...names,
    "reason",
  ]);
  const decodeErrors = metrics.counter(
    "kube_informer_decode_errors_total",
    "Invalid objects, which are treated as absent",
    names,
  );
  return {
    relist: (reason) => relists.inc({ ...labels, reason }),
    decodeError: () => decodeErrors.inc(labels),
  };
}
