/**
 * The metrics contract that components receive. observability/ implements it with prom-client.
 * A metric is created once, in a composition root or a constructor. Creating it again returns the same metric.
 */

export type MetricLabels = Readonly<Record<string, string>>;

export interface Counter {
  inc(labels?: MetricLabels, by?: number): void;
}
export interface Gauge {
  set(labels: MetricLabels, value: number): void;
  /** Ends a series, so that it is absent from the next scrape. For what comes and goes, and would be 0 for ever. */
  remove(labels: MetricLabels): void;
}
export interface Histogram {
  observe(labels: MetricLabels, value: number): void;
}

export interface Metrics {
  counter(name: string, help: string, labelNames?: readonly string[]): Counter;
  gauge(name: string, help: string, labelNames?: readonly string[]): Gauge;
  histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]): Histogram;
  /** Calls `sample` before each scrape until the signal aborts, for gauges that are sampled. */
  onScrape(sample: () => void, until?: AbortSignal): void;
}

/** Buckets for durations of function calls, in seconds (upstream's FD buckets). */
export const functionDurationSeconds: readonly number[] = [
  1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10,
];
/** Buckets for asynchronous latencies, in seconds (upstream's AL buckets). */
export const asyncLatencySeconds: readonly number[] = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 20, 60, 300, 1800, 3600, 21600, 86400, 604800,
];
/** 1, 2, 4 … 2^(count-1) (upstream's EXPn buckets). */
export function exponentialBuckets(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => 2 ** index);
}

/** Drops everything. */
export const silentMetrics: Metrics = {
  counter: () => ({ inc() {} }),
  gauge: () => ({ set() {}, remove() {} }),
  histogram: () => ({ observe() {} }),
  onScrape() {},
};

/**
 * Metrics that all carry the same labels, so that what counts for one of several things need not know which. Creates
 * each metric in `metrics` with these labels besides its own; a label of both has the value given here.
 */
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
