/** Saved PodProtectors, made again with their status. */
import { asObject, fieldsOf, type Json } from "../../api/json.ts";
import { annotations, apiVersion } from "../../api/v1alpha1/names.ts";
import { asKubeError, isKubeError, type KubeError, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors } from "../../kube/resources.ts";
import { inTurns, type RestoreSite } from "./restored-definition.ts";
import { nameOf } from "./saved-objects.ts";

export interface RestoredCounts {
  readonly created: number;
  /** They were there: made by somebody else, or by a run before. */
  readonly present: number;
  /** Statuses that were given back; others had one by then. */
  readonly statuses: number;
  /** `namespace/name: why`. */
  readonly failures: readonly string[];
}

/** Of an object that is made again. Versions, UIDs and times are the API server's. */
const keptMetadata = ["name", "namespace", "labels", "annotations", "finalizers", "ownerReferences"] as const;

/** The generator has let go what is marked so. */
export function isReleased(item: Json): boolean {
  return fieldsOf(fieldsOf(item["metadata"])["annotations"])[annotations.released] !== undefined;
}

/** All but those that were released. Rejects only for programmer errors. */
export async function restoreObjects(site: RestoreSite, items: readonly Json[]): Promise<RestoredCounts> {
  const counts = { created: 0, present: 0, statuses: 0 };
  const failures: string[] = [];
  await inTurns(
    items.filter((item) => !isReleased(item)),
    async (item) => {
      try {
        const { object, isNew } = await createOrRead(site, item);
        counts[isNew ? "created" : "present"] += 1;
        if (await giveStatus(site, object, item["status"])) counts.statuses += 1;
      } catch (thrown) {
        const error: KubeError = asKubeError(thrown);
        failures.push(`${nameOf(item)}: ${error.status?.message ?? error.message}`);
      }
    },
  );
  return { ...counts, failures };
}

async function createOrRead(
  { core, signal }: RestoreSite,
  item: Json,
): Promise<{ readonly object: Json; readonly isNew: boolean }> {
  const saved = fieldsOf(item["metadata"]);
  const { namespace, name } = saved;
  const at = { namespace: String(namespace) };
  const metadata = Object.fromEntries(
    keptMetadata.flatMap((key) => (saved[key] === undefined ? [] : [[key, saved[key]]])),
  );
  const body = { apiVersion, kind: "PodProtector", metadata, spec: item["spec"] };
  try {
    const object = await core.request({ method: "POST", path: resourcePath(podProtectors, at), body, signal });
    return { object: fieldsOf(object), isNew: true };
  } catch (error) {
    if (!isKubeError(error, "alreadyExists")) throw error;
    const path = resourcePath(podProtectors, { ...at, name: String(name) });
    return { object: fieldsOf(await core.request({ method: "GET", path, signal })), isNew: false };
  }
}

/** False = there was none, or somebody was faster: their counts are newer. Throws KubeError. */
async function giveStatus({ core, signal }: RestoreSite, object: Json, status: unknown): Promise<boolean> {
  if (asObject(status) === undefined || object["status"] !== undefined) return false;
  const { namespace, name } = fieldsOf(object["metadata"]);
  const at = { namespace: String(namespace), name: String(name), subresource: "status" };
  try {
    await core.request({ method: "PUT", path: resourcePath(podProtectors, at), body: { ...object, status }, signal });
    return true;
  } catch (error) {
    if (isKubeError(error, "conflict")) return false;
    throw error;
  }
}
