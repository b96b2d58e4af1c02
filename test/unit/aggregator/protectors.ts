/** Stored PodProtectors for tests that need no cluster. */
import {
  type Aggregation,
  type Bucket,
  type LabelSelector,
  type PodProtector,
} from "../../../src/api/v1alpha1/pod-protector.ts";
import { type OwnAggregation } from "../../../src/accounting/count/protector-memory.ts";
import { counts as sampleCounts, version as versionOf } from "../accounting/samples.ts";
import { readProtector, type StoredProtector } from "../../../src/kube/resources.ts";

export interface ProtectorOptions {
  readonly uid?: string;
  readonly buckets?: readonly Bucket[];
  readonly aggregation?: Aggregation;
}

/** `default/web` at a version, with what it records of cell-1. */
export function storedProtector(version: number, options: ProtectorOptions = {}): StoredProtector {
  const { uid = "uid-web", buckets = [], aggregation } = options;
  const read = readProtector({
    metadata: { name: "web", namespace: "default", uid, resourceVersion: String(version) },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
    status: {
      cells: [
        { cellID: "cell-1", admissionHistory: { buckets }, ...(aggregation === undefined ? {} : { aggregation }) },
      ],
      summary: {
        totalReplicas: 0,
        aggregatedAvailableReplicas: 0,
        estimatedAvailableReplicas: 0,
        disruptionsAllowed: 0,
      },
    },
  });
  if (!read.ok) throw new Error(read.reason);
  return read.stored;
}

export function counts(version: string, available = 1): OwnAggregation {
  return sampleCounts(available, { resourceVersion: versionOf(version) });
}

/** One that counts by `aggregationSelector`, or else by the selector. */
export function selecting(
  selector: LabelSelector,
  aggregationSelector?: LabelSelector,
  namespace = "default",
): PodProtector {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "any", namespace, uid: "u", resourceVersion: "1" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector, ...(aggregationSelector && { aggregationSelector }) },
  };
}
