/**
 * The rights that each account needs (manifests/, docs/security.md#rights), asked one by one with
 * SubjectAccessReviews: those of the manifests' Roles, so that one that is missing is named.
 */
import { cellLeaseName, witnessLeaseName } from "../../../api/cell-lease.ts";
import { fieldsOf } from "../../../api/json.ts";
import { apiGroup } from "../../../api/v1alpha1/names.ts";
import { generatorStateName } from "../../../kube/generator-state.ts";
import { type KubeClient, type Resource, resourcePath } from "../../../kube/kube-client.ts";
import { definitionName } from "../../../kube/pod-protectors.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { type RightFacts } from "../facts.ts";

/** A rule of an account. */
export interface NeededRight {
  readonly verbs: readonly string[];
  readonly group: string;
  /** "pods", "pods/status". */
  readonly resource: string;
  /** Undefined = in all namespaces, or cluster-scoped. */
  readonly namespace?: string;
  readonly name?: string;
}

const coordination = "coordination.k8s.io";
const look = ["get", "list", "watch"];

const protectors = (verbs: readonly string[]): NeededRight => ({ verbs, group: apiGroup, resource: "podprotectors" });
const protectorStatus: NeededRight = { verbs: ["update"], group: apiGroup, resource: "podprotectors/status" };
const events: NeededRight = { verbs: ["create", "patch"], group: "", resource: "events" };
const definition: NeededRight = {
  verbs: ["get"],
  group: "apiextensions.k8s.io",
  resource: "customresourcedefinitions",
  name: definitionName,
};

/** In a core. `namespace`: of Podseidon. */
export function coreRights(namespace: string): ReadonlyMap<string, readonly NeededRight[]> {
  const leases = { group: coordination, resource: "leases", namespace };
  const state = { group: "", resource: "configmaps", namespace, name: generatorStateName };
  return new Map([
    [
      "podseidon-generator",
      [
        { verbs: [...look, "patch"], group: "apps", resource: "deployments" },
        protectors([...look, "create", "patch", "delete"]),
        protectorStatus,
        definition,
        { verbs: look, group: "", resource: "namespaces" },
        { verbs: ["get"], group: "apiextensions.k8s.io", resource: "customresourcedefinitions" },
        events,
        { ...leases, verbs: ["create"] },
        { ...leases, verbs: ["get", "update"], name: "podseidon-generator" },
        { verbs: ["create"], group: "", resource: "configmaps", namespace },
        { ...state, verbs: ["get", "patch"] },
        { ...leases, verbs: ["list", "create", "patch", "delete"] },
      ],
    ],
    [
      "podseidon-webhook",
      [
        protectors(look),
        protectorStatus,
        { verbs: ["list", "watch"], group: "", resource: "namespaces" },
        definition,
        events,
        { ...leases, verbs: ["list"] },
        { ...leases, verbs: ["patch"], name: witnessLeaseName },
        { ...state, verbs: ["get"] },
        { verbs: ["get"], group: "apps", resource: "deployments", namespace, name: "podseidon-webhook" },
        { verbs: ["list"], group: "apps", resource: "deployments" },
      ],
    ],
  ]);
}

/** Of the aggregator of a cell, in a core. `target`: the only namespace of its PodProtectors; undefined = all. */
export function cellRights(namespace: string, cellID: string, target?: string): readonly NeededRight[] {
  const leases = { group: coordination, resource: "leases", namespace };
  return [
    within(target, protectors(look)),
    within(target, protectorStatus),
    { ...leases, verbs: ["create"] },
    { ...leases, verbs: ["get", "patch"], name: cellLeaseName(cellID) },
    { ...events, namespace },
  ];
}

/** How an aggregator runs in its worker. */
export interface AggregatorSetting {
  /** Of the Lease of its election. */
  readonly election: string;
  readonly dummyPod: { readonly namespace: string; readonly name: string };
  /** The only namespace of its pods; undefined = all. */
  readonly target: string | undefined;
}

/** By which it sees namespaces that are not guarded; where a cell is a namespace there is only one. */
const guardRights: readonly NeededRight[] = [
  { verbs: ["list"], group: "", resource: "namespaces" },
  {
    verbs: ["get"],
    group: "admissionregistration.k8s.io",
    resource: "validatingwebhookconfigurations",
    name: "podseidon",
  },
];

/** Of an aggregator, in its worker. */
export function aggregatorRights(
  namespace: string,
  { election, dummyPod, target }: AggregatorSetting,
): readonly NeededRight[] {
  const leases = { group: coordination, resource: "leases", namespace };
  const dummy = { group: "", resource: "pods", namespace: dummyPod.namespace };
  return [
    within(target, { verbs: ["list", "watch"], group: "", resource: "pods" }),
    within(target, { verbs: ["patch"], group: "", resource: "pods/status" }),
    // A request for a namespace is one in it.
    { verbs: ["get"], group: "", resource: "namespaces", namespace: "kube-system", name: "kube-system" },
    ...(target === undefined ? guardRights : []),
    { ...leases, verbs: ["create"] },
    { ...leases, verbs: ["get", "update"], name: election },
    { ...dummy, verbs: ["create"] },
    { ...dummy, verbs: ["patch"], name: dummyPod.name },
    { ...dummy, verbs: ["delete"], name: dummyPod.name },
  ];
}

/** Of the webhook, in a worker. */
export const webhookWorkerRights: readonly NeededRight[] = [{ verbs: ["get"], group: "", resource: "pods" }];

function within(namespace: string | undefined, right: NeededRight): NeededRight {
  return namespace === undefined ? right : { ...right, namespace };
}

export const serviceAccounts: Resource = { group: "", version: "v1", resource: "serviceaccounts" };
export const reviews: Resource = { group: "authorization.k8s.io", version: "v1", resource: "subjectaccessreviews" };

/** Names of the accounts in the namespace. Throws KubeError. */
export async function listAccounts(
  cluster: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  await listAll(
    cluster,
    { resource: serviceAccounts, namespace },
    (raw) => void names.add(String(fieldsOf(fieldsOf(raw)["metadata"])["name"])),
    { signal },
  );
  return names;
}

/** Asks for every verb, all at once: some dozens. Throws KubeError. */
export async function reviewRights(
  cluster: KubeClient,
  namespace: string,
  needed: ReadonlyMap<string, readonly NeededRight[]>,
  signal: AbortSignal,
): Promise<readonly RightFacts[]> {
  const questions = [...needed].flatMap(([account, rights]) =>
    rights.flatMap((right) => right.verbs.map((verb) => ({ account, right, verb }))),
  );
  return Promise.all(
    questions.map(async ({ account, right, verb }) => ({
      account,
      right: rightText(right, verb),
      isGranted: await isGranted(cluster, `system:serviceaccount:${namespace}:${account}`, right, verb, signal),
    })),
  );
}

async function isGranted(
  cluster: KubeClient,
  user: string,
  { group, resource: whole, namespace, name }: NeededRight,
  verb: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [resource, subresource] = whole.split("/");
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${user.split(":")[2] ?? ""}`,
    "system:authenticated",
  ];
  const answer = await cluster.request({
    method: "POST",
    path: resourcePath(reviews),
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user, groups, resourceAttributes: { verb, group, resource, subresource, namespace, name } },
    },
    signal,
  });
  return fieldsOf(fieldsOf(answer)["status"])["allowed"] === true;
}

function rightText({ group, resource, namespace, name }: NeededRight, verb: string): string {
  const what = `${verb} ${resource}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` ${name}`}`;
  return namespace === undefined ? what : `${what} in ${namespace}`;
}
