/**
 * A client for accounts that may `update` but not `patch`, as upstream's are: a merge patch that is answered with 403
 * is made as a read and a write of the whole object instead. The write holds only for the version that was read, or for
 * the one that the patch names, so that nobody's change is lost.
 */
import { asObject } from "../api/json.ts";
import { type Clock, later, type MonotonicMs } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics } from "../util/metrics.ts";
import { isKubeError, type KubeClient, type KubeRequest } from "./kube-client.ts";

/**
 * A patch is tried again after so long: a right may be granted, and an API server that has just started forbids
 * everything for a moment. One refused request in ten minutes is nothing beside the writes that take its place.
 */
const patchAgainMs = 600_000;

/**
 * Resources whose patches are not tried again at once. A process patches some seven (four kinds of workloads,
 * PodProtectors, Leases, Events); beyond this number the patch is tried first each time.
 */
const rememberedMax = 16;

/**
 * The client with that substitute. Each resource is remembered for ten minutes. One log line for each, and
 * `kube_client_update_instead_of_patch_total` counts the writes. When the substitute is refused as well, the request
 * throws what the patch met.
 */
export function patchOrUpdate(
  client: KubeClient,
  { clock, logger, metrics }: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics },
): KubeClient {
  const updates = metrics.counter(
    "kube_client_update_instead_of_patch_total",
    "Objects written whole because the account may not patch them",
    ["cluster", "resource"],
  );
  /** Until when the patch is not tried. An entry stays until a patch succeeds. */
  const remembered = new Map<string, MonotonicMs>();

  const update = async (request: KubeRequest, resource: string): Promise<unknown> => {
    const read = asObject(await client.request({ ...request, method: "GET", body: undefined }));
    const body = mergePatched(read, request.body);
    const answer = await client.request({ ...request, method: "PUT", contentType: "application/json", body });
    updates.inc({ cluster: client.cluster, resource });
    return answer;
  };

  const patch = async (request: KubeRequest): Promise<unknown> => {
    const resource = resourceOf(request.path);
    const nowMs = clock.monotonicMs();
    const knownUntilMs = remembered.get(resource);
    if (knownUntilMs !== undefined && nowMs < knownUntilMs) return update(request, resource);
    try {
      const answer = await client.request(request);
      remembered.delete(resource);
      return answer;
    } catch (forbidden) {
      if (!isKubeError(forbidden, "forbidden")) throw forbidden;
      let answer: unknown;
      try {
        answer = await update(request, resource);
      } catch (error) {
        throw isKubeError(error, "forbidden") ? forbidden : error;
      }
      // Looked up anew: a patch that was sent beside this one may have told it.
      const isNew = !remembered.has(resource);
      if (isNew && remembered.size >= rememberedMax) return answer;
      remembered.set(resource, later(nowMs, patchAgainMs));
      if (isNew) {
        logger.warn("May not patch; writing whole objects instead", {
          cluster: client.cluster,
          resource,
          err: forbidden,
        });
      }
      return answer;
    }
  };

  return {
    cluster: client.cluster,
    request: (request) =>
      request.method === "PATCH" && request.contentType === "application/merge-patch+json"
        ? patch(request)
        : client.request(request),
    stream: (request, idleTimeoutMs) => client.stream(request, idleTimeoutMs),
    close: () => client.close(),
  };
}

/** RFC 7396. Null removes a field, an object is merged, everything else replaces what is there. */
function mergePatched(target: unknown, patch: unknown): unknown {
  const changes = asObject(patch);
  if (changes === undefined) return patch;
  const merged: Record<string, unknown> = { ...asObject(target) };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatched(merged[key], value);
  }
  return merged;
}

/** `apis/apps/v1/namespaces/default/deployments/web` -> `deployments.apps`. */
function resourceOf(path: string): string {
  const [root, ...parts] = path.split("/").slice(1);
  const group = root === "api" ? "" : `.${parts.shift()}`;
  const rest = parts.slice(1);
  const [resource = "", , subresource] = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest;
  return `${resource}${group}${subresource === undefined ? "" : `/${subresource}`}`;
}
