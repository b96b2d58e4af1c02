/**
 * Which refusals a moment may change, and whose reviews may be held for that long instead of being refused at once
 * (docs/webhook.md#held-reviews).
 */
import { type Deletion } from "../deletion.ts";
import { type HoldReason } from "./decision.ts";
import { nodeController, podGarbageCollector } from "./subject/disguised-deletion.ts";
import { type RefusingProtector } from "./refusals/refusal.ts";

/** What a deletion waits for that all of these refuse; undefined = one of them refuses whatever happens soon. */
export function holdReasonOf(refusing: readonly RefusingProtector[], deletion: Deletion): HoldReason | undefined {
  const reasons = refusing.map((one) => reasonOf(one, deletion));
  if (reasons.length === 0 || reasons.includes(undefined)) return undefined;
  return reasons.includes("floor") ? "floor" : "promised";
}

function reasonOf({ verdict, owner }: RefusingProtector, { operation }: Deletion): HoldReason | undefined {
  // The bucket of a silent cell takes no quota, so what is promised is promised in cells that are heard.
  if (verdict.kind === "retry") {
    return verdict.cause === "unconfirmed" || verdict.cause === "lag-limit" ? "promised" : undefined;
  }
  if (verdict.kind !== "rejected" || verdict.missed !== undefined || verdict.figures.unconfirmed > 0) return undefined;
  if (verdict.isUnseen === true) return undefined;
  // When a workload is scaled down, its controller deletes pods while the generator lowers the floor. No PodProtector
  // says which state of its source it was made from. Nobody evicts pods because a workload was scaled down.
  return owner?.hasVanished === false && operation === "delete" ? "floor" : undefined;
}

/**
 * "by-owner": for a few controller owners at once, since a controller has few workers for all of them. "always": each
 * has its own thread, and tries again late or not at all.
 */
export type Holdability = "never" | "always" | "by-owner";

/**
 * Before Kubernetes 1.33 it preempts within the scheduling cycle, so that no pod is scheduled while one is held. No
 * review tells its version.
 */
const scheduler = "system:kube-scheduler";
export function holdabilityOf({ operation, lostNode }: Deletion, user: string): Holdability {
  // One worker, which goes through all pods of the cluster.
  if (lostNode !== undefined || user === podGarbageCollector) return "never";
  if (user === scheduler) return "never";
  return operation === "evict" || user === nodeController ? "always" : "by-owner";
}
