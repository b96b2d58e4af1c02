/** Which resources the double serves and how each behaves: the registry, and the built-in types. */
import { type JsonObject } from "./object.ts";

/** Dotted paths, such as ".spec.replicas". */
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  /** Undefined = the Scale has no selector. */
  readonly selector: string | undefined;
}

/** What the storage and the routes need to know of one resource. */
export interface ResourceType {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, lower case. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Has a status subresource: main writes keep the old status, status writes keep the old rest. */
  readonly hasStatus: boolean;
  /** metadata.generation counts changes of the desired state. */
  readonly hasGeneration: boolean;
  /** A PUT without resourceVersion overwrites; else it is refused. */
  readonly unconditionalUpdate: boolean;
  /** An immediate DELETE answers with the deleted object; else with a Status. */
  readonly returnsDeleted: boolean;
  /** Subresources besides status. */
  readonly subresources: readonly string[];
  /** Where the scale subresource finds its fields; without meaning for types that have none. */
  readonly scalePaths: ScalePaths;
  /** Groups of resources that people ask for by one name, such as `all`. */
  readonly categories: readonly string[];
  /** Comes from a CustomResourceDefinition. */
  readonly custom: boolean;
  /** The additionalPrinterColumns of that definition. */
  readonly printerColumns: readonly JsonObject[];
}

/** The selector of these is no text, so it is not read by a path. */
const workloadPaths: ScalePaths = {
  specReplicas: ".spec.replicas",
  statusReplicas: ".status.replicas",
  selector: undefined,
};

type Traits = Partial<
  Pick<
    ResourceType,
    | "shortNames"
    | "namespaced"
    | "hasStatus"
    | "hasGeneration"
    | "unconditionalUpdate"
    | "returnsDeleted"
    | "subresources"
    | "singular"
    | "categories"
  >
>;

function builtIn(group: string, version: string, resource: string, kind: string, traits: Traits = {}): ResourceType {
  return {
    group,
    version,
    resource,
    kind,
    singular: kind.toLowerCase(),
    shortNames: [],
    namespaced: true,
    hasStatus: false,
    hasGeneration: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    subresources: [],
    scalePaths: workloadPaths,
    categories: [],
    custom: false,
    printerColumns: [],
    ...traits,
  };
}

const all = ["all"];
const workload: Traits = { hasStatus: true, hasGeneration: true, subresources: ["scale"], categories: all };

/** The built-in types by their usual names. */
export const builtInResources = {
  pods: builtIn("", "v1", "pods", "Pod", {
    shortNames: ["po"],
    hasStatus: true,
    hasGeneration: true,
    returnsDeleted: true,
    subresources: ["eviction", "binding"],
    categories: all,
  }),
  services: builtIn("", "v1", "services", "Service", {
    shortNames: ["svc"],
    hasStatus: true,
    returnsDeleted: true,
    categories: all,
  }),
  configMaps: builtIn("", "v1", "configmaps", "ConfigMap", { shortNames: ["cm"] }),
  secrets: builtIn("", "v1", "secrets", "Secret"),
  events: builtIn("", "v1", "events", "Event", { shortNames: ["ev"] }),
  nodes: builtIn("", "v1", "nodes", "Node", { shortNames: ["no"], namespaced: false, hasStatus: true }),
  namespaces: builtIn("", "v1", "namespaces", "Namespace", { shortNames: ["ns"], namespaced: false, hasStatus: true }),
  serviceAccounts: builtIn("", "v1", "serviceaccounts", "ServiceAccount", { shortNames: ["sa"], returnsDeleted: true }),
  deployments: builtIn("apps", "v1", "deployments", "Deployment", { ...workload, shortNames: ["deploy"] }),
  replicaSets: builtIn("apps", "v1", "replicasets", "ReplicaSet", { ...workload, shortNames: ["rs"] }),
  statefulSets: builtIn("apps", "v1", "statefulsets", "StatefulSet", { ...workload, shortNames: ["sts"] }),
  replicationControllers: builtIn("", "v1", "replicationcontrollers", "ReplicationController", {
    ...workload,
    shortNames: ["rc"],
  }),
  leases: builtIn("coordination.k8s.io", "v1", "leases", "Lease", { unconditionalUpdate: false }),
  podDisruptionBudgets: builtIn("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", {
    shortNames: ["pdb"],
    hasStatus: true,
    hasGeneration: true,
    unconditionalUpdate: false,
  }),
  validatingWebhookConfigurations: builtIn(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    { namespaced: false, hasGeneration: true, unconditionalUpdate: false },
  ),
  customResourceDefinitions: builtIn(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    { shortNames: ["crd"], namespaced: false, hasStatus: true, hasGeneration: true, unconditionalUpdate: false },
  ),
} as const;

/** A type made from a CustomResourceDefinition, as far as it does not come from the CRD itself. */
export function customResource(
  names: Pick<
    ResourceType,
    | "group"
    | "version"
    | "resource"
    | "kind"
    | "singular"
    | "shortNames"
    | "categories"
    | "namespaced"
    | "printerColumns"
  >,
  hasStatus: boolean,
  scalePaths: ScalePaths | undefined,
): ResourceType {
  return {
    ...names,
    hasStatus,
    hasGeneration: true,
    unconditionalUpdate: false,
    returnsDeleted: false,
    subresources: scalePaths === undefined ? [] : ["scale"],
    scalePaths: scalePaths ?? workloadPaths,
    custom: true,
  };
}

/** `pods`, `deployments.apps`: how messages name a resource. */
export function groupResource(type: Pick<ResourceType, "group" | "resource">): string {
  return type.group === "" ? type.resource : `${type.resource}.${type.group}`;
}

/** `Pod`, `Deployment.apps`: how messages name a kind. */
export function groupKind(type: Pick<ResourceType, "group" | "kind">): string {
  return type.group === "" ? type.kind : `${type.kind}.${type.group}`;
}

/** `v1`, `apps/v1`. */
export function apiVersionOf(type: Pick<ResourceType, "group" | "version">): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** The resources that one API server serves; custom ones come and go. */
export class ResourceRegistry {
  readonly #types = new Map<string, ResourceType>();

  constructor() {
    for (const type of Object.values(builtInResources)) this.add(type);
  }
  /** Serves `type`, in place of an earlier type of the same group and resource. */
  add(type: ResourceType): void {
    this.#types.set(groupResource(type), type);
  }
  remove(type: ResourceType): void {
    this.#types.delete(groupResource(type));
  }
  find(group: string, version: string, resource: string): ResourceType | undefined {
    const type = this.#types.get(groupResource({ group, resource }));
    return type?.version === version ? type : undefined;
  }
  all(): ResourceType[] {
    return [...this.#types.values()];
  }
}
