/** Whether a cell is counted, how fresh its counts are, and how promised deletions settle. */
import { type Dashboard, type Panel } from "./dashboard.ts";
import { processRow } from "./process-row.ts";

const cell: readonly Panel[] = [
  {
    title: "Gate",
    description: "What the last probe of the webhook found. Anything but ok needs somebody.",
    queries: [["max by (namespace, state) (aggregator_gate) > 0", "{{namespace}} {{state}}"]],
  },
  {
    title: "Leader",
    description: "How long the leader has led. 0 everywhere means that nobody counts.",
    unit: "s",
    queries: [['leader_heartbeat{elector_name="aggregator"}', "{{instance}}"]],
  },
  {
    title: "Age of the pods seen",
    description: "Since the last event of the pod watch. With an update-trigger it is about a second.",
    unit: "s",
    queries: [["aggregator_snapshot_age_seconds", "{{instance}}"]],
  },
  {
    title: "Heartbeats",
    description: "Since the leader's last heartbeat. After three minutes the cell is silent.",
    unit: "s",
    queries: [["min by (namespace, core) (aggregator_heartbeat_age_seconds)", "{{namespace}} {{core}}"]],
  },
  {
    title: "Why no heartbeat is sent",
    description: "Empty while heartbeats are sent.",
    queries: [["max by (namespace, core, reason) (aggregator_heartbeat_silence) > 0", "{{core}} {{reason}}"]],
  },
  {
    title: "Touches of the dummy pod",
    description: "One a second keeps a quiet cell fresh.",
    unit: "ops",
    queries: [["sum by (event, error) (rate(aggregator_update_trigger_spin[5m]))", "{{event}} {{error}}"]],
  },
];

const promises: readonly Panel[] = [
  {
    title: "Oldest promise",
    description: "Deletions settle within seconds, evictions within two minutes.",
    unit: "s",
    queries: [["max by (namespace, kind) (aggregator_oldest_open_admission_age_seconds)", "{{namespace}} {{kind}}"]],
  },
  {
    title: "Settled, by reason",
    description: "How promised deletions end. window and gave-up wait longer than the others.",
    unit: "ops",
    isStacked: true,
    queries: [["sum by (reason) (rate(aggregator_settled_total[5m]))", "{{reason}}"]],
  },
  {
    title: "Fences",
    description: "Patches of pods that outlive their admitted deletion. forbidden and stripped need a person.",
    unit: "ops",
    queries: [["sum by (result) (rate(aggregator_fence_total[5m]))", "{{result}}"]],
  },
  {
    title: "Fullest buffer",
    description: "At 100 % deletions of that workload in the cell are refused.",
    unit: "percentunit",
    queries: [["max by (namespace) (aggregator_fullest_history_ratio)", "{{namespace}}"]],
  },
  {
    title: "Vanished pods",
    description: "Pods that were lost from etcd, not deleted.",
    queries: [["sum by (cell) (increase(aggregator_vanished_pods_total[10m]))", "{{cell}}"]],
  },
  {
    title: "PodProtectors that match nothing",
    description: "In any cell, as this one sees it.",
    queries: [["min by (namespace) (aggregator_unmatched_podprotectors)", "{{namespace}}"]],
  },
];

const work: readonly Panel[] = [
  {
    title: "Status writes",
    description: "Counts that are written into the core, by result.",
    unit: "ops",
    isStacked: true,
    queries: [["sum by (result) (rate(aggregator_status_write_total[5m]))", "{{result}}"]],
  },
  {
    title: "Time to count",
    description: "One PodProtector, its write included.",
    unit: "s",
    queries: [
      ["histogram_quantile(0.5, sum by (le) (rate(aggregator_reconcile_bucket[5m])))", "p50"],
      ["histogram_quantile(0.99, sum by (le) (rate(aggregator_reconcile_bucket[5m])))", "p99"],
    ],
  },
  {
    title: "Tables",
    description: "What is kept and what waits. A queue that only grows is a core that is slow.",
    queries: [["max by (table) (aggregator_table_entries)", "{{table}}"]],
  },
  {
    title: "Counting at once",
    description: "Whether counts that somebody waits for are made at once, or why they are not.",
    unit: "ops",
    isStacked: true,
    queries: [["sum by (result) (rate(aggregator_prompt_count_total[5m]))", "{{result}}"]],
  },
];

export const aggregator: Dashboard = {
  uid: "podseidon-aggregator",
  title: "Podseidon / Aggregator",
  description: "Whether a cell is counted, how fresh its counts are, and how promised deletions settle.",
  rows: [
    { title: "The cell", panels: cell },
    { title: "Promised deletions", panels: promises },
    { title: "Work", panels: work },
    processRow("podseidon-aggregator"),
  ],
};
