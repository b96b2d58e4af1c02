/** What the aggregator keeps of a pod (compact-pod.ts): pods share equal label sets, namespaces and kinds. */
import {
  type Labels,
  type PodRecord,
  readPodRecord,
  noWorkload,
  otherWorkload,
  readWorkloadKind,
  type ReadWorkloadKind,
} from "../../api/pod.ts";
import { type SyncTime, type SyncTimeAlgorithm } from "../../accounting/settle/sync-time.ts";
import { type Decode } from "../../kube/informer.ts";
import { CompactPod } from "./compact-pod.ts";
import { type AggregatorMetrics } from "../metrics.ts";

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
  const sharedText = createTextInterner();
  const shared = createKindInterner();
  const readKind: ReadWorkloadKind = (metadata) => shared(readWorkloadKind(metadata));
  return (raw) => {
    const pod = readPodRecord(raw, intern, syncTime.readEventTime, readKind);
    if (pod === undefined) return undefined;
    if (algorithm.kind === "annotation" && pod.eventTime === undefined)
      indexErrors.inc({ namespace: pod.namespace, error: "EventTime" });
    // Unlike the kinds that people see, each stays as it is: it decides whether the pod counts.
    const { controllerKind } = pod;
    return new CompactPod(pod, sharedText(pod.namespace), controllerKind && sharedText(controllerKind));
  };
}

/**
 * Returns for each label set an equal one that was seen before, if there is one. The pods of one workload mostly have
 * the same labels: a shared object saves several hundred bytes a pod, and makes "have the labels changed" a comparison
 * of references.
 */
export function createLabelInterner(): (labels: Labels) => Labels {
  // By hash, as the texts would take more memory than the labels. Of two sets with the same one the newer is shared.
  const known = new Map<number, Labels>();
  return (labels) => {
    const hash = hashOf(labels);
    const shared = known.get(hash);
    if (shared !== undefined && areEqual(shared, labels)) return shared;
    if (known.size >= distinctLabelsMax) known.clear();
    known.set(hash, labels);
    // So that an index needs no copy of its own.
    return Object.freeze(labels);
  };
}

/** FNV-1a of all keys and values, in 32 bits. */
function hashOf(labels: Labels): number {
  let hash = 0x811c9dc5;
  for (const key in labels) {
    for (const text of [key, labels[key]!]) {
      for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
      // Between texts, as no label holds it.
      hash = Math.imul(hash ^ 0xff, 0x01000193);
    }
  }
  return hash;
}

function areEqual(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** Namespaces and kinds remembered. A cluster has hundreds; when it is full, all are forgotten. */
const textsMax = 16_384;

/** Returns for each text an equal one that was seen before. */
function createTextInterner(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const shared = known.get(text);
    if (shared !== undefined) return shared;
    if (known.size >= textsMax) known.clear();
    known.set(text, text);
    return text;
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
