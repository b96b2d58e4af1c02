/** Why a record was not written of a deletion that goes all the same, as a word for webhook_record_failure. */
import { errorLabel } from "../../../kube/kube-client.ts";
import { type SubmitOutcome } from "../../../retry-batch/index.ts";
import { assertNever } from "../../../util/assert.ts";
import { type ReservationResult } from "../../protector/status-writer.ts";

/** Of best-effort records that were left out. */
export const leftOutLabels = { "full-buffer": "FullBuffer", "unknown-cell": "UnknownCell" } as const;
export type LeftOutLabel = (typeof leftOutLabels)[keyof typeof leftOutLabels];

/** Undefined = it was written, or there was none to be written. */
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
