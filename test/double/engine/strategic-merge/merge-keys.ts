/**
 * How strategic merge patches treat the lists of the built-in types: by the `patchStrategy` and `patchMergeKey` tags of
 * the Kubernetes API types. What is not named here has none: maps are merged, lists replaced.
 */

export interface FieldRule {
  /** Items of this list are maps, told apart by this key, and merged. */
  readonly mergeKey?: string;
  /** Items of this list are plain values, and the list is a set. */
  readonly isSet?: boolean;
  /** A map that is replaced as a whole. */
  readonly isReplaced?: boolean;
  /** Rules within the map, or within each item of the list. */
  readonly fields?: FieldRules;
}

export type FieldRules = Readonly<Record<string, FieldRule>>;

function listBy(mergeKey: string, fields: FieldRules = {}): FieldRule {
  return { mergeKey, fields };
}
function within(fields: FieldRules): FieldRule {
  return { fields };
}
const set: FieldRule = { isSet: true };

const metadata = within({ ownerReferences: listBy("uid"), finalizers: set });
const statusConditions = within({ conditions: listBy("type") });

const containers = listBy("name", {
  ports: listBy("containerPort"),
  env: listBy("name"),
  volumeMounts: listBy("mountPath"),
  volumeDevices: listBy("devicePath"),
});

const podSpec = within({
  containers,
  initContainers: containers,
  ephemeralContainers: containers,
  volumes: listBy("name"),
  imagePullSecrets: listBy("name"),
  hostAliases: listBy("ip"),
  topologySpreadConstraints: listBy("topologyKey"),
  schedulingGates: listBy("name"),
  resourceClaims: listBy("name"),
});

const workload: FieldRules = {
  metadata,
  spec: within({ template: within({ metadata, spec: podSpec }) }),
  status: statusConditions,
};

const byKind: Readonly<Record<string, FieldRules>> = {
  Pod: {
    metadata,
    spec: podSpec,
    status: within({
      conditions: listBy("type"),
      podIPs: listBy("ip"),
      hostIPs: listBy("ip"),
      resourceClaimStatuses: listBy("name"),
    }),
  },
  Service: { metadata, spec: within({ ports: listBy("port") }), status: statusConditions },
  ServiceAccount: { metadata, secrets: listBy("name") },
  Node: {
    metadata,
    spec: within({ podCIDRs: set }),
    status: within({ conditions: listBy("type"), addresses: listBy("type") }),
  },
  Namespace: { metadata, status: statusConditions },
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  PodDisruptionBudget: { metadata, spec: within({ selector: { isReplaced: true } }), status: statusConditions },
  ValidatingWebhookConfiguration: { metadata, webhooks: listBy("name", { matchConditions: listBy("name") }) },
};

/** The rules of a built-in kind; a kind that is not listed has those of its metadata only. */
export function fieldRulesOf(kind: unknown): FieldRules {
  return (typeof kind === "string" ? byKind[kind] : undefined) ?? { metadata };
}
