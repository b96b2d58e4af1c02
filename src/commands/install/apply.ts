/**
 * Makes objects of a cluster as they are wanted. What others have added to an object stays: only the wanted fields are
 * compared and written, lists as a whole.
 */
import { asObject, fieldsOf, type Json } from "../../api/json.ts";
import { isKubeError, type KubeClient, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { type Clock } from "../../util/clock.ts";
import { type Access, type Reading, reading, readingOne } from "../clusters/reading.ts";
import { waitEstablished } from "../restore/restored-definition.ts";

/** A cluster that gets something. */
export interface Site {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type State = "create" | "change" | "in place";

/** Who may make roles and webhook configurations may do this as well. */
const manager = { role: "cluster-admin" };

/** Rejects only for programmer errors. */
export async function stateOf(site: Site, wanted: Json): Promise<Reading<State>> {
  const read = await readObject(site, wanted);
  if (!read.ok) return read;
  const { value: present } = read;
  return { ok: true, value: present === undefined ? "create" : isIncluded(wanted, present) ? "in place" : "change" };
}

/** Resolves to what was done. Rejects only for programmer errors. */
export async function apply(site: Site, wanted: Json): Promise<Reading<State>> {
  const done = await applyOnce(site, wanted);
  // Somebody else, such as a second run of this command, has made it in between.
  return !done.ok && done.error.kind === "alreadyExists" ? applyOnce(site, wanted) : done;
}

async function applyOnce(site: Site, wanted: Json): Promise<Reading<State>> {
  const state = await stateOf(site, wanted);
  if (!state.ok || state.value === "in place") return state;
  const at = placeOf(wanted);
  const { client, signal } = site;
  const isNew = state.value === "create";
  const access: Access = { cluster: client.cluster, verb: isNew ? "create" : "patch", ...at, ...manager };
  const done = await reading(access, () =>
    isNew
      ? client.request({
          method: "POST",
          path: resourcePath(at.resource, { namespace: at.namespace }),
          body: wanted,
          signal,
        })
      : client.request({
          method: "PATCH",
          path: resourcePath(at.resource, at),
          contentType: "application/merge-patch+json",
          body: wanted,
          signal,
        }),
  );
  return done.ok ? state : done;
}

/** The object as it is stored; undefined = it is not there. Rejects only for programmer errors. */
export async function readObject({ client, signal }: Site, named: Json): Promise<Reading<Json | undefined>> {
  const read = await readingOne(client, { ...placeOf(named), ...manager }, signal);
  if (read.ok) return { ok: true, value: fieldsOf(read.value) };
  return read.error.kind === "notFound" ? { ok: true, value: undefined } : read;
}

/** Undefined = it is gone, else why not. Rejects only for programmer errors. */
export async function removeObject({ client, signal }: Site, named: Json): Promise<string | undefined> {
  const at = placeOf(named);
  const access: Access = { cluster: client.cluster, verb: "delete", ...at, ...manager };
  const done = await reading(access, () =>
    client.request({ method: "DELETE", path: resourcePath(at.resource, at), signal }),
  );
  return done.ok || done.error.kind === "notFound" ? undefined : done.problem;
}

interface Place {
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string;
}

function placeOf({ apiVersion, kind, metadata }: Json): Place {
  const { namespace, name } = fieldsOf(metadata);
  return {
    resource: resourceOf(String(apiVersion), String(kind)),
    namespace: typeof namespace === "string" ? namespace : undefined,
    name: String(name),
  };
}

/** All kinds of ours have regular plurals. */
function resourceOf(apiVersion: string, kind: string): Resource {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const lower = kind.toLowerCase();
  const resource = lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : `${lower}s`;
  return { group: group ?? "", version: version ?? "", resource };
}

/** Whether `present` has all of `wanted`; API servers add defaults everywhere, and leave out lists that are empty. */
export function isIncluded(wanted: unknown, present: unknown): boolean {
  if (Array.isArray(wanted) && wanted.length === 0 && present === undefined) return true;
  if (Array.isArray(wanted))
    return (
      Array.isArray(present) &&
      wanted.length === present.length &&
      wanted.every((one, index) => isIncluded(one, present[index]))
    );
  const fields = asObject(wanted);
  if (fields === undefined) return wanted === present;
  const others = asObject(present);
  return others !== undefined && Object.entries(fields).every(([key, value]) => isIncluded(value, others[key]));
}

/** `ServiceAccount podseidon-system/podseidon-webhook`. */
export function titleOf({ kind, metadata }: Json): string {
  const { namespace, name } = fieldsOf(metadata);
  return `${String(kind)} ${typeof namespace === "string" ? `${namespace}/` : ""}${String(name)}`;
}

export interface Planned {
  /** What would be done, one line each; empty = it is as it should be. */
  readonly changes: readonly string[];
  /** What could not be seen, and why. */
  readonly unseen: readonly string[];
}

export interface Step {
  /** What is done, and what for: a sentence without its full stop. */
  readonly title: string;
  /** Rejects only for programmer errors. */
  plan(): Promise<Planned>;
  /** Undefined = it is done, else why not. `tell` gets what people should know. Rejects only for programmer errors. */
  run(tell: (line: string) => void): Promise<string | undefined>;
}

/** Objects of one kind that a plan names one by one; of more only the first, and how many there are. */
const namedMax = 5;

/** Makes objects as they are wanted, in their order. */
export function objectsStep(title: string, site: Site, objects: readonly Json[]): Step {
  return {
    title,
    plan: () => planObjects(site, objects),
    async run() {
      for (const object of objects) {
        const done = await apply(site, object);
        if (!done.ok) return done.problem;
        if (object["kind"] === "CustomResourceDefinition" && done.value !== "in place") {
          const problem = await established(site);
          if (problem !== undefined) return problem;
        }
      }
      return undefined;
    },
  };
}

export async function planObjects(site: Site, objects: readonly Json[]): Promise<Planned> {
  const unseen: string[] = [];
  const changes: (readonly [string, Json])[] = [];
  for (const object of objects) {
    const state = await stateOf(site, object);
    if (!state.ok) unseen.push(state.problem);
    else if (state.value !== "in place") changes.push([state.value, object]);
  }
  const groups = Map.groupBy(changes, ([state, { kind }]) => `${state} ${String(kind)}`);
  return {
    unseen,
    changes: [...groups].map(([what, those]) =>
      lineOf(
        what,
        those.map(([, object]) => object),
      ),
    ),
  };
}

function lineOf(what: string, objects: readonly Json[]): string {
  const names = objects.slice(0, namedMax).map((object) => titleOf(object).replace(/^\S+ /, ""));
  const more = objects.length - namedMax;
  return more > 0 ? `${what} ${names.join(", ")} and ${more} more` : `${what} ${names.join(", ")}`;
}

/** Undefined = PodProtectors can be made. */
async function established({ client, clock, signal }: Site): Promise<string | undefined> {
  try {
    const isServed = await waitEstablished({ core: client, clock, signal });
    return isServed ? undefined : `${client.cluster}: the CRD is not served after a minute`;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return `${client.cluster}: whether the CRD is served is not known: ${error.message}`;
  }
}
