/** Asks a real API server for the same pods in protobuf and in JSON, in every way in which the product asks. */
import { Agent, request } from "undici";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { mediaType } from "../../../src/kube/protobuf/index.ts";
import { eventFieldsInUse, type Exchange, fieldsInUse } from "../../unit/kube/protobuf/exchange.ts";
import { type ObjectList } from "../clusters/admin-client.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { podPath } from "./pods.ts";

type Query = Readonly<Record<string, string | number | boolean>>;

/** Whole: the server ends a watch at its timeoutSeconds. */
interface Answer {
  readonly contentType: string;
  readonly bytes: Buffer;
}

const watchSeconds = 3;
const limitMs = 30_000;

/**
 * Creates pods in which every field in use has, in one pod or another, each kind of value; resolves to the version
 * before.
 */
export async function createVariedPods({ admin }: Cluster, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const before = await admin.get<ObjectList<unknown>>(path);
  const create = (name: string, metadata: object = {}): Promise<unknown> =>
    admin.create(path, {
      metadata: { name, labels: { app: "web" }, ...metadata },
      spec: { nodeName: "node-0", containers: [{ name: "main", image: "none" }] },
    });
  const setStatus = (name: string, status: object): Promise<unknown> =>
    admin.mergePatch(`${podPath(namespace, name)}/status`, { status });
  await create("bare", { labels: {} });
  await create("ready", {
    labels: { app: "web", "example.com/empty": "", zone: "z".repeat(63) },
    annotations: { [annotations.updateTriggerTime]: "ü€𝄞", "example.com/long": "x".repeat(300) },
  });
  await setStatus("ready", {
    phase: "Running",
    conditions: [
      { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
      { type: "Initialized", status: "True", lastTransitionTime: null, message: "no time" },
      { type: "ContainersReady", status: "Unknown", lastTransitionTime: "1969-12-31T23:59:59Z" },
      { type: "Ready", status: "True", lastTransitionTime: "9999-12-31T23:59:59Z" },
    ],
  });
  await create("failed");
  await setStatus("failed", { phase: "Failed", conditions: [{ type: "Ready", status: "False" }] });
  await create("ending", { labels: { "example.com/watched": "yes" }, finalizers: ["example.com/wait"] });
  await admin.remove(podPath(namespace, "ending"));
  await create("ended", { finalizers: ["example.com/wait"] });
  await admin.remove(podPath(namespace, "ended"), { gracePeriodSeconds: 0 });
  await create("gone", { labels: { "example.com/watched": "yes" } });
  await admin.remove(podPath(namespace, "gone"), { gracePeriodSeconds: 0 });
  return before.metadata.resourceVersion;
}

/** Lets go of what has a finalizer. */
export async function removeVariedPods({ admin }: Cluster, namespace: string): Promise<void> {
  for (const name of ["ending", "ended"]) {
    await admin.mergePatch(podPath(namespace, name), { metadata: { finalizers: null } });
  }
}

/** Each request twice; restarts the API server, so that it forgets. `before`: what `createVariedPods` resolved to. */
export async function exchangePods(cluster: Cluster, namespace: string, before: string): Promise<readonly Exchange[]> {
  const agent = new Agent({ connect: { ca: cluster.caPem } });
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const one = async (name: string, at: string, query: Query = {}): Promise<Exchange> => {
    const ask = (accept: string): Promise<Answer> => answerOf(agent, cluster, at, query, accept);
    const [protobuf, json] = await Promise.all([ask(mediaType), ask("application/json")]);
    const text = json.bytes.toString();
    return {
      name,
      contentType: protobuf.contentType,
      protobuf: protobuf.bytes.toString("base64"),
      json: query["watch"] === true ? linesOf(text).map(eventFieldsInUse) : fieldsInUse(JSON.parse(text)),
    };
  };
  try {
    const { metadata } = await cluster.admin.get<ObjectList<unknown>>(path);
    const exact = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" };
    const watch = { watch: true, allowWatchBookmarks: true, timeoutSeconds: watchSeconds };
    const exchanges = [
      await one("a list", path, exact),
      await one("a page of a list", path, { ...exact, limit: 1 }),
      await one("an empty list", path, { ...exact, labelSelector: "app=none" }),
      await one("a pod", podPath(namespace, "bare")),
      await one("a watch", path, { ...watch, resourceVersion: before, labelSelector: "example.com/watched" }),
      await one("a WatchList", path, { ...watch, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }),
      await one("a pod that does not exist", podPath(namespace, "none")),
      await one("a request that is invalid", path, { labelSelector: "ü€" }),
      await one("a version that is too large", path, { resourceVersion: "999999999999" }),
    ];
    await cluster.restartApiServer();
    return [
      ...exchanges,
      await one("a watch from a version that is forgotten", path, { ...watch, resourceVersion: 1 }),
    ];
  } finally {
    await agent.destroy();
  }
}

function linesOf(text: string): readonly unknown[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

async function answerOf(agent: Agent, cluster: Cluster, path: string, query: Query, accept: string): Promise<Answer> {
  const response = await request(cluster.url + path, {
    dispatcher: agent,
    method: "GET",
    query,
    headers: { authorization: `Bearer ${cluster.adminToken}`, accept },
    headersTimeout: limitMs,
    bodyTimeout: limitMs,
  });
  const contentType = String(response.headers["content-type"]);
  return { contentType, bytes: Buffer.from(await response.body.arrayBuffer()) };
}
