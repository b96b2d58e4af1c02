/** A deletion as a review asks for it, before any PodProtector looks at it. */
import { type Disruption } from "../accounting/reserve/disruption.ts";

/** `isForced`: allowed whatever the quota says, and recorded if possible. */
export type Deletion = Omit<Disruption, "isProtected"> & {
  /** The node of the pod, whose Node object is gone, when pod garbage collection ends it ("" = unknown). */
  readonly lostNode?: string | undefined;
};
