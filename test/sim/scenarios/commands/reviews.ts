/**
 * Unusual reviews, sent to the first webhook as its API server would: of a webhook configuration that asks about too
 * much, of a proxy that garbles fields, of cells that nobody knows.
 *
 *   review kubelet-ends X | collector-runs X | collector-ends X     a write of the pod's status
 *   review nodeless-end X | long-node-end X                         a collector's, of a pod with an unusual node
 *   review empty-end                                                a collector's, without the pod
 *   review long-uid X | long-name X | long-namespace X              the deletion of a pod that no API server has
 *   review late-eviction X | eviction X [cell=C]                    late: its deadline has passed
 *   review deletion X | impatient-deletion X | dry-run X | preemption X
 *                                                                   impatient: with a timeout of 2 s
 *
 * With [owner=O] the pod is controlled by O, and the controller of ReplicaSets asks; with [asked] the answer is not
 * awaited ("answer X" tells it).
 */
import { type JsonObject } from "../../../double/index.ts";
import { asObject } from "../../../double/engine/object.ts";
import { podGarbageCollector } from "../../clusters/webhook-configurations.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Arguments } from "./arguments.ts";
import { type Run, type Stage } from "./stage.ts";

const owning = { userInfo: { username: "system:serviceaccount:kube-system:replicaset-controller" } };

interface Odd {
  readonly request: JsonObject;
  readonly timeoutMs?: number;
}

/** That they are sent to. */
const replica = "webhook-1";
const collector = { userInfo: { username: podGarbageCollector } };
const ofStatus = { operation: "UPDATE", subResource: "status" };

function ended(pod: JsonObject, phase = "Failed"): JsonObject {
  return { ...pod, status: { ...asObject(pod["status"]), phase } };
}

function withMetadata(pod: JsonObject, change: JsonObject): JsonObject {
  return { ...pod, metadata: { ...asObject(pod["metadata"]), ...change } };
}

function onNode(pod: JsonObject, nodeName: string | undefined): JsonObject {
  const { nodeName: _, ...spec } = asObject(pod["spec"]);
  return { ...pod, spec: nodeName === undefined ? spec : { ...spec, nodeName } };
}

function endOf(pod: JsonObject): Odd {
  return { request: { ...ofStatus, ...collector, oldObject: pod, object: ended(pod) } };
}

const eviction: JsonObject = {
  operation: "CREATE",
  subResource: "eviction",
  object: { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace } },
};

const kinds: Readonly<Record<string, (pod: JsonObject) => Odd>> = {
  "kubelet-ends": (pod) => ({ request: { ...ofStatus, oldObject: pod, object: ended(pod) } }),
  "collector-runs": (pod) => ({ request: { ...ofStatus, ...collector, oldObject: pod, object: pod } }),
  "collector-ends": endOf,
  "collector-completes": (pod) => ({
    request: { ...ofStatus, ...collector, oldObject: pod, object: ended(pod, "Succeeded") },
  }),
  "nodeless-end": (pod) => endOf(onNode(pod, undefined)),
  "long-node-end": (pod) => endOf(onNode(pod, "n".repeat(300))),
  "empty-end": (pod) => ({ request: { ...ofStatus, ...collector, object: ended(pod) } }),
  "long-uid": (pod) => ({ request: { oldObject: withMetadata(pod, { uid: "u".repeat(200) }) } }),
  "long-name": (pod) => ({ request: { oldObject: withMetadata(pod, { name: "n".repeat(300) }) } }),
  "long-namespace": (pod) => ({ request: { oldObject: withMetadata(pod, { namespace: "n".repeat(100) }) } }),
  "late-eviction": () => ({ request: eviction, timeoutMs: 1 }),
  eviction: () => ({ request: eviction }),
  deletion: (pod) => ({ request: { oldObject: pod } }),
  "impatient-deletion": (pod) => ({ request: { oldObject: pod }, timeoutMs: 2_000 }),
  "dry-run": (pod) => ({ request: { oldObject: pod, dryRun: true } }),
  preemption: (pod) => ({ request: { userInfo: { username: "system:kube-scheduler" }, oldObject: pod } }),
};

export const reviewing: Run = async (stage, args) => {
  const odd = kinds[args.word("the kind of review")];
  if (odd === undefined) throw args.error("nobody sends such a review");
  const { id, name, cell, pods } = stage.podOf(args);
  const pod = JSON.parse(JSON.stringify(pods.find(name) ?? {})) as JsonObject;
  const path = args.setting("cell") ?? cell;
  const owner = args.setting("owner");
  const asked = owner === undefined ? odd(pod) : ownedBy(owner, odd, pod);
  const answer = send(stage, asked, { name, path, args });
  return args.flag("asked") ? stage.later(id, answer) : await stage.during(answer);
};

function ownedBy(owner: string, odd: (pod: JsonObject) => Odd, pod: JsonObject): Odd {
  const { request, ...others } = odd(withMetadata(pod, { ownerReferences: [{ uid: owner, controller: true }] }));
  return { ...others, request: { ...owning, ...request } };
}

async function send(
  stage: Stage,
  { request, timeoutMs = 10_000 }: Odd,
  { name, path, args }: { readonly name: string; readonly path: string; readonly args: Arguments },
): Promise<string> {
  const process = stage.process(replica);
  const fetch = process.fetch();
  const node = process.node();
  if (fetch === undefined || node === undefined) throw args.error("the webhook does not run");
  const review = {
    uid: "11111111-2222-4333-8444-555555555555",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    operation: "DELETE",
    name,
    namespace,
    userInfo: { username: "somebody" },
    ...request,
  };
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: review });
  const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  const asked = new Request(`http://webhook/${path}?timeout=${timeoutMs}ms`, { method: "POST", headers, body });
  const arrival = { node, atMonotonicMs: node.clock.monotonicMs(), timeoutMs, goneAtMs: undefined };
  stage.world.reviews.arrived(arrival);
  const answer = await fetch(asked, {} as never);
  const text = await answer.text();
  stage.world.reviews.left(arrival, replica, answer.status === 200 ? undefined : text);
  if (answer.status !== 200) return `refused: ${answer.status} ${text}`;
  const { allowed, status } = asObject(asObject(JSON.parse(text))["response"]);
  return allowed === true ? "allowed" : `refused: ${JSON.stringify(status)}`;
}
