/** The core and worker cluster of the attacked webhook: the API double, with one PodProtector and one pod. */
import { type ApiServer, startApiServer } from "../double/index.ts";
import { cell as countsOf, pod, protector, type Json } from "../unit/webhook/support/objects.ts";
import { cell } from "./bodies.ts";

/** Nothing is settled meanwhile, so there is room for every review of the longest run. */
const available = 1_000_000;

export async function startCore(): Promise<ApiServer> {
  const core = await startApiServer();
  const send = async (method: string, path: string, body: Json): Promise<Json> => {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`${core.url}${path}`, { method, headers, body: JSON.stringify(body) });
    const answer = (await response.json()) as Json;
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  await send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns" } });
  const protectors = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/ns/podprotectors";
  const { status, ...made } = protector({ minAvailable: 6 });
  const created = await send("POST", protectors, { ...made, metadata: { namespace: "ns", name: "web" } });
  const counted = { ...created, status: { ...(status as Json), cells: [countsOf(cell, available)] } };
  await send("PUT", `${protectors}/web/status`, counted);
  await send("POST", "/api/v1/namespaces/ns/pods", {
    ...pod("evicted"),
    metadata: { namespace: "ns", name: "evicted", labels: { app: "web" } },
    spec: { containers: [{ name: "main", image: "none.invalid/none" }] },
  });
  return core;
}
