/**
 * The label indexes: on a fleet-sized namespace, against the scan of everything that they replace; and at 1,000 to
 * 100,000 entries of one namespace, on data like that of the Go original's benchmarks:
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
const appsCount = 5000;
const podsPerApp = 10;
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

/** `selectorOf`: what is asked for, given the labels of what is looked for. */
const labelSetIndex = (selectorOf: (labels: Labels) => Labels): Contestant => {
  const index = createLabelSetIndex();
  return {
    track: ({ name, labels }) => index.track(name, labels),
    query: (labels) => {
      const compiled = compileSelector({ matchLabels: selectorOf(labels) });
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

const labelSetScan = (selectorOf: (labels: Labels) => Labels): Contestant => {
  const scan = createNaiveLabelSetIndex();
  return {
    track: ({ name, labels }) => scan.track(name, labels),
    query: (labels) => scan.query({ matchLabels: selectorOf(labels) }).length,
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

/** Microseconds of a query among these entries, `calls` to a round. */
function queryMicroseconds(
  contestant: Contestant,
  entries: Iterable<Entry>,
  calls: number,
  labelsOf: (index: number) => Labels,
): number {
  for (const entry of entries) contestant.track(entry);
  return median(() => {
    let found = 0;
    const figure = microsecondsOf(calls, () => {
      for (let index = 0; index < calls; index++) found += contestant.query(labelsOf(index * 7919));
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

export function measureIndexes(say: (line: string) => void): Row[] {
  say("label indexes");
  const ofFleet = measureFleet();
  say("label indexes by size");
  return [...ofFleet, ...sizes.flatMap(measureSize)];
}

/** PodProtectors that select one label of their pods, against the scan. */
function measureFleet(): Row[] {
  const labelsOf = (index: number): Labels => ({ app: `app-${index % appsCount}`, tier: "web", zone: "z1" });
  const selectorOf = ({ app }: Labels): Labels => ({ app: app! });
  const apps = Array.from({ length: appsCount }, (_, index) => labelsOf(index));
  const protectors = apps.map((labels) => ({ name: labels["app"]!, labels: selectorOf(labels) }));
  const pods = Array.from({ length: podsPerApp }, (_, pod) =>
    apps.map((labels) => ({ name: `${labels["app"]}-${pod}`, labels })),
  ).flat();
  const row = (what: string, own: number, scan: number): Row => ({
    what,
    figure: `${own.toFixed(1)} µs`,
    comparedWith: `scan ${Math.round(scan)} µs`,
    ratio: scan / own,
  });
  return [
    row(
      `protectors of a pod, among ${appsCount}`,
      queryMicroseconds(selectorIndex(), protectors, 20_000, labelsOf),
      queryMicroseconds(selectorScan(), protectors, 20, labelsOf),
    ),
    row(
      `pods of a protector, among ${pods.length}`,
      queryMicroseconds(labelSetIndex(selectorOf), pods, 5000, labelsOf),
      queryMicroseconds(labelSetScan(selectorOf), pods, 5, labelsOf),
    ),
  ];
}

function measureSize(size: number): Row[] {
  const data = dataOf(size);
  const labelsOf = (index: number): Labels => ({
    aaa: "aaa",
    appId: String(index % data.appIds),
    subApp: "0",
    zzz: "zzz",
  });
  const selectorOf = ({ aaa, appId, zzz }: Labels): Labels => ({ aaa: aaa!, appId: appId!, zzz: zzz! });
  const query = (contestant: Contestant, calls: number): number =>
    queryMicroseconds(contestant, data.entries, calls, labelsOf);
  const row = (what: string, own: number, hashed: number, scan?: number): Row => ({
    what: `${what}, ${size}`,
    figure: `${own.toFixed(1)} µs`,
    comparedWith: `hash ${hashed.toFixed(1)} µs${scan === undefined ? "" : `, scan ${Math.round(scan)} µs`}`,
    ratio: hashed / own,
  });
  return [
    row("insert a selector", insertMicroseconds(selectorIndex, data), insertMicroseconds(hash, data)),
    row("selectors of a label set", query(selectorIndex(), size), query(hash(), size), query(selectorScan(), scans)),
    row(
      "insert a label set",
      insertMicroseconds(() => labelSetIndex(selectorOf), data),
      insertMicroseconds(hash, data),
    ),
    row(
      "label sets of a selector",
      query(labelSetIndex(selectorOf), size),
      query(hash(), size),
      query(labelSetScan(selectorOf), scans),
    ),
  ];
}
