/**
 * Node objects without a kubelet. They exist so that a scheduler can place pods and so that garbage collectors find
 * what pods name.
 */
import { type AdminClient } from "./admin-client.ts";

/** Room for far more pods than any case creates. */
const vast = { cpu: "1000", memory: "1000Gi", pods: "10000" };

/** Creates node-0 to node-(count-1), Ready and without taints. */
export async function createNodes(admin: AdminClient, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `node-${index}`);
  await Promise.all(names.map((name) => createNode(admin, name)));
  return names;
}

/** A node without taints and with the label kubernetes.io/hostname, Ready. */
export async function createNode(admin: AdminClient, name: string, capacity = vast): Promise<void> {
  const path = nodePath(name);
  const metadata = { name, labels: { "kubernetes.io/hostname": name } };
  await admin.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata });
  await admin.mergePatch(`${path}/status`, { status: { capacity, allocatable: capacity, conditions: [ready()] } });
  // Admission taints every new node as not ready; the controller that would lift the taint does not run here.
  await admin.mergePatch(path, { spec: { taints: null } });
}

/** As the kubelet of the node says it, every few seconds. */
export async function beatNode(admin: AdminClient, name: string): Promise<void> {
  await admin.mergePatch(`${nodePath(name)}/status`, { status: { conditions: [ready()] } });
}

function ready(): Readonly<Record<string, string>> {
  const now = new Date().toISOString();
  return { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: now, lastTransitionTime: now };
}

export function removeNode(admin: AdminClient, name: string): Promise<void> {
  return admin.remove(nodePath(name));
}

function nodePath(name: string): string {
  return `/api/v1/nodes/${name}`;
}
