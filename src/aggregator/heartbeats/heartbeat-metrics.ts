/** Metrics of the heartbeats of a cell (docs/aggregator.md#heartbeat). */
import { type Counter, type Metrics } from "../../util/metrics.ts";

/** Why no heartbeat is sent. */
export const silences = [
  "pods-not-fresh",
  "podprotectors-not-fresh",
  "first-counts",
  "too-many-behind",
  "forbidden",
  "write-failed",
  "held-by-other-cluster",
  "lease-unreadable",
] as const;

export type Silence = (typeof silences)[number];

export interface HeartbeatMetrics {
  readonly sent: Counter;
  readonly coreResets: Counter;
  /** The UID of the worker cluster may not be read. */
  readonly clusterUnknown: Counter;
  /** Undefined = heartbeats are sent, or this process does not lead. */
  setSilence(core: string, silence: Silence | undefined): void;
  /** To be called before each scrape. +Inf before the first beat. */
  setAge(core: string, ageMs: number): void;
  /** PodProtectors that the last beat named. */
  setBehind(core: string, behind: number): void;
}

export function createHeartbeatMetrics(metrics: Metrics): HeartbeatMetrics {
  const silence = metrics.gauge(
    "aggregator_heartbeat_silence",
    `Whether the leader sends no heartbeats (1), by reason: ${silences.join(", ")}`,
    ["core", "reason"],
  );
  const age = metrics.gauge(
    "aggregator_heartbeat_age_seconds",
    "Seconds since the leader's last heartbeat; +Inf before the first",
    ["core"],
  );
  const behind = metrics.gauge(
    "aggregator_heartbeat_behind",
    "PodProtectors that the last heartbeat names as not counted: for those the cell is silent",
    ["core"],
  );
  return {
    sent: metrics.counter("aggregator_heartbeat_total", "Heartbeats of the cell, by result: sent, or the error", [
      "core",
      "result",
    ]),
    coreResets: metrics.counter(
      "aggregator_core_history_reset_total",
      "Core cluster restores detected (resourceVersions went backwards) by a list of PodProtectors",
      [],
    ),
    clusterUnknown: metrics.counter(
      "aggregator_cluster_unknown_total",
      "Reads of the worker's namespace kube-system that were forbidden: two clusters of one cell are not told apart",
      [],
    ),
    setSilence(core, present) {
      for (const reason of silences) silence.set({ core, reason }, reason === present ? 1 : 0);
    },
    setAge: (core, ageMs) => age.set({ core }, ageMs / 1000),
    setBehind: (core, count) => behind.set({ core }, count),
  };
}
