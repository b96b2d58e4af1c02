/**
 * A child process of the benchmark: the API double with a custom resource, which counts requests. Its parent makes and
 * changes objects by messages, so that they are not among what is counted (counted-core.ts).
 */
import {
  type Engine,
  type JsonObject,
  type KubeObject,
  permissivePodProtectorCrd,
  startApiServer,
} from "../../double/index.ts";
import { tellParent } from "./child.ts";
import { scaledCrd } from "../../double/scaled-crd.ts";

export interface ObjectChange {
  readonly namespace: string;
  readonly name: string;
  /** A merge patch. */
  readonly body: JsonObject;
  readonly subresource?: "status";
}

/** `resource` is a plural, such as `deployments`. */
export type DoubleOrder =
  | { readonly do: "create"; readonly resource: string; readonly objects: readonly JsonObject[] }
  | { readonly do: "change"; readonly resource: string; readonly changes: readonly ObjectChange[] }
  | { readonly do: "list" | "size" | "wipe"; readonly resource: string }
  /** The history of changes is lost and all watches end: whoever watches has to list again. */
  | { readonly do: "relist" }
  /** Requests so far, by method and what they are about: `GET databases/scale`. */
  | { readonly do: "counts" };

/** Listing again must not be needed because a reader was slow: the change of each object is kept some times. */
const historyChangesMax = 100_000;

const counts = new Map<string, number>();
const server = await startApiServer({ crds: [permissivePodProtectorCrd(), scaledCrd()], historyChangesMax });
server.setFaults(({ method, path, isWatch }) => {
  const what = `${isWatch ? "WATCH" : method} ${subjectOf(path)}`;
  counts.set(what, (counts.get(what) ?? 0) + 1);
  return undefined;
});

/** `/apis/apps/v1/namespaces/a/deployments/web/status` -> `deployments/status`; of no resource: the whole path. */
function subjectOf(path: string): string {
  const parts = path.split("/").slice(path.startsWith("/apis/") ? 4 : 3);
  const [resource, , subresource] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  if (resource === undefined) return path;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function typeOf(engine: Engine, resource: string) {
  const found = engine.registry.all().find((type) => type.resource === resource);
  if (found === undefined) throw new Error(`the double does not serve ${resource}`);
  return found;
}

/** What of an object the benchmark looks at. */
function seenOf({ metadata, ...rest }: KubeObject): JsonObject {
  return { name: metadata.name, namespace: metadata.namespace, spec: rest["spec"] };
}

async function carryOut(order: DoubleOrder): Promise<unknown> {
  const { engine } = server;
  switch (order.do) {
    case "create": {
      const type = typeOf(engine, order.resource);
      const uids: string[] = [];
      for (const object of order.objects) {
        const { namespace } = object["metadata"] as { namespace?: string };
        const { metadata } = await engine.create(type, type.namespaced ? namespace : undefined, object);
        uids.push(metadata.uid);
      }
      return uids;
    }
    case "change": {
      const type = typeOf(engine, order.resource);
      for (const { namespace, name, body, subresource } of order.changes) {
        const patch = { contentType: "application/merge-patch+json", body };
        await engine.patch(type, namespace, name, patch, subresource === undefined ? {} : { subresource });
      }
      return undefined;
    }
    case "list":
      return engine.list(typeOf(engine, order.resource)).items.map(seenOf);
    case "size":
      return engine.list(typeOf(engine, order.resource)).items.length;
    case "wipe":
      return engine.wipe(typeOf(engine, order.resource));
    case "relist":
      engine.forgetHistory();
      return server.dropWatches();
    case "counts":
      return Object.fromEntries(counts);
  }
}

process.on("message", (order: DoubleOrder) => {
  carryOut(order).then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
tellParent({ answer: server.url });
