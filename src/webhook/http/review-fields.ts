/** What of a review is parsed (src/api/kept-fields.ts). A new reader of a review adds its own here. */
import { keptFields, type Kept, type KeptFields } from "../../api/kept-fields.ts";
import { podFields } from "../decide/subject/pod-fields.ts";

/** An Eviction, or the pod that a status write would leave behind. */
const object: Kept = {
  metadata: { annotations: true },
  deleteOptions: { dryRun: true, preconditions: { uid: true, resourceVersion: true } },
  status: { phase: true },
};

const review: Kept = {
  kind: true,
  apiVersion: true,
  request: {
    uid: true,
    operation: true,
    resource: true,
    subResource: true,
    namespace: true,
    name: true,
    userInfo: { username: true },
    dryRun: true,
    object,
    oldObject: podFields,
  },
};

/** Never throws. Overwrites `bytes`. */
export function reviewFields(bytes: Buffer): KeptFields {
  return keptFields(bytes, review);
}
