/**
 * Refusals of deletions that would be admitted, because the record of the admission could not be written: no write, no
 * admission (docs/refusals.md#the-core-takes-no-writes).
 */
import { type Refused, refusedForNow } from "../decision.ts";

/** The core answers 404 to the status write. */
export function vanished(id: string): Refused {
  return refusedForNow(
    "ProtectorVanished",
    `PodProtector ${id} was not found when recording the pod deletion, ` +
      "and is temporarily unable to admit pod deletion. If it was deleted on purpose, try again in a few seconds",
    [{ reason: "ProtectorVanished", message: "the core cluster answered 404 to the status write", field: id }],
    { "reject-by-podprotector": id },
  );
}

/** The core takes no writes, and its last known quota is used up. */
export function coreUnavailable(id: string, trouble: string): Refused {
  const why = coreTroubleText(trouble);
  return refusedForNow(
    "CoreUnavailable",
    `PodProtector ${id} is temporarily unable to admit pod deletion: ${why}, ` +
      "and this webhook replica has used up its share of the last known quota. " +
      "Nothing was deleted; try again when the core cluster is back",
    [{ reason: "CoreUnavailable", message: why, field: id }],
    { "reject-by-podprotector": id },
  );
}

/** The caller gives up. `trouble`: the last failure of the core while it lasts. */
export function notInTime(id: string, trouble: string | undefined): Refused {
  const why = trouble === undefined ? "too many deletions compete for it" : coreTroubleText(trouble);
  return refusedForNow(
    "DeadlineExceeded",
    `PodProtector ${id} could not record the pod deletion in time: ${why}. Nothing was deleted; try again`,
    [{ reason: "DeadlineExceeded", message: why, field: id }],
    { "reject-by-podprotector": id },
  );
}

/** Too many deletions of the PodProtector wait. */
export function queueFull(id: string): Refused {
  return refusedForNow(
    "Overloaded",
    `PodProtector ${id} has too many deletions waiting and is temporarily unable to admit pod deletion. ` +
      "Try again in a few seconds",
    [{ reason: "Overloaded", message: "the queue of this webhook replica is full", field: id }],
    { "reject-by-podprotector": id },
  );
}

function coreTroubleText(trouble: string): string {
  return `its core cluster does not accept writes (${trouble})`;
}
