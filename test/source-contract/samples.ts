/** One example of each kind of source, for the contract that all of them keep. */
import { type CustomSourceID, type SourceID } from "../../src/config/generator-rules.ts";
import { sourceKindOf } from "../../src/sources/index.ts";
import { type SourceKind } from "../../src/sources/source.ts";
import { type JsonObject } from "../double/index.ts";
import { sourceCrd } from "../support/source-crds.ts";

export interface SourceSample {
  readonly id: SourceID | CustomSourceID;
  readonly kind: Pick<SourceKind, "resource" | "apiVersion" | "kind" | "prefix" | "isNeverWritten" | "hasAnyOwner">;
  /** Of a kind that is not built into Kubernetes. */
  readonly crd?: JsonObject;
  /** Characters that a name may have; absent = 253. */
  readonly nameLengthMax?: number;
  /** Of ten replicas. */
  readonly floor: number;
  /** A change of the spec that is no change of the replicas, and the floor of ten replicas then; undefined = none. */
  readonly strategy: { readonly spec: JsonObject; readonly floor: number } | undefined;
  /** The change of the spec that holds up a roll-out; undefined = nothing does. */
  readonly pause: JsonObject | undefined;
  /** The spec of ten replicas. */
  readonly spec: (labels: JsonObject) => JsonObject;
  /** What the kind's controller writes, where the floor depends on it. */
  readonly status?: (labels: Readonly<Record<string, string>>) => JsonObject;
  /** What in the spec says minReadySeconds; undefined = nothing does. */
  readonly readyAfter: ((minReadySeconds: number) => JsonObject) | undefined;
  /** The replicas are those of a Deployment of its name. */
  readonly isAboutDeployment?: true;
}

/** A pod template that API servers accept. */
const templateOf = (labels: JsonObject): JsonObject => ({
  metadata: { labels },
  spec: { containers: [{ name: "a", image: "a" }] },
});
const workload = (labels: JsonObject): JsonObject => ({
  replicas: 10,
  selector: { matchLabels: labels },
  template: templateOf(labels),
});
const readyAfter = (minReadySeconds: number): JsonObject => ({ minReadySeconds });
const usual = { spec: workload, readyAfter } as const;
/** Only in `spec`: StatefulSets of both kinds belong to a Service. */
const statefulWorkload = (labels: JsonObject): JsonObject => ({ ...workload(labels), serviceName: "web" });

const builtIn = (id: SourceID) => ({ id, kind: sourceKindOf(id) });
const custom = (id: SourceID, file: string) => ({ ...builtIn(id), crd: sourceCrd(file) });

export const sourceSamples: readonly SourceSample[] = [
  {
    ...builtIn("deployments.apps"),
    ...usual,
    floor: 8,
    strategy: { spec: { strategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    pause: { paused: true },
  },
  {
    ...builtIn("statefulsets.apps"),
    // Pods have it as a part of their host names.
    nameLengthMax: 63,
    spec: statefulWorkload,
    readyAfter,
    floor: 9,
    strategy: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    pause: { updateStrategy: { rollingUpdate: { partition: 10 } } },
  },
  { ...builtIn("replicasets.apps"), ...usual, floor: 8, strategy: undefined, pause: undefined },
  {
    ...builtIn("replicationcontrollers"),
    spec: (labels) => ({ ...workload(labels), selector: labels }),
    readyAfter,
    floor: 8,
    strategy: undefined,
    pause: undefined,
  },
  {
    ...custom("clonesets.apps.kruise.io", "clonesets.yaml"),
    ...usual,
    floor: 8,
    strategy: { spec: { updateStrategy: { maxUnavailable: 4 } }, floor: 6 },
    pause: { updateStrategy: { paused: true } },
  },
  {
    ...custom("statefulsets.apps.kruise.io", "advanced-statefulsets.yaml"),
    spec: statefulWorkload,
    readyAfter: (minReadySeconds) => ({ updateStrategy: { rollingUpdate: { minReadySeconds } } }),
    floor: 9,
    strategy: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    pause: { updateStrategy: { rollingUpdate: { paused: true } } },
  },
  {
    ...custom("rollouts.argoproj.io", "rollouts.yaml"),
    ...usual,
    floor: 8,
    strategy: { spec: { strategy: { canary: { maxUnavailable: 4 } } }, floor: 6 },
    pause: { paused: true },
  },
  {
    ...builtIn("poddisruptionbudgets.policy"),
    spec: (labels) => ({ maxUnavailable: "20%", selector: { matchLabels: labels } }),
    floor: 8,
    strategy: { spec: { maxUnavailable: 4 }, floor: 6 },
    pause: undefined,
    readyAfter: undefined,
    isAboutDeployment: true,
  },
  {
    ...custom("podunavailablebudgets.policy.kruise.io", "podunavailablebudgets.yaml"),
    spec: (labels) => ({ maxUnavailable: "20%", selector: { matchLabels: labels } }),
    floor: 8,
    strategy: { spec: { maxUnavailable: 4 }, floor: 6 },
    pause: undefined,
    readyAfter: undefined,
    isAboutDeployment: true,
  },
  {
    id: "databases.example.com",
    kind: {
      resource: { group: "example.com", version: "v1", resource: "databases" },
      apiVersion: "example.com/v1",
      kind: "Database",
      prefix: "scale.databases.example.com-",
      hasAnyOwner: true,
    },
    crd: sourceCrd("databases.yaml"),
    spec: () => ({ members: 10 }),
    status: (labels) => ({ members: 10, selector: `app=${labels["app"]}` }),
    floor: 8,
    strategy: undefined,
    pause: { suspended: true },
    readyAfter: undefined,
  },
];

export function sampleOf(id: SourceSample["id"]): SourceSample {
  const found = sourceSamples.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no sample of ${id}`);
  return found;
}

/** The ends of long names differ. */
export const labelsOf = (name: string): { readonly app: string } => ({ app: name.slice(-60) });

export function sampleBody({ kind, spec }: SourceSample, name: string, namespace = "default"): JsonObject {
  const { apiVersion, kind: kindName } = kind;
  return { apiVersion, kind: kindName, metadata: { name, namespace }, spec: spec(labelsOf(name)) };
}
