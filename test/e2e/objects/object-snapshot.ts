/**
 * All objects that an API server has, for a comparison of before and after. Left out is what moves by itself: versions,
 * status, who wrote which field, renewals of Leases, and Events.
 */
import { type AdminClient, type ObjectList } from "../clusters/admin-client.ts";
import { second, waitFor } from "../clusters/wait.ts";

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

interface AnyObject {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly namespace?: string; readonly name: string };
}

const leftOutKinds: ReadonlySet<string> = new Set(["Event", "ComponentStatus"]);
const leftOutFields: ReadonlySet<string> = new Set(["status", "metadata"]);
const keptMetadata = ["uid", "labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] as const;

/** By `kind namespace/name`: what an object has, as JSON. */
export type Snapshot = ReadonlyMap<string, string>;

export async function takeSnapshot(admin: AdminClient): Promise<Snapshot> {
  const objects = new Map<string, string>();
  for (const root of await groupVersions(admin)) {
    const { resources } = await admin.get<{ readonly resources: readonly ApiResource[] }>(root);
    for (const { name, kind, verbs } of resources) {
      if (!verbs.includes("list") || leftOutKinds.has(kind)) continue;
      // A custom resource whose definition a case has just made again is answered 429 for a moment.
      const { items } = await waitFor(`${name} are listed`, 30 * second, () => {
        return admin.get<ObjectList<AnyObject>>(`${root}/${name}`);
      });
      for (const item of items) {
        const { namespace = "", name: own } = item.metadata;
        objects.set(`${kind} ${namespace}/${own}`, contentOf(kind, item));
      }
    }
  }
  return objects;
}

/** What was added, removed or changed, one line each. */
export function difference(before: Snapshot, after: Snapshot): readonly string[] {
  const added = [...after.keys()].filter((key) => !before.has(key)).map((key) => `added ${key}`);
  const removed = [...before.keys()].filter((key) => !after.has(key)).map((key) => `removed ${key}`);
  const changed = [...after].flatMap(([key, content]) => {
    const former = before.get(key);
    return former === undefined || former === content ? [] : [`changed ${key}: ${former} -> ${content}`];
  });
  return [...added, ...removed, ...changed];
}

async function groupVersions(admin: AdminClient): Promise<readonly string[]> {
  interface Group {
    readonly preferredVersion: { readonly groupVersion: string };
  }
  const { groups } = await admin.get<{ readonly groups: readonly Group[] }>("/apis");
  return ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
}

function contentOf(kind: string, object: AnyObject): string {
  const metadata = Object.fromEntries(keptMetadata.map((key) => [key, object.metadata[key]]));
  if (kind === "Lease") return JSON.stringify({ metadata });
  const fields = Object.entries(object).filter(([key]) => !leftOutFields.has(key));
  return JSON.stringify({ metadata, ...Object.fromEntries(fields) });
}
