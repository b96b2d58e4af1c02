/** The kinds of workloads that worlds have, as docs/generator.md#sources has them. Shares nothing with the product. */
import { type KubeObject } from "../../../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../../../double/engine/resources.ts";

const { deployments, statefulSets, replicaSets, replicationControllers } = builtInResources;

export interface KindOfSource {
  readonly type: ResourceType;
  /** Of the names of its PodProtectors. */
  readonly prefix: string;
}

export const ofDeployments: KindOfSource = { type: deployments, prefix: "deployment-" };

export const kindsOfSources: readonly KindOfSource[] = [
  ofDeployments,
  { type: statefulSets, prefix: "statefulset-" },
  { type: replicaSets, prefix: "replicaset-" },
  { type: replicationControllers, prefix: "replicationcontroller-" },
];

/** What --generator-sources is set to for all of them. */
export const flagOfSources = kindsOfSources
  .map(({ type: { resource, group } }) => (group === "" ? resource : `${resource}.${group}`))
  .join();

/** Whether a PodProtector has the name of a generated one. */
export function isNameOfGenerated(protector: string): boolean {
  return kindsOfSources.some(({ prefix }) => protector.startsWith(prefix));
}

/** Namespace and name of the PodProtector of a source. Undefined for an object of another kind. */
export function protectorKeyOf({ kind, metadata }: KubeObject): string | undefined {
  const found = kindsOfSources.find(({ type }) => type.kind === kind);
  return found === undefined ? undefined : `${metadata.namespace ?? ""}/${found.prefix}${metadata.name}`;
}
