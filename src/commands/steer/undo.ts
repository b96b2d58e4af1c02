/**
 * Undoes the held deletion of a workload (docs/mass-changes.md#undo): the object is made again, and its pods are not
 * touched. Its dependents are left without an owner first, so that nothing collects them, and the new object adopts
 * them. Where a step fails the text says how far it has come; the manifest is printed before the first one.
 */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { finalizer } from "../../api/v1alpha1/names.ts";
import { isKubeError, type KubeClient, type KubeRequest, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { pods } from "../../kube/resources.ts";
import { deployments } from "../fleet/replicas.ts";
import { type MonotonicMs, sleep } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { type Access, listed, reading } from "../clusters/reading.ts";
import { type CommandContext, type CommandEnd, wrongUsage } from "../command.ts";
import { readTarget } from "../explain/target.ts";
import { Problem } from "../../config/reading/problem.ts";
import { jsonText } from "../text/format.ts";

interface UndoableKind {
  readonly resource: Resource;
  /** What the objects of the kind own. */
  readonly dependents: Resource;
}

const kinds: Readonly<Record<string, UndoableKind>> = {
  Deployment: { resource: deployments, dependents: { group: "apps", version: "v1", resource: "replicasets" } },
  StatefulSet: { resource: { group: "apps", version: "v1", resource: "statefulsets" }, dependents: pods },
  ReplicaSet: { resource: { group: "apps", version: "v1", resource: "replicasets" }, dependents: pods },
};

/** Between two looks while something is waited for. */
const pauseMs = 500;
/** The garbage collector takes seconds; in a large cluster, or after a restart, a minute. */
const waitMsMax = 120_000;

/** Controllers write the object's status now and then. */
const freeAttemptsMax = 10;
const conflict = "others write the object again and again";

/** Of the object that is undone. */
interface Undoing {
  readonly context: CommandContext;
  readonly client: KubeClient;
  readonly kind: UndoableKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** `workload`: KIND/NAME, in the namespace of -n. */
export async function undo(
  context: CommandContext,
  clusters: OpenClusters,
  workload: string,
  isDryRun: boolean,
): Promise<CommandEnd> {
  const [kindText = "", nameText = "", ...more] = workload.split("/");
  const target = readTarget(kindText, nameText, clusters.objectNamespace);
  if (target instanceof Problem || more.length > 0 || target.kind !== "workload") {
    return wrongUsage(`option --undo: say KIND/NAME, such as deployment/web, with -n NAMESPACE`);
  }
  const { sourceKind, namespace, name } = target;
  const kind = kinds[sourceKind];
  if (kind === undefined) return wrongUsage(`option --undo: only for ${Object.keys(kinds).join(", ")}`);
  const [client, ...others] = clusters.cores.values();
  if (client === undefined || others.length > 0) return wrongUsage("option --undo: say one --core");
  const { signal } = context;
  const path = resourcePath(kind.resource, { namespace, name });
  const at = { resource: kind.resource, namespace, name };
  const read = await asked(client, { ...at, verb: "get" }, { method: "GET", path, signal });
  if (typeof read === "string") return { exitCode: 1, problem: read };
  const problem = whyNot(read, `${sourceKind} ${namespace}/${name}`);
  if (problem !== undefined) return { exitCode: 1, problem };
  const uid = String(fieldsOf(read["metadata"])["uid"]);
  const manifest = manifestOf(read, sourceKind);
  context.write(
    `${printable(`${sourceKind} ${namespace}/${name} is made again, with its pods as they are. Its manifest:`)}\n` +
      jsonText(manifest, true),
  );
  if (isDryRun) return { exitCode: 0 };
  return await steps({ context, client, kind, namespace, name, uid }, manifest);
}

async function steps(undoing: Undoing, manifest: Json): Promise<CommandEnd> {
  const { context, client, kind, namespace, name, uid } = undoing;
  const { signal } = context;
  const at = { resource: kind.resource, namespace, name };
  const path = resourcePath(kind.resource, { namespace, name });
  const fail = (what: string): CommandEnd => ({
    exitCode: 1,
    problem: `${what}. The manifest is printed above; go on by docs/mass-changes.md#undo`,
  });
  const body = { propagationPolicy: "Orphan", preconditions: { uid } };
  const deleted = await asked(client, { ...at, verb: "delete" }, { method: "DELETE", path, body, signal });
  if (typeof deleted === "string") return fail(deleted);
  say(context, `1. ${name} was deleted once more, so that what it owns is left`);
  const left = await waitFor(undoing, () => areLeft(undoing));
  if (left !== undefined) return fail(left);
  say(context, `2. nothing is owned by it any more`);
  const freed = await freeOf(undoing);
  if (freed !== undefined) return fail(freed);
  const gone = await waitFor(undoing, async () => (await uidNow(undoing)) !== uid);
  if (gone !== undefined) return fail(`${gone}: another finalizer may hold it`);
  say(context, `3. it is gone, and its PodProtector is in force`);
  const created = await asked(
    client,
    { ...at, name: undefined, verb: "create" },
    { method: "POST", path: resourcePath(kind.resource, { namespace }), body: manifest, signal },
  );
  if (typeof created === "string") return fail(created);
  say(context, `4. it is made again, and adopts what the former one owned`);
  return { exitCode: 0 };
}

function say({ write }: CommandContext, text: string): void {
  write(`${printable(text)}\n`);
}

/** What is wrong with undoing it; undefined = nothing. */
function whyNot(raw: Json, what: string): string | undefined {
  const { deletionTimestamp, finalizers } = fieldsOf(raw["metadata"]);
  if (deletionTimestamp === undefined) return `${what} is not being deleted: there is nothing to undo`;
  const held = asList(finalizers);
  if (held.includes("foregroundDeletion"))
    return `${what} is deleted in the foreground, so what it owns is being deleted already: it cannot be undone`;
  return held.includes(finalizer) ? undefined : `${what} is not held by Podseidon: its finalizer is not there`;
}

/** What is sent to make it again: without what the API server gives. */
function manifestOf(raw: Json, kind: string): Json {
  const { name, namespace, labels, annotations } = fieldsOf(raw["metadata"]);
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace, labels, annotations },
    spec: raw["spec"],
  };
}

