/** What of a pod is parsed, whoever sends it: an API server in a review, or in the answer to a read. */
import { keptFields, type Kept } from "../../../api/kept-fields.ts";

/** Read by subject.ts, controller-owner.ts, gate-review.ts and readPodRecord. A new reader adds its own here. */
export const podFields: Kept = {
  metadata: {
    name: true,
    namespace: true,
    uid: true,
    resourceVersion: true,
    labels: true,
    annotations: true,
    deletionTimestamp: true,
    ownerReferences: true,
  },
  spec: { nodeName: true },
  status: { phase: true, conditions: true },
};

/** Reads a pod of which only these are wanted; undefined when it is none. Overwrites `body`. */
export function parsePod(body: Buffer): unknown {
  const fields = keptFields(body, podFields);
  if (!fields.ok) return undefined;
  try {
    return JSON.parse(fields.text);
  } catch {
    return undefined;
  }
}
