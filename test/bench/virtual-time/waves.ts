/** Waves of deletions of one PodProtector over two webhooks, in virtual time: the same figures on every machine. */
import { latencyText, type Row } from "../row.ts";
import { runSeeds, type Wave } from "./wave-world.ts";

/** Of all status writes, after each replica's first. The counts of aggregators cause most. */
const laterConflictsMax = 0.1;
const waves: readonly { readonly what: string; readonly wave: Omit<Wave, "slowness"> }[] = [
  { what: "600 deletions, 96 in flight", wave: { replicas: 2, inFlight: 96, pods: 600, room: 1_000_000, thinkMs: 15 } },
  {
    what: "2,000 deletions, 256 in flight",
    wave: { replicas: 2, inFlight: 256, pods: 2_000, room: 1_000_000, thinkMs: 15 },
  },
];

export async function measureWaves(say: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, wave } of waves) {
    for (const slowness of [1, 4, 12]) {
      const writes = `status writes of ${9 * slowness} ms`;
      say(`a wave in virtual time: ${what}, ${writes}`);
      const { latenciesMs, tried, conflicts, later, perSecond } = await runSeeds({ ...wave, slowness });
      rows.push({
        what: `a wave over two replicas, ${what}, ${writes}, virtual time: conflicts after each replica's first write`,
        figure: `${(100 * later).toFixed(1)} % of ${tried} writes`,
        comparedWith: `at most ${100 * laterConflictsMax} %`,
        ratio: laterConflictsMax / later,
        besides: [
          `${Math.round(perSecond)} admissions/s, ${latencyText(latenciesMs)}, longest ` +
            `${Math.max(...latenciesMs).toFixed(0)} ms, ${(tried / latenciesMs.length).toFixed(4)} writes each`,
          `all conflicts ${(100 * conflicts).toFixed(1)} %`,
        ],
        ...(later > laterConflictsMax && { exceeded: "replicas are in each other's way" }),
      });
    }
  }
  return rows;
}

const workers = 3;
const replicasOfASet = 2;
/** One caller at a time is a rolling update, 96 are a wave. */
const loads = [1, 96] as const;
/** A write takes 36 ms, as on a busy machine. */
const slowness = 4;

/**
 * What it costs to give each worker a set of webhooks of its own: status writes for each admission, with three workers
 * whose pods one PodProtector counts.
 */
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
