/** One example of each kind of source, for the contract that all of them keep. */
import { type SourceID } from "../../../src/config/generator-rules.ts";
import { sourceKindOf } from "../../../src/sources/index.ts";
import { builtInResources, type Engine, type JsonObject, type ResourceType } from "../../double/index.ts";
import { sourceCrd } from "../../support/source-crds.ts";

export interface SourceSample {
  readonly id: SourceID;
  /** A built-in type, or the CRD of a custom one. */
  readonly type: ResourceType | { readonly crd: JsonObject };
  /** Of ten replicas. */
  readonly floor: number;
  /** A change of the spec that is no change of the replicas, and the floor of ten replicas then; undefined = none. */
  readonly strategy: { readonly spec: JsonObject; readonly floor: number } | undefined;
  readonly selector: (labels: JsonObject) => JsonObject;
  /** What in the spec says minReadySeconds. */
  readonly readyAfter: (minReadySeconds: number) => JsonObject;
}

const matchLabels = (labels: JsonObject): JsonObject => ({ matchLabels: labels });
const readyAfter = (minReadySeconds: number): JsonObject => ({ minReadySeconds });
const usual = { selector: matchLabels, readyAfter } as const;
const { deployments, statefulSets, replicaSets, replicationControllers } = builtInResources;

export const sourceSamples: readonly SourceSample[] = [
  {
    id: "deployments.apps",
    type: deployments,
    floor: 8,
    strategy: { spec: { strategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    ...usual,
  },
  {
    id: "statefulsets.apps",
    type: statefulSets,
    floor: 9,
    strategy: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    ...usual,
  },
  { id: "replicasets.apps", type: replicaSets, floor: 8, strategy: undefined, ...usual },
  {
    id: "replicationcontrollers",
    type: replicationControllers,
    floor: 8,
    strategy: undefined,
    selector: (labels) => labels,
    readyAfter,
  },
  {
    id: "clonesets.apps.kruise.io",
    type: { crd: sourceCrd("clonesets.yaml") },
    floor: 8,
    strategy: { spec: { updateStrategy: { maxUnavailable: 4, paused: true } }, floor: 6 },
    ...usual,
  },
  {
    id: "statefulsets.apps.kruise.io",
    type: { crd: sourceCrd("advanced-statefulsets.yaml") },
    floor: 9,
    strategy: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 4, paused: true } } }, floor: 6 },
    selector: matchLabels,
    readyAfter: (minReadySeconds) => ({ updateStrategy: { rollingUpdate: { minReadySeconds } } }),
  },
  {
    id: "rollouts.argoproj.io",
    type: { crd: sourceCrd("rollouts.yaml") },
    floor: 8,
    strategy: { spec: { strategy: { canary: { maxUnavailable: 4 } } }, floor: 6 },
    ...usual,
  },
];

/** The type of the sample on that API server, which serves it from now on. */
export async function installSample({ type }: SourceSample, engine: Engine): Promise<ResourceType> {
  return "crd" in type ? await engine.installCrd(type.crd) : type;
}

export function sampleBody({ id, selector }: SourceSample, name: string, metadata: JsonObject = {}): JsonObject {
  const labels = { app: name.slice(0, 60) };
  const { apiVersion, kind } = sourceKindOf(id);
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      replicas: 10,
      selector: selector(labels),
      template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  };
}
