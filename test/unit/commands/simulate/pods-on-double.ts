/** Pods in a cluster of the API double. */
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { type TestCluster } from "../support/fleet.ts";
import { type PodFields, rawPod } from "./support.ts";

const { pods } = builtInResources;

/** In namespace shop, on node-1, ready, with the label app=`app`. */
export async function createPod(
  { engine }: TestCluster,
  name: string,
  app: string,
  fields: PodFields = {},
): Promise<void> {
  const { metadata, spec, status } = rawPod(name, { app, ...fields }) as Readonly<Record<string, JsonObject>>;
  const { uid: _, resourceVersion: __, namespace: ___, ...own } = metadata ?? {};
  const containers = [{ name: "main", image: "web:1" }];
  const body = { apiVersion: "v1", kind: "Pod", metadata: own, spec: { ...spec, containers } };
  await engine.create(pods, "shop", body);
  const patch = { contentType: "application/merge-patch+json", body: { status: status ?? {} } };
  await engine.patch(pods, "shop", name, patch, { subresource: "status" });
}
