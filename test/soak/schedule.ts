/** What happens when in a soak of some length: fixed by the length, so that two runs can be compared. */

/** Worker clusters by index. */
export const workerNames = ["worker-1", "worker-2"] as const;
/** The cluster that answers late, and then not at all. */
export const sickWorker = "worker-2";
export const clusterNames = ["core", ...workerNames] as const;
export type ClusterName = (typeof clusterNames)[number];
/** What leads: one of two replicas. */
export const electedNames = ["generator", "aggregator-worker-1", "aggregator-worker-2"] as const;
export type ElectedName = (typeof electedNames)[number];

export type Happening =
  /** A new image for the `turn`-th workload in every worker. */
  | { readonly do: "roll"; readonly turn: number }
  /** A workload comes that was never there, and leaves. */
  | { readonly do: "visit" | "leave"; readonly turn: number }
  | { readonly do: "scale"; readonly turn: number }
  /** All watches of the cluster end; `forget`: what changed meanwhile is lost, too, so that clients list again. */
  | { readonly do: "disconnect"; readonly cluster: ClusterName; readonly forget: boolean }
  /** A stranger takes the Lease, and gives it back some seconds later. */
  | { readonly do: "takeLease"; readonly elected: ElectedName }
  /** The leader is told to end, and is started again. */
  | { readonly do: "endLeader"; readonly elected: ElectedName }
  | { readonly do: "sicken"; readonly how: "slow" | "stalled" | "well" };

export type Scheduled = Happening & { readonly atSeconds: number };

/** Periods in a run of two hours. */
const periodSeconds = { roll: 60, scale: 120, visit: 240, disconnect: 240, takeLease: 240, endLeader: 480 } as const;
const visitSeconds = 100;
const fullSeconds = 7_200;
/** Denser than that, one rolling update would begin before the last one ends. */
const paceMax = 8;
/** The worker is sick three times, 20 s slow and 20 s without answers, or a tenth of a short run. */
const sickAt = [1 / 6, 1 / 2, 4 / 5] as const;
const sickSecondsMax = 40;
const forgetEvery = 3;
/** Processes are ended in the first third only: the code of a new one warms up for minutes. */
const endingPart = 1 / 3;

/** How many times as dense as in two hours: 1 for two hours and more, at most 8. */
export function paceOf(seconds: number): number {
  return Math.min(paceMax, Math.max(1, fullSeconds / seconds));
}

/**
 * In the order of time. Processes are ended so early that those whose growth is judged in the second half are
 * warm; there, leaders change by lost Leases.
 */
export function scheduleOf(seconds: number): readonly Scheduled[] {
  const pace = paceOf(seconds);
  const each = (periodOf: number, untilSeconds: number, happening: (turn: number) => Happening): Scheduled[] => {
    const period = periodOf / pace;
    const found: Scheduled[] = [];
    // Half a period late, so that they do not all come at once.
    for (let turn = 0; (turn + 0.5) * period < untilSeconds; turn += 1)
      found.push({ ...happening(turn), atSeconds: (turn + 0.5) * period });
    return found;
  };
  const visitLasts = visitSeconds / pace;
  return [
    ...each(periodSeconds.roll, seconds, (turn) => ({ do: "roll", turn })),
    ...each(periodSeconds.scale, seconds, (turn) => ({ do: "scale", turn })),
    ...each(periodSeconds.visit, seconds, (turn) => ({ do: "visit", turn })),
    ...each(periodSeconds.visit, seconds, (turn) => ({ do: "leave", turn })).map((leave) => ({
      ...leave,
      atSeconds: leave.atSeconds + visitLasts,
    })),
    ...each(periodSeconds.disconnect, seconds, (turn) => ({
      do: "disconnect",
      cluster: clusterNames[turn % clusterNames.length]!,
      forget: Math.floor(turn / clusterNames.length) % forgetEvery === forgetEvery - 1,
    })),
    ...each(periodSeconds.takeLease, seconds, (turn) => ({
      do: "takeLease",
      elected: electedNames[turn % electedNames.length]!,
    })),
    ...each(periodSeconds.endLeader, seconds * endingPart, (turn) => ({
      do: "endLeader",
      elected: electedNames[turn % electedNames.length]!,
    })),
    ...sicknesses(seconds),
  ]
    .filter(({ atSeconds }) => atSeconds < seconds)
    .toSorted((a, b) => a.atSeconds - b.atSeconds);
}

function sicknesses(seconds: number): readonly Scheduled[] {
  const lasts = Math.min(sickSecondsMax, seconds / 10);
  return sickAt.flatMap((part): Scheduled[] => [
    { do: "sicken", how: "slow", atSeconds: part * seconds },
    { do: "sicken", how: "stalled", atSeconds: part * seconds + lasts / 2 },
    { do: "sicken", how: "well", atSeconds: part * seconds + lasts },
  ]);
}
