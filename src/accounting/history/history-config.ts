/** The settings of one PodProtector's admission history: its own, or the flags'. */
import { type AdmissionHistoryConfig } from "../../api/v1alpha1/pod-protector.ts";

export interface HistoryConfig {
  /** Most unsettled admissions over all cells; 0 = unlimited. */
  readonly maxConcurrentLag: number;
  /** Most buckets of one cell before packing; at least 1. */
  readonly compactThreshold: number;
  /** Milliseconds from the first pod event to the aggregation. */
  readonly aggregationRateMs: number;
}

/**
 * Absent fields take the default. Values out of range (below 0, a threshold below 1) take the nearest valid one.
 */
export function historyConfigOf(own: AdmissionHistoryConfig | undefined, defaults: HistoryConfig): HistoryConfig {
  return {
    maxConcurrentLag: Math.max(0, own?.maxConcurrentLag ?? defaults.maxConcurrentLag),
    compactThreshold: Math.max(1, own?.compactThreshold ?? defaults.compactThreshold),
    aggregationRateMs: Math.max(0, own?.aggregationRateMillis ?? defaults.aggregationRateMs),
  };
}
