/** Metrics that all carry the same labels, so that what counts for one of several things need not know which. */
import { type MetricLabels, type Metrics } from "./metrics.ts";

/** Creates each metric in `metrics` with these labels besides its own; a label of both has the value given here. */
export function withLabels(metrics: Metrics, constant: MetricLabels): Metrics {
  const added = Object.keys(constant);
  const withAdded = (names: readonly string[] = []): string[] => [
    ...added,
    ...names.filter((name) => !added.includes(name)),
  ];
  const filled = (own: MetricLabels = {}): MetricLabels => ({ ...own, ...constant });
  return {
    counter(name, help, labelNames) {
      const counter = metrics.counter(name, help, withAdded(labelNames));
      return { inc: (own, by) => counter.inc(filled(own), by) };
    },
    gauge(name, help, labelNames) {
      const gauge = metrics.gauge(name, help, withAdded(labelNames));
      return { set: (own, value) => gauge.set(filled(own), value), remove: (own) => gauge.remove(filled(own)) };
    },
    histogram(name, help, labelNames, buckets) {
      const histogram = metrics.histogram(name, help, withAdded(labelNames), buckets);
      return { observe: (own, value) => histogram.observe(filled(own), value) };
    },
    onScrape: (sample, until) => metrics.onScrape(sample, until),
  };
}
