/**
 * Reads of a command: a failure becomes one line for people, and the command goes on with what it may read. A right
 * that is missing is named, with what to ask for.
 */
import {
  isKubeError,
  type KubeClient,
  type KubeError,
  type Resource,
  resourcePath,
  resourceText,
} from "../../kube/kube-client.ts";
import { listAll } from "../../kube/watch/index.ts";
import { printable } from "../../util/printable.ts";

/** What is asked of a cluster. */
export interface Access {
  /** Name of the cluster, as the client has it. */
  readonly cluster: string;
  readonly verb: "get" | "list" | "watch" | "create" | "patch" | "update" | "delete";
  readonly resource: Resource;
  readonly subresource?: string;
  /** Undefined = all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** The role that has the right; by default "podseidon-look" for reads and "podseidon-steer" for writes. */
  readonly role?: string;
}

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem`: one line. */
  | { readonly ok: false; readonly isForbidden: boolean; readonly problem: string; readonly error: KubeError };

/** Rejects only for programmer errors. */
export async function reading<T>(access: Access, read: () => Promise<T>): Promise<Reading<T>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { ok: false, isForbidden: error.kind === "forbidden", problem: problemOf(access, error), error };
  }
}

/** What `decode` makes of all objects there, page by page; undefined is left out. Throws KubeError. */
export async function listed<T>(
  client: KubeClient,
  scope: Parameters<typeof listAll>[1],
  decode: (raw: unknown) => T | undefined,
  options: Parameters<typeof listAll>[3],
): Promise<readonly T[]> {
  const found: T[] = [];
  const take = (raw: unknown): void => {
    const one = decode(raw);
    if (one !== undefined) found.push(one);
  };
  await listAll(client, scope, take, options);
  return found;
}

/** One object. Rejects only for programmer errors. */
export function readingOne(
  client: KubeClient,
  at: Omit<Access, "cluster" | "verb"> & { readonly name: string },
  signal: AbortSignal,
): Promise<Reading<unknown>> {
  const path = resourcePath(at.resource, { namespace: at.namespace, name: at.name });
  const access: Access = { ...at, cluster: client.cluster, verb: "get" };
  return reading(access, () => client.request({ method: "GET", path, signal }));
}

function problemOf(access: Access, error: KubeError): string {
  if (error.kind === "forbidden") return missingRight(access);
  const why = error.status?.message ?? error.message;
  return printable(`${access.cluster}: cannot ${whatIsAsked(access)}: ${why}`);
}

/** What to ask for, in one line. */
export function missingRight(access: Access): string {
  const role = access.role ?? (["get", "list", "watch"].includes(access.verb) ? "podseidon-look" : "podseidon-steer");
  return printable(`${access.cluster}: you may not ${whatIsAsked(access)}; ask for the role ${role}`);
}

function whatIsAsked(access: Access): string {
  const { verb, namespace, name } = access;
  const what = `${verb} ${resourceOf(access)}${name === undefined ? "" : ` ${name}`}`;
  return namespace === undefined ? what : `${what} in namespace ${namespace}`;
}

/** `leases.coordination.k8s.io`. */
function resourceOf({ resource, subresource }: Access): string {
  const plain = resourceText(resource);
  return subresource === undefined ? plain : `${plain}/${subresource}`;
}
