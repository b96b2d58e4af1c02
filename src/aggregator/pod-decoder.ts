/** What the aggregator keeps of a pod: its record (api/pod.ts), with equal label sets and kinds shared between pods. */
import { type Labels, type PodRecord, readPodRecord } from "../api/pod.ts";
import { noWorkload, otherWorkload, readWorkloadKind, type ReadWorkloadKind } from "../api/workload-kind.ts";
import { type SyncTime, type SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import { type Decode } from "../kube/informer.ts";
import { type AggregatorMetrics } from "./metrics.ts";

/**
 * Distinct label sets remembered; StatefulSets and Jobs label each pod differently. When it is full, all are forgotten.
 */
const distinctLabelsMax = 65_536;

/**
 * Decodes pods of lists and watches. A pod without the annotation that the sync-time algorithm reads (a patched API
 * server should have stamped it) is kept and counted as an error: its deletions would never be forgotten.
 */
export function createPodDecoder(
  algorithm: SyncTimeAlgorithm,
  syncTime: SyncTime,
  { indexErrors }: Pick<AggregatorMetrics, "indexErrors">,
): Decode<PodRecord> {
  const intern = createLabelInterner();
  const shared = createKindInterner();
  const readKind: ReadWorkloadKind = (metadata) => shared(readWorkloadKind(metadata));
  return (raw) => {
    const pod = readPodRecord(raw, intern, syncTime.readEventTime, readKind);
    if (algorithm.kind === "annotation" && pod !== undefined && pod.eventTime === undefined)
      indexErrors.inc({ namespace: pod.namespace, error: "EventTime" });
    return pod;
  };
}

/**
 * Returns for each label set an equal one that was seen before, if there is one. The pods of one workload mostly have
 * the same labels: a shared object saves several hundred bytes a pod, and makes "have the labels changed" a comparison
 * of references.
 */
export function createLabelInterner(): (labels: Labels) => Labels {
  const known = new Map<string, Labels>();
  return (labels) => {
    const text = JSON.stringify(labels);
    const shared = known.get(text);
    if (shared !== undefined) return shared;
    if (known.size >= distinctLabelsMax) known.clear();
    known.set(text, labels);
    return labels;
  };
}

/**
 * Kinds of workloads that are told apart: those that most clusters have, and then the first others that come. Anybody
 * who makes pods chooses them, and each is a value of a metric.
 */
const kindsMax = 32;
const usualKinds = [
  noWorkload,
  otherWorkload,
  "Deployment",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "Node",
  "CloneSet",
  "Rollout",
];

/** Returns for each kind an equal text that was seen before, and "other" for kinds beyond the limit. */
export function createKindInterner(): (kind: string) => string {
  const known = new Map(usualKinds.map((kind) => [kind, kind]));
  return (kind) => {
    const shared = known.get(kind);
    if (shared !== undefined) return shared;
    if (known.size >= kindsMax) return otherWorkload;
    known.set(kind, kind);
    return kind;
  };
}
