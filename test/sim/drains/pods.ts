/** The pods of a cluster that is drained, and what kubelets and people do to them. */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { formatSeconds } from "../../double/engine/metadata.ts";
import { asArray, asObject, type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/index.ts";
import { type SimApiServer } from "../clusters/api-server.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type Stage } from "../scenarios/commands/stage.ts";

const { pods } = builtInResources;
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };

export interface PodFields {
  readonly name: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  /** Kind of its controller; undefined = it has none. */
  readonly controllerKind: string | undefined;
  /** Its deletion is always allowed. */
  readonly isForced: boolean;
  readonly isMirror?: boolean;
  /** Default: Running. */
  readonly phase?: "Pending" | "Succeeded";
}

export async function createPod(server: SimApiServer, fields: PodFields): Promise<void> {
  const { name, node, labels, controllerKind: kind, isForced, isMirror = false, phase = "Running", isReady } = fields;
  const owner = { apiVersion: "apps/v1", kind, name: "owner", uid: `owner-of-${name}`, controller: true };
  const noted = {
    ...(isForced && { [annotations.forceDelete]: "yes" }),
    ...(isMirror && { "kubernetes.io/config.mirror": "abc" }),
  };
  await server.engine.create(pods, namespace, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, annotations: noted, ...(kind !== undefined && { ownerReferences: [owner] }) },
    spec: { nodeName: node, containers: [{ name: "main", image: "web:1" }], terminationGracePeriodSeconds: 30 },
  });
  await setStatus(server, name, { phase, isReady: isReady && phase === "Running" });
}

export async function setStatus(
  server: SimApiServer,
  name: string,
  { phase, isReady }: { phase: string; isReady: boolean },
): Promise<void> {
  const time = formatSeconds(server.engine.clock.epochMicros());
  const condition = (type: string, holds: boolean): JsonObject => ({
    type,
    status: holds ? "True" : "False",
    lastTransitionTime: time,
  });
  const isStarted = phase !== "Pending";
  const conditions = [
    condition("PodScheduled", true),
    condition("Initialized", isStarted),
    condition("Ready", isReady),
  ];
  const patch = { contentType: "application/merge-patch+json", body: { status: { phase, conditions } } };
  await server.engine.patch(pods, namespace, name, patch, { caller: kubelet, subresource: "status" });
}

/** Present pods, by name. */
export function podsOf(server: SimApiServer): readonly KubeObject[] {
  return server.engine
    .list(pods, namespace)
    .items.toSorted(({ metadata: a }, { metadata: b }) => (a.name < b.name ? -1 : 1));
}

export function isReady(pod: KubeObject): boolean {
  const conditions = asArray(asObject(pod.status)["conditions"]).map(asObject);
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

export const evict: Parameters<Stage["ask"]>[2] = async ({ engine }, name, caller) => {
  const metadata = { name, namespace };
  await engine.evict(namespace, name, { apiVersion: "policy/v1", kind: "Eviction", metadata }, { caller });
};

/** Whether its deletion would be admitted is asked, and nothing is deleted. */
export const tryDelete: Parameters<Stage["ask"]>[2] = async ({ engine }, name, caller) => {
  await engine.delete(pods, namespace, name, {}, { caller, dryRun: true });
};

/** The kubelet has stopped the containers. */
export async function end(server: SimApiServer, name: string): Promise<void> {
  await server.engine.delete(pods, namespace, name, { gracePeriodSeconds: 0 }, { caller: kubelet });
}
