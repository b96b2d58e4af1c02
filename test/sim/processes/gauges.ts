/**
 * The gauges of a process of the product, read as a scrape would read them; what is counted or measured besides is
 * dropped.
 */
import { type Metrics, silentMetrics } from "../../../src/util/metrics.ts";

export class Gauges {
  /** As read() has left them. */
  readonly values = new Map<string, number>();
  readonly #samples: (() => void)[] = [];
  readonly metrics: Metrics = {
    ...silentMetrics,
    gauge: (name) => ({
      set: (labels, value) => {
        let key = name;
        for (const label of Object.values(labels)) key += ` ${label}`;
        this.values.set(key, value);
      },
      remove() {},
    }),
    onScrape: (sample) => void this.#samples.push(sample),
  };

  /** By name, with the values of the labels behind it. */
  read(): ReadonlyMap<string, number> {
    for (const sample of this.#samples) sample();
    return this.values;
  }
}
