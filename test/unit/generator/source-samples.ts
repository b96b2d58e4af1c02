/** One example of each kind of source, for the contract that all of them keep. */
import { type SourceID } from "../../../src/config/generator-rules.ts";
import { builtInResources, type JsonObject, type ResourceType } from "../../double/index.ts";

export interface SourceSample {
  readonly id: SourceID;
  readonly type: ResourceType;
  /** Of ten replicas. */
  readonly floor: number;
  /** A change of the spec that is no change of the replicas, and the floor of ten replicas then; undefined = none. */
  readonly strategy: { readonly spec: JsonObject; readonly floor: number } | undefined;
  readonly selector: (labels: JsonObject) => JsonObject;
}

const matchLabels = (labels: JsonObject): JsonObject => ({ matchLabels: labels });
const { deployments, statefulSets, replicaSets, replicationControllers } = builtInResources;

export const sourceSamples: readonly SourceSample[] = [
  {
    id: "deployments.apps",
    type: deployments,
    floor: 8,
    strategy: { spec: { strategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    selector: matchLabels,
  },
  {
    id: "statefulsets.apps",
    type: statefulSets,
    floor: 9,
    strategy: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 4 } } }, floor: 6 },
    selector: matchLabels,
  },
  { id: "replicasets.apps", type: replicaSets, floor: 8, strategy: undefined, selector: matchLabels },
  {
    id: "replicationcontrollers",
    type: replicationControllers,
    floor: 8,
    strategy: undefined,
    selector: (labels) => labels,
  },
];

export function sampleBody({ type, selector }: SourceSample, name: string, metadata: JsonObject = {}): JsonObject {
  const labels = { app: name.slice(0, 60) };
  return {
    apiVersion: type.group === "" ? type.version : `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      replicas: 10,
      selector: selector(labels),
      template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  };
}
