/** Consistent lists (resourceVersion unset: nothing that was committed before the request is missing). */
import { parseResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { KubeError, resourcePath, type KubeClient, type KubeRequest, type Resource } from "../kube-client.ts";

/** What to list or watch. */
export interface ListScope {
  readonly resource: Resource;
  /** Undefined = all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** As in KubeRequest. */
  readonly preferProtobuf?: boolean;
  /** As in KubeRequest. */
  readonly preferMetadata?: boolean;
}

/** client-go's page: a few MiB of pods, so neither side holds much at once. */
const pageSizeDefault = 500;
/** Five million objects: more than etcd holds. A server that always says "continue" must not cause an endless loop. */
const pagesMaxDefault = 10_000;

export interface ListOptions extends Pick<KubeRequest, "signal" | "timeoutMs"> {
  readonly onPage?: () => void;
  /** Objects of a page; default 500. */
  readonly pageSize?: number;
  /** A list with more pages ends as "malformed"; default 10,000. */
  readonly pagesMax?: number;
}

/**
 * Lists page by page and calls `onItem` with each raw object. Resolves to the version of the list, which is that of its
 * first page: all pages show the same moment. Throws KubeError, of kind "gone" when the list took so long that its
 * moment was compacted away; what `onItem` received until then is void. `onPage` is called for each page that arrives.
 */
export async function listAll(
  client: KubeClient,
  scope: ListScope,
  onItem: (raw: unknown) => void,
  options: ListOptions = {},
): Promise<ResourceVersion> {
  const path = resourcePath(scope.resource, { namespace: scope.namespace });
  const { pageSize = pageSizeDefault, pagesMax = pagesMaxDefault, signal, timeoutMs } = options;
  let continueToken: string | undefined;
  let version: ResourceVersion | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const body = await client.request({
      method: "GET",
      path,
      query: {
        labelSelector: scope.labelSelector,
        fieldSelector: scope.fieldSelector,
        limit: pageSize,
        continue: continueToken,
      },
      ...(scope.preferProtobuf !== undefined && { preferProtobuf: scope.preferProtobuf }),
      ...(scope.preferMetadata !== undefined && { preferMetadata: scope.preferMetadata }),
      ...(signal !== undefined && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    const list = decodeList(body, path);
    options.onPage?.();
    version ??= list.version;
    for (const item of list.items) onItem(item);
    if (list.continueToken === "") return version;
    continueToken = list.continueToken;
  }
  throw new KubeError("malformed", `GET ${path}: the list has more than ${pagesMax} pages`);
}

/**
 * A barrier: everything that was committed before this call is at or below the version that it returns (LIST with limit
 * 1 and resourceVersion unset). Throws KubeError.
 */
export async function listBarrier(
  client: KubeClient,
  resource: Resource,
  namespace?: string,
  options: Pick<KubeRequest, "signal" | "newConnection"> = {},
): Promise<ResourceVersion> {
  const path = resourcePath(resource, { namespace });
  const body = await client.request({ method: "GET", path, query: { limit: 1 }, ...options });
  return decodeList(body, path).version;
}

function decodeList(
  body: unknown,
  path: string,
): { readonly version: ResourceVersion; readonly items: readonly unknown[]; readonly continueToken: string } {
  const { metadata, items } = (body ?? {}) as {
    readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown };
    /** Go writes an empty list of some types as null. */
    readonly items?: unknown;
  };
  const version = parseResourceVersion(metadata?.resourceVersion);
  const list = items ?? [];
  if (version === undefined || !Array.isArray(list)) {
    throw new KubeError("malformed", `GET ${path}: the answer is not a list with a resourceVersion`);
  }
  return { version, items: list, continueToken: typeof metadata?.continue === "string" ? metadata.continue : "" };
}
