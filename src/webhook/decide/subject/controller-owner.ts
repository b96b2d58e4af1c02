/** Which controller a pod belongs to, by its owner references. */
import { asList, fieldsOf } from "../../../api/json.ts";

/** Kubernetes gives out UIDs of 36 characters. */
const uidLengthMax = 128;

/** UID of the object that controls the raw pod; undefined = nothing does. Never throws. */
export function controllerUIDOf(pod: unknown): string | undefined {
  const references = asList(fieldsOf(fieldsOf(pod)["metadata"])["ownerReferences"]).map(fieldsOf);
  const uid = references.find(({ controller }) => controller === true)?.["uid"];
  return typeof uid === "string" && uid.length <= uidLengthMax ? uid : undefined;
}
