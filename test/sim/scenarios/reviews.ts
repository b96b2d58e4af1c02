/**
 * Unusual reviews, sent to the first webhook as its API server would: of a webhook configuration that asks about too
 * much, of a proxy that garbles fields, of cells that nobody knows.
 *
 *   review kubelet-ends X | collector-runs X | collector-ends X     a write of the pod's status
 *   review nodeless-end X | long-node-end X                         a collector's, of a pod with an unusual node
 *   review empty-end                                                a collector's, without the pod
 *   review long-uid X | long-name X | long-namespace X              the deletion of a pod that no API server has
 *   review late-eviction X | eviction X [cell=C]                    late: its deadline has passed
 */
import { type JsonObject } from "../../double/index.ts";
import { asObject } from "../../double/engine/object.ts";
import { podGarbageCollector } from "../clusters/webhook-configurations.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type Arguments } from "./arguments.ts";
import { type Run } from "./stage.ts";

interface Odd {
  readonly request: JsonObject;
  readonly timeout?: string;
}

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
  "late-eviction": () => ({ request: eviction, timeout: "1ms" }),
  eviction: () => ({ request: eviction }),
};

export const reviewing: Run = async (stage, args) => {
  const odd = kinds[args.word("the kind of review")];
  if (odd === undefined) throw args.error("nobody sends such a review");
  const { name, cell, pods } = stage.podOf(args);
  const pod = JSON.parse(JSON.stringify(pods.find(name) ?? {})) as JsonObject;
  const path = args.setting("cell") ?? cell;
  return await stage.during(send(stage.process("webhook-1").fetch(), odd(pod), { name, path, args }));
};

async function send(
  fetch: ReturnType<ReturnType<Parameters<Run>[0]["process"]>["fetch"]>,
  { request, timeout = "10s" }: Odd,
  { name, path, args }: { readonly name: string; readonly path: string; readonly args: Arguments },
): Promise<string> {
  if (fetch === undefined) throw args.error("the webhook does not run");
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
  const asked = new Request(`http://webhook/${path}?timeout=${timeout}`, { method: "POST", headers, body });
  const answer = await fetch(asked, {} as never);
  const text = await answer.text();
  if (answer.status !== 200) return `refused: ${answer.status} ${text}`;
  const { allowed, status } = asObject(asObject(JSON.parse(text))["response"]);
  return allowed === true ? "allowed" : `refused: ${JSON.stringify(status)}`;
}
