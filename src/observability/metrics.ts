/**
 * The Metrics of the program: prom-client with a registry of its own. The labels `namespace` and `user` have as many
 * values as a cluster has namespaces and users, so they are dropped unless a flag keeps them
 * (docs/compatibility.md#metrics). And the metrics that every process has.
 */
import * as prometheus from "prom-client";
import { assert } from "../util/assert.ts";
import { createHistogram } from "./histogram.ts";
import { type MetricLabels, type Metrics } from "../util/metrics.ts";
import { type Component } from "../lifecycle/component.ts";
import { type Clock, type Timer } from "../util/clock.ts";

export interface MetricsOptions {
  readonly byNamespace: boolean;
  readonly byUser: boolean;
  /** Also measure the process itself; this observes the event loop from now on. */
  readonly ofProcess: boolean;
}

export interface MetricsRegistry extends Metrics {
  /** The text of a scrape, after running everything that registered with `onScrape`. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
}

type Kind = "counter" | "gauge" | "histogram";

/** A name belongs to one metric in the whole process; asking for it again must ask for the same kind and labels. */
interface Entry<M> {
  readonly signature: string;
  readonly metric: M;
}

export function createMetrics(options: MetricsOptions): MetricsRegistry {
  const registry = new prometheus.Registry();
  // CPU, memory, event loop, garbage collection of this process: process_* and nodejs_*.
  if (options.ofProcess) prometheus.collectDefaultMetrics({ register: registry });
  const entries = new Map<string, Entry<unknown>>();
  const samples = new Set<() => void>();
  const dropped = new Set([...(options.byNamespace ? [] : ["namespace"]), ...(options.byUser ? [] : ["user"])]);

  function once<M>(kind: Kind, name: string, labelNames: readonly string[], create: (kept: Kept) => M): M {
    const signature = `${kind}(${labelNames.join(",")})`;
    const known = entries.get(name) as Entry<M> | undefined;
    if (known !== undefined) {
      assert(known.signature === signature, `metric ${name} is ${known.signature} and ${signature}`);
      return known.metric;
    }
    const metric = create(keptLabels(labelNames, dropped));
    entries.set(name, { signature, metric });
    return metric;
  }

  return {
    counter: (name, help, labelNames = []) =>
      once("counter", name, labelNames, (kept) => {
        const counter = new prometheus.Counter({ name, help, labelNames: kept.names, registers: [registry] });
        return { inc: (labels: MetricLabels = {}, by = 1) => counter.inc(kept.of(labels), by) };
      }),
    gauge: (name, help, labelNames = []) =>
      once("gauge", name, labelNames, (kept) => {
        const gauge = new prometheus.Gauge({ name, help, labelNames: kept.names, registers: [registry] });
        return {
          set: (labels: MetricLabels, value: number) => gauge.set(kept.of(labels), value),
          remove: (labels: MetricLabels) => gauge.remove(kept.forget(labels)),
        };
      }),
    histogram: (name, help, labelNames, buckets) =>
      once("histogram", name, labelNames, (kept) => {
        const histogram = createHistogram({
          name,
          help,
          labelNames: kept.names,
          buckets,
          shown: (labels) => kept.of(labels),
        });
        registry.registerMetric(histogram.metric);
        return histogram;
      }),
    onScrape(sample, until) {
      samples.add(sample);
      until?.addEventListener("abort", () => samples.delete(sample), { once: true });
    },
    async expose() {
      for (const sample of samples) sample();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

interface Kept {
  readonly names: string[];
  /** What is shown of some labels: those that are kept, in a form that every scraper reads. */
  of(labels: MetricLabels): MetricLabels;
  /** The same, and makes room for another series. */
  forget(labels: MetricLabels): MetricLabels;
}

function keptLabels(labelNames: readonly string[], dropped: ReadonlySet<string>): Kept {
  const names = labelNames.filter((name) => !dropped.has(name));
  const sets = new LabelSets(names);
  return { names, of: (labels) => sets.shown(labels), forget: (labels) => sets.forget(labels) };
}

/** The metric `podseidon_build_info`: which program a process runs, in place of the go_build_info of upstream. */
export interface BuildInfo {
  /** "1.2.3". */
  readonly version: string;
  /** Of the sources; "dev" where they are run directly. */
  readonly commit: string;
  /** "v26.1.0". */
  readonly nodeVersion: string;
}

/** A gauge that is always 1. */
export function showBuildInfo(metrics: Metrics, { version, commit, nodeVersion }: BuildInfo): void {
  metrics
    .gauge("podseidon_build_info", "1, with the version of the program and of Node as labels", [
      "version",
      "commit",
      "node_version",
    ])
    .set({ version, commit, node_version: nodeVersion }, 1);
}

/**
 * The gauge `heartbeat`: seconds since the process started. A stuck process shows a flat line, a missing one none. And
 * `wall_clock_seconds`, by which a scraper finds a clock that is wrong: nothing else tells, and times of records and
 * Leases are compared with those of other machines. Samples at once, and then every `sampleFrequencyMs` milliseconds.
 */
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

/**
 * The one place that the label values of all metrics pass, whoever chose them. A control character would end the whole
 * scrape (Prometheus reads no NUL in a value), and a metric with many values would fill memory and scrape alike. The
 * user of a ServiceAccount has up to 340 characters.
 */
const valueLengthMax = 512;

/** Series of one metric: a thousand cells with ten kinds of results. A histogram of as many has 250,000 lines. */
export const labelSetsMax = 10_000;

/** In place of the values of every further series. */
const otherValues = "other";

export class LabelSets {
  readonly #names: readonly string[];
  readonly #known = new Set<string>();
  readonly #other: MetricLabels;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#other = Object.fromEntries(names.map((name) => [name, otherValues]));
  }

  /** The labels of the series that stands for these. Others than the names of the metric are left out. */
  shown(labels: MetricLabels): MetricLabels {
    const { shown, key } = this.#read(labels);
    if (this.#known.has(key)) return shown;
    if (this.#known.size >= labelSetsMax) return this.#other;
    this.#known.add(key);
    return shown;
  }

  /** As `shown`, of a series that ends: another one may take its place. */
  forget(labels: MetricLabels): MetricLabels {
    const { shown, key } = this.#read(labels);
    return this.#known.delete(key) ? shown : this.#other;
  }

  #read(labels: MetricLabels): { readonly shown: MetricLabels; readonly key: string } {
    const shown: Record<string, string> = {};
    let key = "";
    for (const name of this.#names) {
      const value = labels[name];
      if (value === undefined) continue;
      shown[name] = shownValue(value);
      key += `${name}\n${shown[name]}\n`;
    }
    return { shown, key };
  }
}

function shownValue(value: string): string {
  // Nearly all values.
  if (value.length <= valueLengthMax && !/[\u0000-\u001f\u007f]/.test(value)) return value;
  return value.slice(0, valueLengthMax).replace(/[\u0000-\u001f\u007f]/g, "\ufffd");
}
