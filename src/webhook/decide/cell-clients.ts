/**
 * Which worker cluster holds the pods of a cell. Needed for evictions only: their reviews name the pod without showing
 * it.
 */
import { type KubeClient } from "../../kube/kube-client.ts";
import { assertNever } from "../../util/assert.ts";

/** The providers of --webhook-worker-client-provider. */
export type WorkerClients =
  | { readonly kind: "none" }
  /** One worker cluster for all cells. */
  | { readonly kind: "single"; readonly client: KubeClient }
  /** By cell ID; other cells are unknown. */
  | { readonly kind: "map"; readonly clients: ReadonlyMap<string, KubeClient> };

export type CellClient =
  | { readonly ok: true; readonly client: KubeClient }
  /** `tag` is the metric's word for `reason`, which is for people. */
  | { readonly ok: false; readonly tag: "NoneProvider" | "UnknownCell"; readonly reason: string };

/** The client of the worker cluster that holds the pods of `cellID`. */
export function cellClient(workers: WorkerClients, cellID: string): CellClient {
  switch (workers.kind) {
    case "none":
      return {
        ok: false,
        tag: "NoneProvider",
        reason: '--webhook-worker-client-provider is set to "none", so the pod of an eviction cannot be read',
      };
    case "single":
      return { ok: true, client: workers.client };
    case "map": {
      const client = workers.clients.get(cellID);
      return client === undefined
        ? { ok: false, tag: "UnknownCell", reason: `unknown cell ${JSON.stringify(cellID)}` }
        : { ok: true, client };
    }
    default:
      return assertNever(workers);
  }
}
