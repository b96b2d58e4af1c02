/**
 * The accounts of manifests/ in a test cluster, with their rights and the admission policies that narrow them. Every
 * cluster has all of them, since each may be core or worker. Their tokens are in the API server's token file, so that
 * they are the same in a cluster that is built anew.
 */
import { cellLeaseName } from "../../../src/api/cell-lease.ts";
import { type Manifest, type PolicyRule, render, type RoleBinding } from "../../manifests/manifest-files.ts";
import { type AdminClient } from "./admin-client.ts";

export const systemNamespace = "podseidon-system";
/** The account of the manifests' own worker, whose folder people copy for others. */
const copiedCell = "worker-1";
/** Cells that have an account: the clusters, and parts of them in some cases. */
const cells = [
  copiedCell,
  "worker-2",
  "core",
  "rebuilt",
  "system",
  "sightless",
  "blue",
  "green",
  "other-part",
] as const;

export type AccountName = "podseidon-generator" | "podseidon-webhook" | "podseidon-aggregator";

/** The user name of an account. `cell`: that of an aggregator in the core. */
export function accountUser(account: AccountName, cell?: string): string {
  return `system:serviceaccount:${systemNamespace}:${account}${cell === undefined ? "" : `-${cell}`}`;
}

/** For the token file. */
export const accountUsers: readonly { readonly name: string }[] = [
  accountUser("podseidon-generator"),
  accountUser("podseidon-webhook"),
  accountUser("podseidon-aggregator"),
  ...cells.map((cell) => accountUser("podseidon-aggregator", cell)),
].map((name) => ({ name }));

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const policies = "/apis/admissionregistration.k8s.io/v1";
/** Kinds that say what accounts may do, and what they need, with the collections that they are in. */
const collections: Readonly<Record<string, (namespace: string) => string>> = {
  Namespace: () => "/api/v1/namespaces",
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  ClusterRole: () => `${rbac}/clusterroles`,
  ClusterRoleBinding: () => `${rbac}/clusterrolebindings`,
  Role: (namespace) => `${rbac}/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `${rbac}/namespaces/${namespace}/rolebindings`,
  ValidatingAdmissionPolicy: () => `${policies}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: () => `${policies}/validatingadmissionpolicybindings`,
};

/** What the folder of one worker becomes for another, as scripts/core-cells.ts makes it. */
function ofCell(objects: readonly Manifest[], cell: string): readonly Manifest[] {
  const text = JSON.stringify(objects);
  const renamed = text.replaceAll(cellLeaseName(copiedCell), cellLeaseName(cell)).replaceAll(copiedCell, cell);
  return JSON.parse(renamed) as readonly Manifest[];
}

/** All objects of the overlays for core and worker that have to do with rights, each once. */
function rightsObjects(): readonly Manifest[] {
  const ofWorker = render(`overlays/core/cells/${copiedCell}`);
  const all = [
    ...render("overlays/core"),
    ...render("overlays/worker"),
    ...render("base/generator-sources"),
    ...cells.flatMap((cell) => ofCell(ofWorker, cell)),
  ].filter(({ kind }) => collections[kind] !== undefined);
  return [...new Map(all.map((object) => [objectPath(object), object])).values()];
}

function objectPath({ kind, metadata: { namespace = "", name } }: Manifest): string {
  return `${collections[kind]?.(namespace)}/${name}`;
}

/** Creates or updates all of it. The API server takes a moment, usually under a second, to learn of policies. */
export async function installRights(admin: AdminClient): Promise<void> {
  const objects = rightsObjects();
  const isNamespace = ({ kind }: Manifest): boolean => kind === "Namespace";
  // A namespace is not held to the level of the manifests: cases of other tests run other things in it.
  for (const namespace of objects.filter(isNamespace)) await admin.apply(objectPath(namespace), namespace);
  await Promise.all(objects.filter((one) => !isNamespace(one)).map((one) => admin.apply(objectPath(one), one)));
}

/**
 * Takes the policies away, as a release without any has it, or puts `changed` in their place. The API server takes a
 * moment to learn of that.
 */
export async function replacePolicies(
  admin: AdminClient,
  changed: (policy: Manifest) => Manifest | undefined = () => undefined,
): Promise<void> {
  const all = rightsObjects().filter(({ kind }) => kind.startsWith("ValidatingAdmissionPolicy"));
  await Promise.all(
    all.map(async (policy) => {
      const instead = changed(policy);
      await (instead === undefined ? admin.remove(objectPath(policy)) : admin.apply(objectPath(policy), instead));
    }),
  );
}

/**
 * The rights of the manifests' own namespace in `namespace` as well, where a case keeps its Leases, and those to the
 * dummy pod in `dummyNamespace`, where its update-triggers have it.
 */
export async function grantIn(admin: AdminClient, namespace: string, dummyNamespace = "default"): Promise<void> {
  const places = new Map([
    [systemNamespace, namespace],
    ["podseidon-update-trigger", dummyNamespace],
  ]);
  const moved = rightsObjects().flatMap((object) => {
    const place = places.get(object.metadata.namespace ?? "");
    if (place === undefined || !["Role", "RoleBinding"].includes(object.kind)) return [];
    return [{ ...(object as RoleBinding), metadata: { ...object.metadata, namespace: place } }];
  });
  await Promise.all(moved.map((object) => admin.apply(objectPath(object), object)));
}

/** Rules of a ClusterRole, for a user or an account by its user name, beside what it may do anyway. */
export async function grantRules(admin: AdminClient, user: string, rules: readonly PolicyRule[]): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const name = `e2e-${user}`;
  const meta = { apiVersion: `${group}/v1`, metadata: { name } };
  await admin.apply(`${rbac}/clusterroles/${name}`, { ...meta, kind: "ClusterRole", rules });
  await admin.apply(`${rbac}/clusterrolebindings/${name}`, {
    ...meta,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  });
}
