/** What it is worth to count at once while somebody waits, in virtual time: the same figures on every machine. */
import { mutations } from "../../sim/mutations/catalog/catalog.ts";
import { Copies } from "../../sim/scenarios/rules/without-rule.ts";
import type * as FreshWorld from "./fresh-world.ts";
import { measureFreshness } from "./fresh-world.ts";
import { latencyText, quantile, type Row } from "../row.ts";

const returnMsMax = 150;
const waveWritesMax = 0.1;
const rule = "open-admissions-wait-for-the-rate";

export async function measureFreshCounts(say: (line: string) => void): Promise<Row[]> {
  say("counts that somebody waits for, and the same at the aggregation rate");
  const mutation = mutations.find(({ name }) => name === rule);
  if (mutation === undefined) throw new Error(`there is no mutation ${rule}`);
  const fresh = await measureFreshness();
  const world = await new Copies().load<typeof FreshWorld>(new URL("fresh-world.ts", import.meta.url), [mutation]);
  const usual = await world.measureFreshness();
  const median = quantile(fresh.returnsMs, 0.5);
  return [
    {
      what: "from a deletion that is carried out to the return of its quota, virtual time",
      figure: latencyText(fresh.returnsMs),
      comparedWith: `at the aggregation rate ${latencyText(usual.returnsMs)}`,
      ratio: quantile(usual.returnsMs, 0.5) / median,
      ...(median > returnMsMax && { exceeded: `the median is above ${returnMsMax} ms` }),
    },
    {
      what: "status writes of an aggregator for each deletion, 250 deletions/s of one object, virtual time",
      figure: writesText(fresh),
      comparedWith: `at the aggregation rate ${writesText(usual)}`,
      ratio: usual.waveWrites / fresh.waveWrites,
      ...(fresh.waveWrites > waveWritesMax && { exceeded: `more than ${waveWritesMax} are written` }),
    },
  ];
}

function writesText({ waveWrites, waveAttempts }: FreshWorld.Freshness): string {
  return `${waveWrites.toFixed(3)}, ${waveAttempts.toFixed(3)} with those that met a conflict`;
}
