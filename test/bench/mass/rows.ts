/** The rows of mass deletions: pairwise ratios of the turns, with their ranges. */
import { quantile, type Row } from "../row.ts";
import { type GuardKind } from "./guard.ts";
import { type TurnFigures } from "./stage.ts";
import { type WaveFigures, type WaveSpec } from "./wave.ts";

/** Of the latencies behind a webhook that allows everything. */
const p50Max = 2;
const p99Max = 3;
const largeP99MaxMs = 5_000;
const conflictPercentMax = 10;
/** Of the webhook. The first write of each knows nothing of the other's. */
const replicas = 2;
const titles: Readonly<Record<GuardKind, string>> = {
  nothing: "no guard",
  "allow-all": "allow-all webhook",
  podseidon: "Podseidon",
};

export type Turns = ReadonlyMap<GuardKind, readonly TurnFigures[]>;

export function rowsOf(what: string, spec: WaveSpec, turns: Turns): readonly Row[] {
  return (["cold", "warm"] as const).flatMap((warmth) => {
    const of = (kind: GuardKind): readonly WaveFigures[] => (turns.get(kind) ?? []).map((figures) => figures[warmth]);
    const rows = [
      latencyRow("p50", p50Max, of, ({ p50Ms }) => p50Ms),
      latencyRow("p99", p99Max, of, ({ p99Ms }) => p99Ms),
    ].map((row) => ({ ...row, what: `${what}, ${warmth}: ${row.what}` }));
    const [first, last] = rows;
    if (first === undefined || last === undefined) return rows;
    return [first, { ...last, besides: besidesOf(of), ...exceededIn(of("podseidon"), spec) }];
  });
}

export function largeRow(what: string, spec: WaveSpec, figures: TurnFigures): readonly Row[] {
  return (["cold", "warm"] as const).map((warmth) => {
    const { p50Ms, p99Ms } = figures[warmth];
    return {
      what: `${what}, ${warmth}: p99`,
      figure: `${ms(p99Ms)} (p50 ${ms(p50Ms)})`,
      comparedWith: `promised are ${ms(largeP99MaxMs)}`,
      ratio: largeP99MaxMs / p99Ms,
      goal: 1,
      besides: [countsText([figures[warmth]]), cpuText([figures[warmth]])],
      ...exceededIn([figures[warmth]], spec),
    };
  });
}

function latencyRow(
  name: string,
  timesMax: number,
  of: (kind: GuardKind) => readonly WaveFigures[],
  value: (figures: WaveFigures) => number,
): Row {
  const median = (kind: GuardKind): string => ms(quantile(of(kind).map(value), 0.5));
  const others = of("allow-all");
  const times = of("podseidon").map((figures, turn) => value(figures) / (others[turn] ? value(others[turn]) : NaN));
  const range = `${Math.min(...times).toFixed(2)} to ${Math.max(...times).toFixed(2)}`;
  return {
    what: `${name} of an admitted deletion`,
    figure: median("podseidon"),
    comparedWith:
      `${titles["allow-all"]} ${median("allow-all")}: ${quantile(times, 0.5).toFixed(2)} times (${range}); ` +
      `${titles.nothing} ${median("nothing")}`,
    ratio: 1 / quantile(times, 0.5),
    goal: Math.floor(100 / timesMax) / 100,
  };
}

function besidesOf(of: (kind: GuardKind) => readonly WaveFigures[]): readonly string[] {
  return [
    ...(Object.keys(titles) as GuardKind[]).map((kind) => `${titles[kind]}: ${cpuText(of(kind))}`),
    countsText(of("podseidon")),
  ];
}

/** Medians of the turns. */
function cpuText(turns: readonly WaveFigures[]): string {
  const names = Object.keys(turns[0]?.cpuMs ?? {});
  const each = names.map((name) => {
    return `${name} ${quantile(
      turns.map(({ cpuMs }) => cpuMs[name] ?? 0),
      0.5,
    ).toFixed(1)}`;
  });
  return `CPU in ms for each admitted deletion: ${each.join(", ")}`;
}

function countsText(turns: readonly WaveFigures[]): string {
  const sum = (value: (figures: WaveFigures) => number): number => turns.reduce((all, one) => all + value(one), 0);
  const perTurn = (value: (figures: WaveFigures) => number): string => (sum(value) / turns.length).toFixed(1);
  const { written, conflicts, percent } = conflictsOf(turns);
  return (
    `admitted ${perTurn(({ deleted }) => deleted)}, refused ${perTurn(({ refused }) => refused)}, otherwise ` +
    `${perTurn(({ otherwise }) => otherwise)}; status writes ${(written / turns.length).toFixed(1)}, conflicts ` +
    `${(conflicts / turns.length).toFixed(1)}, after the first of each webhook ${percent.toFixed(0)} % (promised ` +
    `${conflictPercentMax} %); left ${turns.map(({ left }) => left).join(", ")}`
  );
}

function conflictsOf(turns: readonly WaveFigures[]) {
  const written = turns.reduce((sum, one) => sum + one.written, 0);
  const conflicts = turns.reduce((sum, one) => sum + one.conflicts, 0);
  // Of two first writes one conflicts.
  const later = turns.reduce((sum, one) => sum + Math.max(0, one.conflicts - (replicas - 1)), 0);
  const attempts = written + conflicts - turns.length * replicas;
  return { written, conflicts, percent: (100 * later) / Math.max(1, attempts) };
}

function exceededIn(turns: readonly WaveFigures[], { floor }: WaveSpec): Pick<Row, "exceeded"> {
  const wrong = turns.find(({ left, lowest }) => left !== floor || lowest !== floor);
  return wrong === undefined
    ? {}
    : { exceeded: `${wrong.left} pods are left, at least ${wrong.lowest}, floor ${floor}` };
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
