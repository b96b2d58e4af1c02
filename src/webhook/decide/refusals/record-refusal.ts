/**
 * Records of admissions that could not be written. Where the admission needs one the deletion is refused: no write, no
 * admission (docs/refusals.md#the-core-takes-no-writes). Where it goes all the same, a metric counts why.
 */
import { errorLabel } from "../../../kube/kube-client.ts";
import { type SubmitOutcome } from "../../../retry-batch/index.ts";
import { assertNever } from "../../../util/assert.ts";
import { type ReservationResult } from "../../protector/status-writer.ts";
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
  return `its core cluster takes no writes (${trouble})`;
}

/** Of best-effort records that were left out. */
export const leftOutLabels = {
  "full-buffer": "FullBuffer",
  "unknown-cell": "UnknownCell",
  "retiring-cell": "CellRetiring",
} as const;
export type LeftOutLabel = (typeof leftOutLabels)[keyof typeof leftOutLabels];

/** As a word for webhook_record_failure; undefined = it was written, or there was none to be written. */
export function recordFailure(outcome: SubmitOutcome<ReservationResult>): string | undefined {
  switch (outcome.kind) {
    case "done": {
      if (outcome.result.kind === "vanished" || outcome.result.kind === "tombstone") return "Vanished";
      if (outcome.result.kind === "not-in-force") return undefined;
      if (outcome.result.kind === "unusable") return "Unusable";
      if (outcome.result.kind === "core-unavailable") return "CoreUnavailable";
      const { verdict } = outcome.result;
      if (verdict.kind !== "admitted") return "FullBuffer";
      return verdict.leftOut === undefined ? undefined : leftOutLabels[verdict.leftOut];
    }
    case "failed":
      return errorLabel(outcome.error);
    case "cancelled":
      return "Cancelled";
    case "overloaded":
      return "Overloaded";
    default:
      return assertNever(outcome);
  }
}
