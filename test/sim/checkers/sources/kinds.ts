/** The kinds of sources that worlds have, as docs/generator.md#sources has them. Shares nothing with the product. */
import { customType } from "../../../double/engine/crd.ts";
import { type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { apiVersionOf, builtInResources, groupResource, type ResourceType } from "../../../double/engine/resources.ts";
import { scaledCrd } from "../../../double/scaled-crd.ts";
import { sourceCrd } from "../../../support/source-crds.ts";
import { type Plan } from "../../plan.ts";

const { deployments, statefulSets, replicaSets, replicationControllers, podDisruptionBudgets } = builtInResources;

export interface KindOfSource {
  readonly type: ResourceType;
  /** Of the names of its PodProtectors. */
  readonly prefix: string;
}

const cloneSetCrd = sourceCrd("clonesets.yaml");
const advancedStatefulSetCrd = sourceCrd("advanced-statefulsets.yaml");
const rolloutCrd = sourceCrd("rollouts.yaml");
const databaseCrd = scaledCrd();

export const ofDeployments: KindOfSource = { type: deployments, prefix: "deployment-" };
export const ofCloneSets: KindOfSource = { type: customType(cloneSetCrd), prefix: "cloneset-" };
export const ofAdvancedStatefulSets: KindOfSource = {
  type: customType(advancedStatefulSetCrd),
  prefix: "advancedstatefulset-",
};
export const ofRollouts: KindOfSource = { type: customType(rolloutCrd), prefix: "rollout-" };
/** Known by their scale alone. */
export const ofDatabases: KindOfSource = { type: customType(databaseCrd), prefix: "scale.databases.example.com-" };
/** They are about the workloads that they select. */
export const ofBudgets: KindOfSource = { type: podDisruptionBudgets, prefix: "poddisruptionbudget-" };

const builtIn: readonly KindOfSource[] = [
  ofDeployments,
  { type: statefulSets, prefix: "statefulset-" },
  { type: replicaSets, prefix: "replicaset-" },
  { type: replicationControllers, prefix: "replicationcontroller-" },
];
/** Of worlds with more sources. */
const more: readonly KindOfSource[] = [ofCloneSets, ofAdvancedStatefulSets, ofRollouts, ofDatabases, ofBudgets];
const all = [...builtIn, ...more];

/** What a world with more sources installs in its cores. */
export const crdsOfSources: readonly JsonObject[] = [cloneSetCrd, advancedStatefulSetCrd, rolloutCrd, databaseCrd];

/** The kinds of a world. */
export function kindsOfSources({ hasMoreSources }: Pick<Plan, "hasMoreSources">): readonly KindOfSource[] {
  return hasMoreSources ? all : builtIn;
}

/** What --generator-sources is set to for all of them. */
export function flagOfSources(plan: Pick<Plan, "hasMoreSources">): string {
  return kindsOfSources(plan)
    .map(({ type }) => groupResource(type))
    .join();
}

/** Whether a PodProtector has the name of a generated one. */
export function isNameOfGenerated(protector: string): boolean {
  return all.some(({ prefix }) => protector.startsWith(prefix));
}

/** Undefined for an object of another kind. */
export function kindOf({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): KindOfSource | undefined {
  return all.find(({ type }) => type.kind === kind && apiVersionOf(type) === apiVersion);
}

/** Namespace and name of the PodProtector of a source. Undefined for an object of another kind. */
export function protectorKeyOf(object: KubeObject): string | undefined {
  const found = kindOf(object);
  const { namespace = "", name } = object.metadata;
  return found === undefined ? undefined : `${namespace}/${found.prefix}${name}`;
}
