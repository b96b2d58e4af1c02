/** A deletion as a review asks for it, before any PodProtector looks at it. */
import { type HealthCriterion } from "../accounting/count/health-criterion.ts";
import { type Disruption } from "../accounting/reserve/disruption.ts";

/** `isForced`: allowed whatever the quota says, and recorded if possible. */
export type Deletion = Omit<Disruption, "isProtected" | "criterion"> & {
  /** What it asks for; undefined = each PodProtector judges by its own. */
  readonly criterion: HealthCriterion | undefined;
  /** The node of the pod, whose Node object is gone, when pod garbage collection ends it ("" = unknown). */
  readonly lostNode?: string | undefined;
};
