/**
 * Reads the Prometheus text format, as far as a test needs it: the samples, without types, timestamps and exemplars.
 */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const labelPair = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export class MetricsText {
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const match = line.startsWith("#") ? null : sampleLine.exec(line);
      if (match === null) continue;
      const [, name = "", labels = "", value = ""] = match;
      const sample: Sample = { name, labels: parseLabels(labels), value: parseValue(value) };
      const known = this.#samples.get(name);
      if (known === undefined) this.#samples.set(name, [sample]);
      else known.push(sample);
    }
  }

  /** The samples of `name` whose labels contain all of `labels`. */
  samples(name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] {
    const wanted = Object.entries(labels);
    return (this.#samples.get(name) ?? []).filter((sample) =>
      wanted.every(([key, value]) => sample.labels[key] === value),
    );
  }

  /** The sum of those samples; undefined when there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const samples = this.samples(name, labels);
    return samples.length === 0 ? undefined : samples.reduce((sum, sample) => sum + sample.value, 0);
  }
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, key = "", value = ""] of text.matchAll(labelPair)) {
    labels[key] = value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
  }
  return labels;
}

function parseValue(text: string): number {
  if (text === "+Inf") return Infinity;
  return text === "-Inf" ? -Infinity : Number(text);
}
