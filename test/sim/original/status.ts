/** A status as the Go original keeps and writes it: it drops the fields that it does not know, of all cells. */
import { type MicroTime } from "../../../src/api/micro-time.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type KubeClient, resourcePath } from "../../../src/kube/kube-client.ts";
import { podProtectors, type StoredProtector } from "../../../src/kube/resources.ts";

export interface GoBucket {
  startTime: string;
  readonly podName?: string;
  readonly podUID?: string;
  readonly endTime?: string;
  readonly counter?: number;
}

export interface GoCell {
  readonly cellID: string;
  aggregation: {
    totalReplicas: number;
    availableReplicas: number;
    readyReplicas?: number;
    scheduledReplicas?: number;
    runningReplicas?: number;
    lastEventTime?: MicroTime;
  };
  buckets: GoBucket[];
}

export function cellsOf({ status }: PodProtector): GoCell[] {
  return (status?.cells ?? []).map(({ cellID, aggregation, admissionHistory }) => ({
    cellID,
    aggregation: onlyGo(aggregation),
    buckets: (admissionHistory?.buckets ?? []).map(({ startTime, podName, podUID, endTime, counter }) => ({
      startTime,
      ...(podName !== undefined && { podName }),
      ...(podUID !== undefined && { podUID }),
      ...(endTime !== undefined && { endTime }),
      ...(counter !== undefined && { counter }),
    })),
  }));
}

function onlyGo(counts: NonNullable<NonNullable<PodProtector["status"]>["cells"][0]["aggregation"]> | undefined) {
  const { totalReplicas = 0, availableReplicas = 0, readyReplicas, scheduledReplicas, runningReplicas } = counts ?? {};
  return {
    totalReplicas,
    availableReplicas,
    ...(readyReplicas !== undefined && { readyReplicas }),
    ...(scheduledReplicas !== undefined && { scheduledReplicas }),
    ...(runningReplicas !== undefined && { runningReplicas }),
    ...(counts?.lastEventTime !== undefined && { lastEventTime: counts.lastEventTime }),
  };
}

export const lagOf = (cells: readonly GoCell[]): number =>
  cells.flatMap(({ buckets }) => buckets).reduce((sum, { counter = 1 }) => sum + counter, 0);

export const availableOf = (cells: readonly GoCell[]): number =>
  cells.reduce((sum, { aggregation }) => sum + aggregation.availableReplicas, 0);

/** Writes the whole object, as of the version that is stored. Rejects with a KubeError. */
export async function putStatus(client: KubeClient, stored: StoredProtector, cells: readonly GoCell[]): Promise<void> {
  const { namespace, name } = stored.protector.metadata;
  const available = availableOf(cells);
  const sum = (pick: (aggregation: GoCell["aggregation"]) => number | undefined): number =>
    cells.reduce((total, { aggregation }) => total + (pick(aggregation) ?? 0), 0);
  const summary = {
    totalReplicas: sum(({ totalReplicas }) => totalReplicas),
    aggregatedAvailableReplicas: available,
    estimatedAvailableReplicas: available - lagOf(cells),
    aggregatedReady: sum(({ readyReplicas }) => readyReplicas),
    aggregatedScheduled: sum(({ scheduledReplicas }) => scheduledReplicas),
    aggregatedRunning: sum(({ runningReplicas }) => runningReplicas),
  };
  const status = {
    cells: cells.map(({ cellID, aggregation, buckets }) => ({
      cellID,
      aggregation,
      admissionHistory: buckets.length === 0 ? {} : { buckets },
    })),
    summary,
  };
  await client.request({
    method: "PUT",
    path: resourcePath(podProtectors, { namespace, name, subresource: "status" }),
    body: { ...stored.protector, status },
  });
}
