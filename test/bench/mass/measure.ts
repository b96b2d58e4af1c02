/**
 * `make bench ONLY=mass`: what Podseidon costs in the minute it is for (docs/performance.md#mass-deletions). The pods
 * of two clusters are deleted all at once: without a guard, behind a webhook that allows everything, behind Podseidon.
 */
import { type Row } from "../row.ts";
import { type GuardKind } from "./guard.ts";
import { largeRow, rowsOf } from "./rows.ts";
import { Stage, type TurnFigures } from "./stage.ts";
import { type WaveSpec } from "./wave.ts";

interface Scene {
  readonly what: string;
  readonly spec: WaveSpec;
}

const pods = { podsPerCell: 300, inFlightPerCell: 48 } as const;
const scenes: readonly Scene[] = [
  { what: "600 deletions, 96 in flight, floor 500", spec: { ...pods, floor: 500 } },
  {
    what: "600 deletions without grace, 96 in flight, floor 500",
    spec: { ...pods, floor: 500, gracePeriodSeconds: 0 },
  },
  { what: "600 deletions, 96 in flight, floor 1", spec: { ...pods, floor: 1 } },
];
const large: Scene = {
  what: "2,000 deletions, 256 in flight, floor 1,500",
  spec: { podsPerCell: 1000, inFlightPerCell: 128, floor: 1500 },
};
const kinds: readonly GuardKind[] = ["nothing", "allow-all", "podseidon"];

export interface MassOptions {
  /** How often each scene runs with each guard. */
  readonly turns: number;
  /** Only scenes with this text in their names; empty = all. */
  readonly text: string;
}

/**
 * Yields rows as soon as they are measured. Throws a KubeAssetsError where the programs are neither there nor can be
 * built.
 */
export async function* measureMassDeletions(
  say: (line: string) => void,
  { turns, text }: MassOptions,
): AsyncGenerator<Row, void> {
  const stage = await Stage.start(say);
  try {
    for (const scene of scenes.filter(({ what }) => what.includes(text))) {
      const done = new Map(kinds.map((kind) => [kind, [] as TurnFigures[]]));
      // A, B, C, A, B, C …: what else the machine does meets all of them alike.
      for (let turn = 1; turn <= turns; turn++) {
        for (const [kind, figures] of done) {
          say(`${scene.what}: ${kind}, ${turn} of ${turns}`);
          figures.push(await stage.turn(kind, scene.spec));
        }
      }
      yield* rowsOf(scene.what, scene.spec, done);
    }
    if (!large.what.includes(text)) return;
    say(large.what);
    yield* largeRow(large.what, large.spec, await stage.turn("podseidon", large.spec));
  } finally {
    await stage.stop();
  }
}
