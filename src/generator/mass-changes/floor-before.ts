/**
 * The annotation floor-before of a PodProtector: the highest floor that it had lately, before its source lowered it.
 * It makes a floor that is lowered in several steps count as one, and is what a new leader counts by. Pure.
 */
import { formatWholeSeconds, parseTime } from "../../api/micro-time.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";

/** Changes within this time of each other may be one disaster. Longer than a garbage collector needs for thousands. */
export const windowMicros = 600_000_000;

export interface FloorBefore {
  readonly highest: number;
  readonly at: EpochMicros;
}

/** What the annotation says, if that is within the window; undefined also when it cannot be read. */
export function floorBeforeOf({ metadata }: PodProtector, now: EpochMicros): FloorBefore | undefined {
  const noted = readFloorBefore({ metadata });
  return noted === undefined || Math.abs(now - noted.at) > windowMicros ? undefined : noted;
}

/** The same, however long ago: the floor before it was lowered last. */
export function lastFloorBefore({ metadata }: Pick<PodProtector, "metadata">): number | undefined {
  return readFloorBefore({ metadata })?.highest;
}

function readFloorBefore({ metadata }: Pick<PodProtector, "metadata">): FloorBefore | undefined {
  const [, digits, time] = /^(\d{1,9})@(.+)$/.exec(metadata.annotations?.[annotations.floorBefore] ?? "") ?? [];
  const at = parseTime(time);
  return digits === undefined || at === undefined ? undefined : { highest: Number(digits), at };
}

export function formatFloorBefore({ highest, at }: FloorBefore): string {
  return `${highest}@${formatWholeSeconds(at)}`;
}

/** For a floor that is lowered from `highest` now: the highest one stays noted while it is in the window. */
export function keptFloorBefore(protector: PodProtector, highest: number, now: EpochMicros): string {
  const known = floorBeforeOf(protector, now);
  return formatFloorBefore(known !== undefined && known.highest >= highest ? known : { highest, at: now });
}

/** Whether a floor that falls like that counts. */
export function isDeepFall(highest: number, to: number): boolean {
  return highest > 0 && (to === 0 || to * 2 < highest);
}
