/** What the webhook decides about a review. The statuses are the values of the label `status` of webhook_request. */
import { type QuotaFigures } from "../../accounting/reserve/quota-figures.ts";

/** Upstream's, where it has one. */
export type RequestStatus =
  /** No PodProtector counts the pod. */
  | "Unmatched"
  | "AlreadyTerminating"
  /** A deletion of a pod that does not meet the criterion which it is judged by. */
  | "AlreadyUnready"
  /** All matching PodProtectors agree. */
  | "AdmittedAll"
  /** Extension: a write of a pod's status that is no deletion in disguise. */
  | "NotADeletion"
  /** Extension: allowed by the annotation force-delete, and would have been refused. */
  | "Forced"
  /** Extension: refused for the whole --orphaned-pod-grace, and now let go. */
  | "OrphanLetGo"
  /** Neither the deletion nor the eviction of a pod. */
  | "NotRelevant"
  /** The pod of an eviction does not exist. */
  | "NotFound"
  | "Conflict"
  /** Below the floor even when nothing unconfirmed was used. */
  | "Rejected"
  /** May be admitted when earlier admissions are confirmed. */
  | "RetryAdvised"
  /** Extension: the counts of the cell are not there, or answer another spec. */
  | "CountsPending"
  /** Extension: the pod lacks the label of --webhook-cell-label, or has another value than the cells that there are. */
  | "UnknownCell"
  /** Extension: nothing is heard from the cell of the pod. */
  | "CellSilent"
  /** Extension: the PodProtectors are not listed yet. */
  | "NotSynced"
  /** Extension: the PodProtector is invalid. */
  | "ProtectorUnusable"
  /** Extension: more PodProtectors of a core count the pod than are asked about one deletion. */
  | "TooManyProtectors"
  /** Extension: the core takes no writes, and this replica's share of its last known quota is used up. */
  | "CoreUnavailable"
  /** Extension: the PodProtector cannot be found to record the deletion. */
  | "ProtectorVanished"
  /** Extension: the PodProtector is gone without having been released, and stays in force. */
  | "ProtectorLost"
  /** Extension: not decided before the API server gives up. */
  | "DeadlineExceeded"
  /** Extension: more reviews are waiting than the limits allow. */
  | "Overloaded";

/** An entry of status.details.causes. */
export interface Cause {
  /** A word for programs. */
  readonly reason: string;
  readonly message: string;
  /** What it is about, for example core/namespace/name of a PodProtector. */
  readonly field?: string;
}

/** Audit annotations by key (no slashes; the API server puts the name of the webhook before them). */
export type Audit = Readonly<Record<string, string>>;

export interface Refused {
  readonly kind: "refused";
  readonly status: RequestStatus;
  readonly code: 404 | 409 | 429 | 500 | 503;
  /** metav1.Status.reason. */
  readonly reason: "NotFound" | "Conflict" | "TooManyRequests" | "InternalError" | "ServiceUnavailable";
  readonly message: string;
  readonly causes: readonly Cause[];
  readonly audit: Audit;
  /** The numbers that it is due to; absent = no PodProtector has counted, or none was asked. */
  readonly figures?: QuotaFigures;
  /** In shadow: the deletion was recorded by an earlier review, which has told of it. */
  readonly isRepeated?: boolean;
  /** What may change it within a moment (hold-rule.ts); absent = nothing, so that it is answered at once. */
  readonly awaits?: HoldReason;
}

/** "promised": admissions that have not settled. "floor": a floor that its source may have lowered just now. */
export type HoldReason = "promised" | "floor";

export interface Allowed {
  readonly kind: "allowed";
  /** What would have been answered, when dry-run or force-delete allowed it anyway. */
  readonly status: RequestStatus | "Error";
  readonly audit: Audit;
  /** Shown to the caller. */
  readonly warnings: readonly string[];
  /** What would have been answered if no PodProtector were in shadow, and everything else the same. */
  readonly shadowed?: Refused;
  /** After it had been held, and would have been refused without that. */
  readonly wasHeld?: true;
}

export type Decision =
  | Allowed
  | Refused
  /**
   * Cannot be decided: HTTP 500, and the failurePolicy of the API server decides. `tag` is upstream's word for the
   * metric.
   */
  | { readonly kind: "error"; readonly tag: string; readonly message: string };

export function allowed(status: RequestStatus, audit: Audit = {}): Allowed {
  return { kind: "allowed", status, audit, warnings: [] };
}

/** Allowed, although PodProtectors in shadow would have refused it. */
export function inShadow(decision: Allowed, shadowed: Refused): Allowed {
  return {
    ...decision,
    audit: { ...decision.audit, ...shadowed.audit, shadow: "1" },
    warnings: [...decision.warnings, `allowed in shadow mode: ${shadowed.message}`],
    shadowed,
  };
}

/** With --webhook-dry-run all PodProtectors are in shadow: what the answer would have been without the flag. */
export function unshadowed(decision: Decision): Decision {
  return decision.kind === "allowed" ? (decision.shadowed ?? decision) : decision;
}

/** A refusal that clients such as `kubectl drain` repeat by themselves. */
export function refusedForNow(
  status: RequestStatus,
  message: string,
  causes: readonly Cause[] = [],
  audit: Audit = {},
): Refused {
  return { kind: "refused", status, code: 429, reason: "TooManyRequests", message, causes, audit };
}
