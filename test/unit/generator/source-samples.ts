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
  /** What in the spec says minReadySeconds; undefined = nothing does. */
  readonly readyAfter: ((minReadySeconds: number) => JsonObject) | undefined;
  /** The replicas are those of a Deployment of its name. */
  readonly isAboutDeployment?: true;
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
  {
    id: "poddisruptionbudgets.policy",
    type: builtInResources.podDisruptionBudgets,
    floor: 8,
    strategy: { spec: { maxUnavailable: 4 }, floor: 6 },
    selector: matchLabels,
    readyAfter: undefined,
    isAboutDeployment: true,
  },
  {
    id: "podunavailablebudgets.policy.kruise.io",
    type: { crd: sourceCrd("podunavailablebudgets.yaml") },
    floor: 8,
    strategy: { spec: { maxUnavailable: 4 }, floor: 6 },
    selector: matchLabels,
    readyAfter: undefined,
    isAboutDeployment: true,
  },
];

/** What else has to be there for a source of that name. */
export async function prepareSample({ isAboutDeployment }: SourceSample, engine: Engine, name: string): Promise<void> {
  const [sample] = sourceSamples;
  if (isAboutDeployment && sample !== undefined) await engine.create(deployments, "default", sampleBody(sample, name));
}

/** The type of the sample on that API server, which serves it from now on. */
export async function installSample({ type }: SourceSample, engine: Engine): Promise<ResourceType> {
  return "crd" in type ? await engine.installCrd(type.crd) : type;
}

export function sampleBody(sample: SourceSample, name: string, metadata: JsonObject = {}): JsonObject {
  const { id, selector, isAboutDeployment = false } = sample;
  // The ends of long names differ.
  const labels = { app: name.slice(-60) };
  const { apiVersion, kind } = sourceKindOf(id);
  if (isAboutDeployment) {
    const spec = { maxUnavailable: "20%", selector: selector(labels) };
    return { apiVersion, kind, metadata: { name, namespace: "default", ...metadata }, spec };
  }
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