/** Whether nothing is owned by it any more, and the garbage collector has finished with it: then its finalizer goes. */
async function areLeft({ client, kind, namespace, name, uid, context }: Undoing): Promise<boolean> {
  const path = resourcePath(kind.resource, { namespace, name });
  const present = await client.request({ method: "GET", path, signal: context.signal });
  if (asList(fieldsOf(fieldsOf(present)["metadata"])["finalizers"]).includes("orphan")) return false;
  const ownedOnly = (raw: unknown): true | undefined => {
    const owners = asList(fieldsOf(fieldsOf(raw)["metadata"])["ownerReferences"]);
    return owners.some((owner) => fieldsOf(owner)["uid"] === uid) ? true : undefined;
  };
  const scope = { resource: kind.dependents, namespace };
  return (await listed(client, scope, ownedOnly, { signal: context.signal })).length === 0;
}

/** Takes our finalizer off, and no other. Somebody else may be writing the object: then again. */
async function freeOf(undoing: Undoing): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    const problem = await freeOnce(undoing);
    if (problem !== conflict || attempt === freeAttemptsMax) return problem;
    await sleep(undoing.context.clock, pauseMs, undoing.context.signal);
  }
}

async function freeOnce({ client, kind, namespace, name, uid, context }: Undoing): Promise<string | undefined> {
  const { signal } = context;
  const path = resourcePath(kind.resource, { namespace, name });
  const at = { resource: kind.resource, namespace, name };
  const read = await asked(client, { ...at, verb: "get" }, { method: "GET", path, signal });
  if (typeof read === "string") return read;
  const { finalizers, resourceVersion, uid: present } = fieldsOf(read["metadata"]);
  if (present !== uid) return "another object has its name by now";
  const others = asList(finalizers).filter((one) => one !== finalizer);
  const body = { metadata: { resourceVersion, finalizers: others.length > 0 ? others : null } };
  const contentType = "application/merge-patch+json" as const;
  const request = { method: "PATCH", path, body, contentType, signal } as const;
  const access: Access = { ...at, cluster: client.cluster, verb: "patch", role: "edit" };
  const patched = await reading(access, () => client.request(request));
  if (patched.ok) return undefined;
  return patched.error.kind === "conflict" ? conflict : patched.problem;
}

/** Of the object of that name; undefined = there is none. */
async function uidNow({ client, kind, namespace, name, context }: Undoing): Promise<unknown> {
  const path = resourcePath(kind.resource, { namespace, name });
  try {
    const answer = await client.request({ method: "GET", path, signal: context.signal });
    return fieldsOf(fieldsOf(answer)["metadata"])["uid"];
  } catch (error) {
    if (isKubeError(error, "notFound")) return undefined;
    throw error;
  }
}

/** Undefined when it has come; else why it has not. */
async function waitFor({ context }: Undoing, hasCome: () => Promise<boolean>): Promise<string | undefined> {
  const { clock, signal } = context;
  const until = (clock.monotonicMs() + waitMsMax) as MonotonicMs;
  for (;;) {
    try {
      if (await hasCome()) return undefined;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return error.message;
    }
    if (signal.aborted) return "stopped";
    if (clock.monotonicMs() >= until) return `waited ${waitMsMax / 1000} s in vain`;
    await sleep(clock, pauseMs, signal);
  }
}

/** The answer, or what went wrong in one line. */
async function asked(
  client: KubeClient,
  access: Omit<Access, "cluster">,
  request: KubeRequest,
): Promise<Json | string> {
  const read = await reading({ ...access, cluster: client.cluster, role: "edit" }, () => client.request(request));
  return read.ok ? fieldsOf(read.value) : read.problem;
}
