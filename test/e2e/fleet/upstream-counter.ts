/**
 * Plays the aggregator of the original, or of a release without heartbeats: it writes the counts of a cell again and
 * again, none of the fields that are Podseidon's own, and no Lease. Admissions settle by its clock.
 */
import { setTimeout as delay } from "node:timers/promises";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { ApiError } from "../clusters/admin-client.ts";
import { type Fleet, type Worker } from "./fleet.ts";
import { isServing, listPods } from "../objects/pods.ts";

export interface UpstreamCounter {
  stop(): Promise<void>;
}

/** Its default aggregation rate. */
const writeEveryMs = 1_000;

/** Counts the pods with `labelSelector` for the PodProtector `name`, until it is stopped. */
export function startUpstreamCounter(
  fleet: Fleet,
  { cell, cluster }: Worker,
  { name, labelSelector }: { readonly name: string; readonly labelSelector: string },
): UpstreamCounter {
  const end = new AbortController();
  const { admin } = fleet.core;
  const write = async (): Promise<void> => {
    const lastEventTime = formatMicroTime((Date.now() * 1000) as EpochMicros);
    const pods = await listPods(cluster.admin, fleet.namespace, labelSelector);
    const path = fleet.protectorPath(name);
    const protector = await admin.get<PodProtector>(path);
    const cells = (protector.status?.cells ?? []).map((one) => {
      if (one.cellID !== cell) return one;
      const buckets = (one.admissionHistory?.buckets ?? []).filter(
        ({ startTime, endTime }) => (endTime ?? startTime) >= lastEventTime,
      );
      const availableReplicas = pods.filter(isServing).length;
      return {
        cellID: cell,
        aggregation: { totalReplicas: pods.length, availableReplicas, lastEventTime },
        admissionHistory: { ...one.admissionHistory, buckets },
      };
    });
    const status = { ...protector.status, cells, summary: summarize(cells, protector.spec) };
    await admin.ask("PUT", `${path}/status`, { body: { ...protector, status } });
  };
  const running = (async () => {
    while (!end.signal.aborted) {
      try {
        await write();
      } catch (error) {
        // A webhook or the other cell's aggregator was first; the next turn reads again.
        if (!(error instanceof ApiError) || error.code !== 409) throw error;
      }
      await delay(writeEveryMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  })();
  running.catch(() => undefined); // awaited by stop
  return {
    async stop() {
      end.abort();
      await running;
    },
  };
}
