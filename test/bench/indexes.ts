/** The two label indexes against the scan of everything that they replace, on a fleet-sized namespace. */
import { compileSelector, createLabelSetIndex, createSelectorIndex } from "../../src/label-index/index.ts";
import { createNaiveLabelSetIndex, createNaiveSelectorIndex } from "../unit/label-index/naive.ts";
import { quantile, type Row } from "./row.ts";

const appsCount = 5000;
const podsPerApp = 10;
const rounds = 5;
const names = Array.from({ length: appsCount }, (_, index) => `app-${index}`);
const labelsOf = (app: string): Record<string, string> => ({ app, tier: "web", zone: "z1" });
const selectorOf = (app: string): { matchLabels: Record<string, string> } => ({ matchLabels: { app } });

/** Microseconds of one call, the median of some rounds; `calls` to a round. */
function microsecondsOf(calls: number, call: (app: string) => number): number {
  const samples = Array.from({ length: rounds }, () => {
    const startMs = performance.now();
    let found = 0;
    for (let index = 0; index < calls; index += 1) found += call(names[(index * 7919) % appsCount] ?? "");
    if (found === 0) throw new Error("nothing was found");
    return ((performance.now() - startMs) / calls) * 1000;
  });
  return quantile(samples, 0.5);
}

export function measureIndexes(say: (line: string) => void): Row[] {
  say("label indexes");
  const [selectors, scannedSelectors] = [createSelectorIndex(), createNaiveSelectorIndex()];
  const [labelSets, scannedLabelSets] = [createLabelSetIndex(), createNaiveLabelSetIndex()];
  for (const app of names) {
    selectors.track(app, selectorOf(app));
    scannedSelectors.track(app, selectorOf(app));
    for (let pod = 0; pod < podsPerApp; pod += 1) {
      labelSets.track(`${app}-${pod}`, labelsOf(app));
      scannedLabelSets.track(`${app}-${pod}`, labelsOf(app));
    }
  }
  const protectorsOfPod = microsecondsOf(20_000, (app) => selectors.query(labelsOf(app)).length);
  const scanned = microsecondsOf(20, (app) => scannedSelectors.query(labelsOf(app)).length);
  const podsOfProtector = microsecondsOf(5000, (app) => {
    const compiled = compileSelector(selectorOf(app));
    if (!compiled.ok) throw new Error(compiled.reason);
    return labelSets.query(compiled.selector).length;
  });
  const scannedPods = microsecondsOf(5, (app) => scannedLabelSets.query(selectorOf(app)).length);
  const row = (what: string, own: number, scan: number): Row => ({
    what,
    figure: `${own.toFixed(1)} µs`,
    comparedWith: `scan ${Math.round(scan)} µs`,
    ratio: scan / own,
  });
  return [
    row(`protectors of a pod, among ${appsCount}`, protectorsOfPod, scanned),
    row(`pods of a protector, among ${appsCount * podsPerApp}`, podsOfProtector, scannedPods),
  ];
}
