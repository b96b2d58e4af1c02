/** What shows that a role works: the update-trigger's pod changes, a new Deployment gets a PodProtector. */
import { type AdminClient } from "../clusters/admin-client.ts";
import { type Fleet } from "./fleet.ts";
import { podPath } from "../objects/pods.ts";
import { waitFor } from "../clusters/wait.ts";

export const dummyPod = podPath("default", "podseidon-update-trigger");

export async function versionOf(admin: AdminClient, path: string): Promise<string> {
  return (await admin.get(path)).metadata.resourceVersion;
}

/** The update-trigger's pod changes. `where` names the cluster when that fails. */
export async function waitTouched(admin: AdminClient, limitMs: number, path = dummyPod, where = ""): Promise<void> {
  const before = await versionOf(admin, path);
  await waitFor(`${where}${path} is touched`, limitMs, async () => (await versionOf(admin, path)) !== before);
}

/** A Deployment of 4 replicas, paused, so that it makes no pods: only its PodProtector matters. */
export async function createPausedDeployment({ core, namespace }: Fleet, name: string): Promise<void> {
  const labels = { app: name };
  await core.admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 4,
      paused: true,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
}
