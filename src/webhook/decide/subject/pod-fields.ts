/** What of a pod is parsed, whoever sends it: an API server in a review, or in the answer to a read. */
import { asList, fieldsOf } from "../../../api/json.ts";
import { keptFields, type Kept } from "../../../api/kept-fields.ts";

/** Read by subject.ts, gate-review.ts, controllerUIDOf and readPodRecord. A new reader adds its own here. */
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

/** Kubernetes gives out UIDs of 36 characters. */
const uidLengthMax = 128;

/** UID of the object that controls the raw pod; undefined = nothing does. Never throws. */
export function controllerUIDOf(pod: unknown): string | undefined {
  const references = asList(fieldsOf(fieldsOf(pod)["metadata"])["ownerReferences"]).map(fieldsOf);
  const uid = references.find(({ controller }) => controller === true)?.["uid"];
  return typeof uid === "string" && uid.length <= uidLengthMax ? uid : undefined;
}
