/** All PodProtectors of a core. */
import { fieldsOf } from "../../api/json.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";

/** Present, and of no use to anybody: webhooks refuse what it may protect. */
export interface InvalidProtector {
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
}

export interface ListedProtectors {
  readonly valid: readonly StoredProtector[];
  readonly invalid: readonly InvalidProtector[];
}

/** An object has 2 kB as a rule and 1 MB at most, so a page is small enough to be read at once. */
const pageSize = 250;

/** Page by page. Throws KubeError. */
export async function listProtectors(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ListedProtectors> {
  const valid: StoredProtector[] = [];
  const invalid: InvalidProtector[] = [];
  await listAll(
    client,
    { resource: podProtectors, namespace },
    (raw) => {
      const read = readProtector(raw);
      if (read.ok) valid.push(read.stored);
      else invalid.push({ ...placeOf(raw), reason: read.reason });
    },
    { signal, pageSize },
  );
  return { valid, invalid };
}

function placeOf(raw: unknown): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = fieldsOf(fieldsOf(raw)["metadata"]);
  return {
    namespace: typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
  };
}
