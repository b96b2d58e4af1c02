/** Metrics that keep what was counted, as `name{label="value"}` lines. */
import { type MetricLabels, type Metrics } from "../../../src/util/metrics.ts";

export interface CountingMetrics extends Metrics {
  /** Counters and gauges: the value; histograms: the number of observations. 0 when never touched. */
  value(name: string, labels?: MetricLabels): number;
  scrape(): void;
}

export function createCountingMetrics(): CountingMetrics {
  const values = new Map<string, number>();
  const samples = new Set<() => void>();
  const key = (name: string, labels: MetricLabels = {}): string =>
    `${name}${JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
  const add = (name: string, labels: MetricLabels | undefined, by: number): void => {
    values.set(key(name, labels), (values.get(key(name, labels)) ?? 0) + by);
  };
  return {
    counter: (name) => ({ inc: (labels, by = 1) => add(name, labels, by) }),
    gauge: (name) => ({
      set: (labels, value) => void values.set(key(name, labels), value),
      remove: (labels) => void values.delete(key(name, labels)),
    }),
    histogram: (name) => ({ observe: (labels) => add(name, labels, 1) }),
    onScrape(sample, until) {
      samples.add(sample);
      until?.addEventListener("abort", () => samples.delete(sample), { once: true });
    },
    value: (name, labels) => values.get(key(name, labels)) ?? 0,
    scrape: () => {
      for (const sample of samples) sample();
    },
  };
}
