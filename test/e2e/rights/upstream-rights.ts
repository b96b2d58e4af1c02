/**
 * The accounts of the original's chart, with its rules and no others: what Podseidon has where somebody changes the
 * image and nothing else. The chart gives each rule where the release has a core, or a worker.
 */
import { fieldsOf } from "../../../src/api/json.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { type Role } from "../fleet/fleet.ts";
import { waitFor } from "../clusters/wait.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const rule = (group: string, resource: string, ...verbs: readonly string[]): Rule => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
});

const leases = rule("coordination.k8s.io", "leases", "get", "list", "watch", "create", "update", "delete");
const events = rule("", "events", "get", "watch", "create", "update", "patch");
const seenProtectors = rule("podseidon.kubewharf.io", "podprotectors", "get", "list", "watch");
const writtenStatus = rule("podseidon.kubewharf.io", "podprotectors/status", "update");

export type UpstreamPlace = "core" | "worker";

const rules: Readonly<Record<Role, Readonly<Record<UpstreamPlace, readonly Rule[]>>>> = {
  generator: {
    core: [
      leases,
      events,
      rule("podseidon.kubewharf.io", "podprotectors", "get", "list", "watch", "create", "update", "delete"),
      writtenStatus,
      rule("apps", "deployments", "get", "list", "watch", "update"),
    ],
    worker: [],
  },
  aggregator: {
    core: [events, seenProtectors, writtenStatus],
    worker: [leases, events, rule("", "pods", "get", "list", "watch", "create", "patch")],
  },
  webhook: { core: [events, seenProtectors, writtenStatus], worker: [rule("", "pods", "get")] },
};

/** What the cluster is of: a core, a worker, or both in one release of the chart. */
export interface UpstreamAccounts {
  readonly cluster: Cluster;
  readonly places: readonly UpstreamPlace[];
}

/**
 * Creates the ServiceAccounts in `namespace`, which exists, with ClusterRoles that carry its name. Resolves to a
 * function that returns the kubeconfig of a role.
 */
export async function createUpstreamAccounts(
  { cluster, places }: UpstreamAccounts,
  namespace: string,
): Promise<(role: Role) => string> {
  const { admin } = cluster;
  const kubeconfigs = new Map<Role, string>();
  for (const role of ["generator", "aggregator", "webhook"] as const) {
    const account = `upstream-${role}`;
    const name = `${namespace}-${account}`;
    const group = "rbac.authorization.k8s.io";
    const meta = { apiVersion: `${group}/v1`, metadata: { name } };
    await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: account },
    });
    await admin.create(`/apis/${group}/v1/clusterroles`, {
      ...meta,
      kind: "ClusterRole",
      rules: places.flatMap((place) => rules[role][place]),
    });
    await admin.create(`/apis/${group}/v1/clusterrolebindings`, {
      ...meta,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: account, namespace }],
    });
    const granted = places.flatMap((place) => rules[role][place])[0];
    if (granted !== undefined) await waitGranted(cluster, `system:serviceaccount:${namespace}:${account}`, granted);
    const token = await cluster.serviceAccountToken(namespace, account);
    kubeconfigs.set(role, cluster.kubeconfigForToken(name, token));
  }
  return (role) => kubeconfigs.get(role) ?? "";
}

/** The API server learns of new roles by a watch: until then it forbids everything, which a role would tell too. */
async function waitGranted({ admin }: Cluster, user: string, { apiGroups, resources, verbs }: Rule): Promise<void> {
  const [resource, subresource] = resources[0]?.split("/") ?? [];
  const resourceAttributes = { group: apiGroups[0], resource, subresource, verb: verbs[0] };
  await waitFor(`${user} has its rights`, 30_000, async () => {
    const review = await admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user, resourceAttributes },
    });
    return fieldsOf(fieldsOf(review)["status"])["allowed"] === true;
  });
}
