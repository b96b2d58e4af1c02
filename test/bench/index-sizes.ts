/**
 * The label indexes at 1,000 to 100,000 entries of one namespace, on data like that of the Go original's benchmarks:
 * four labels, of which two are the same everywhere; the second half of the inserts replaces the first
 * (docs/performance.md#label-indexes). Beside each figure: a hash of whole label sets, which only finds equal ones, and
 * the scan.
 */
import { type Labels } from "../../src/api/pod.ts";
import { compileSelector, createLabelSetIndex, createSelectorIndex } from "../../src/label-index/index.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { createNaiveLabelSetIndex, createNaiveSelectorIndex } from "../unit/label-index/naive.ts";
import { quantile, type Row } from "./row.ts";

const sizes = [1000, 10_000, 100_000];
const rounds = 5;
const scans = 3;

interface Entry {
  readonly name: string;
  readonly labels: Labels;
}

interface Data {
  readonly entries: readonly Entry[];
  /** As many, with other values of appId. */
  readonly replacements: readonly Entry[];
  readonly appIds: number;
}

function dataOf(size: number): Data {
  const rng = createSeededRng(0);
  const entries: Entry[] = [];
  let [appId, subApp] = [0, 0];
  for (let index = 0; index < size; index++) {
    entries.push({
      name: `item-${index}`,
      labels: { aaa: "aaa", appId: String(appId), subApp: String(subApp), zzz: "zzz" },
    });
    if (rng.next() < 0.5) [appId, subApp] = [appId + 1, 0];
    else subApp++;
  }
  const replacements = entries.map(({ name, labels }) => ({
    name,
    labels: { ...labels, appId: `-${labels["appId"]}` },
  }));
  return { entries, replacements, appIds: Number(entries.at(-1)?.labels["appId"]) + 1 };
}

/** What takes part: an index, the hash, or the scan. */
interface Contestant {
  track(entry: Entry): unknown;
  query(labels: Labels): number;
}

const selectorIndex = (): Contestant => {
  const index = createSelectorIndex();
  return {
    track: ({ name, labels }) => index.track(name, { matchLabels: labels }),
    query: (labels) => index.query(labels).length,
  };
};

const labelSetIndex = (): Contestant => {
  const index = createLabelSetIndex();
  return {
    track: ({ name, labels }) => index.track(name, labels),
    query: ({ aaa, appId, zzz }) => {
      const compiled = compileSelector({ matchLabels: { aaa: aaa!, appId: appId!, zzz: zzz! } });
      return compiled.ok ? index.query(compiled.selector).length : 0;
    },
  };
};

const hash = (): Contestant => {
  const texts = new Map<string, string>();
  const names = new Map<string, Set<string>>();
  const textOf = (labels: Labels): string =>
    JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    track({ name, labels }) {
      const former = texts.get(name);
      if (former !== undefined) names.get(former)?.delete(name);
      const text = textOf(labels);
      texts.set(name, text);
      const there = names.get(text);
      if (there === undefined) names.set(text, new Set([name]));
      else there.add(name);
    },
    query: (labels) => names.get(textOf(labels))?.size ?? 0,
  };
};

const selectorScan = (): Contestant => {
  const scan = createNaiveSelectorIndex();
  return {
    track: ({ name, labels }) => scan.track(name, { matchLabels: labels }),
    query: (labels) => scan.query(labels).length,
  };
};

const labelSetScan = (): Contestant => {
  const scan = createNaiveLabelSetIndex();
  return {
    track: ({ name, labels }) => scan.track(name, labels),
    query: ({ aaa, appId, zzz }) => scan.query({ matchLabels: { aaa: aaa!, appId: appId!, zzz: zzz! } }).length,
  };
};

/** Microseconds of an insert: half of them are new, half replace another. */
function insertMicroseconds(create: () => Contestant, { entries, replacements }: Data): number {
  const half = entries.length / 2;
  return median(() => {
    const contestant = create();
    return microsecondsOf(entries.length, () => {
      for (const entry of entries.slice(0, half)) contestant.track(entry);
      for (const entry of replacements.slice(0, half)) contestant.track(entry);
    });
  });
}

/** Microseconds of a query, `calls` to a round. */
function queryMicroseconds(create: () => Contestant, { entries, appIds }: Data, calls: number): number {
  const contestant = create();
  for (const entry of entries) contestant.track(entry);
  return median(() => {
    let found = 0;
    const figure = microsecondsOf(calls, () => {
      for (let index = 0; index < calls; index++) {
        found += contestant.query({ aaa: "aaa", appId: String((index * 7919) % appIds), subApp: "0", zzz: "zzz" });
      }
    });
    if (found < calls) throw new Error("a query has found nothing");
    return figure;
  });
}

function median(measure: () => number): number {
  return quantile(Array.from({ length: rounds }, measure), 0.5);
}

function microsecondsOf(calls: number, work: () => void): number {
  const startMs = performance.now();
  work();
  return ((performance.now() - startMs) / calls) * 1000;
}

export function measureIndexSizes(say: (line: string) => void): Row[] {
  say("label indexes by size");
  return sizes.flatMap((size) => {
    const data = dataOf(size);
    const row = (what: string, own: number, hashed: number, scan?: number): Row => ({
      what: `${what}, ${size}`,
      figure: `${own.toFixed(1)} µs`,
      comparedWith: `hash ${hashed.toFixed(1)} µs${scan === undefined ? "" : `, scan ${Math.round(scan)} µs`}`,
      ratio: hashed / own,
    });
    return [
      row("insert a selector", insertMicroseconds(selectorIndex, data), insertMicroseconds(hash, data)),
      row(
        "selectors of a label set",
        queryMicroseconds(selectorIndex, data, size),
        queryMicroseconds(hash, data, size),
        queryMicroseconds(selectorScan, data, scans),
      ),
      row("insert a label set", insertMicroseconds(labelSetIndex, data), insertMicroseconds(hash, data)),
      row(
        "label sets of a selector",
        queryMicroseconds(labelSetIndex, data, size),
        queryMicroseconds(hash, data, size),
        queryMicroseconds(labelSetScan, data, scans),
      ),
    ];
  });
}
