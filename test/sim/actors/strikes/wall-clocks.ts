/** How wall clocks are set wrong, and right again. */
import { type Rng } from "../../../../src/util/rng.ts";
import { type SimProcess } from "../../processes/process.ts";

/** Of the largest step, in both directions together: some by moments, some by hours. */
const rangesMs = { moments: 60_000, hours: 4 * 3_600_000 };
const hoursShare = 0.4;
/** What people notice in the end. */
const noticedMs = 120_000;

export function drawStepMs(rng: Rng): number {
  const [step, size] = [rng.next() - 0.5, rng.next()];
  return step * (size < hoursShare ? rangesMs.hours : rangesMs.moments);
}

/** Clocks that are wrong by more than moments are set. */
export function setClocks(processes: readonly SimProcess[]): void {
  for (const process of processes) {
    const node = process.node();
    const errorMs = node?.wallClockErrorMs ?? 0;
    if (Math.abs(errorMs) > noticedMs) node?.jumpWallClock(-errorMs);
  }
}
