/**
 * The one place that the label values of all metrics pass, whoever chose them. A control character would end the whole
 * scrape (Prometheus reads no NUL in a value), and a metric with many values would fill memory and scrape alike.
 */
import { type MetricLabels } from "../util/metrics.ts";

/** The user of a ServiceAccount has up to 340 characters. */
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
