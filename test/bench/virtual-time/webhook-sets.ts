/**
 * What it costs to give each worker a set of webhooks of its own, in virtual time: status writes for each admission,
 * with three workers whose pods one PodProtector counts.
 */
import { latencyText, type Row } from "../row.ts";
import { runSeeds } from "./wave-world.ts";

const workers = 3;
const replicasOfASet = 2;
/** One caller at a time is a rolling update, 96 are a wave. */
const loads = [1, 96] as const;
/** A write takes 36 ms, as on a busy machine. */
const slowness = 4;

export async function measureWebhookSets(say: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const inFlight of loads) {
    say(`one webhook set or three in virtual time: ${inFlight} in flight`);
    const wave = { inFlight, pods: 600, room: 1_000_000, thinkMs: 15, slowness };
    const one = await runSeeds({ ...wave, replicas: replicasOfASet });
    const each = await runSeeds({ ...wave, replicas: replicasOfASet * workers });
    const writesOf = ({ tried, latenciesMs }: typeof one): number => tried / latenciesMs.length;
    const textOf = ({ later, perSecond, latenciesMs }: typeof one): string =>
      `${(100 * later).toFixed(1)} % conflicts, ${Math.round(perSecond)} admissions/s, ${latencyText(latenciesMs)}`;
    rows.push({
      what: `a set of two webhooks in each of three workers, ${inFlight} in flight: status writes for an admission`,
      figure: writesOf(each).toFixed(3),
      comparedWith: `one set for all: ${writesOf(one).toFixed(3)}`,
      ratio: writesOf(one) / writesOf(each),
      besides: [`a set in each: ${textOf(each)}`, `one set: ${textOf(one)}`],
    });
  }
  return rows;
}
