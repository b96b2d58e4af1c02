/** The dashboard to look at first: is anything wrong, what is refused where, how cells and workloads stand. */
import { type Dashboard, type Panel } from "./dashboard.ts";

const numbers: readonly Panel[] = [
  {
    title: "Alerts",
    description: "Alerts of Podseidon that fire now. Each has a page in docs/runbooks.",
    queries: [['count(ALERTS{alertname=~"Podseidon.+",alertstate="firing",severity!="info"}) or vector(0)', ""]],
    limits: [1, 3],
  },
  {
    title: "Webhooks",
    description: "Replicas that answer. With none, every deletion is refused.",
    queries: [['count(up{job="podseidon-webhook"} == 1) or vector(0)', ""]],
    limits: [-2, -1],
  },
  {
    title: "Silent cells",
    description: "Nothing is heard from them, so their pods count for nothing.",
    queries: [["sum(podseidon:cell_silent) or vector(0)", ""]],
    limits: [1, 1],
  },
  {
    title: "At the floor",
    description: "PodProtectors with nothing free: the next deletion is refused.",
    queries: [['max(generator_podprotector_conditions{type="AtFloor"})', ""]],
  },
  {
    title: "Below the floor",
    description: "PodProtectors with fewer pods than must stay.",
    queries: [['max(generator_podprotector_conditions{type="BelowFloor"})', ""]],
    limits: [1, 10],
  },
  {
    title: "Held changes",
    description: "Changes of workloads that wait for a person.",
    queries: [["sum(max by (cause) (generator_held_changes)) or vector(0)", ""]],
    limits: [1, 1],
  },
  {
    title: "Lost PodProtectors",
    description: "Enforced from memory. Do not restart webhooks while there are any.",
    queries: [["max(webhook_tombstones)", ""]],
    limits: [1, 1],
  },
  {
    title: "Certificate, days",
    description: "Days until the first certificate in use ends.",
    queries: [["(min(certificate_expiry_timestamp_seconds > 0) - time()) / 86400", ""]],
    limits: [-21, -3],
  },
];

const deletions: readonly Panel[] = [
  {
    title: "Decisions",
    description: "Deletions and evictions by what became of them. held were admitted after having waited for a moment.",
    unit: "reqps",
    isStacked: true,
    queries: [["sum by (result) (rate(webhook_decisions_total[5m]))", "{{result}}"]],
  },
  {
    title: "Refusals by cell",
    description: "Deletions of pods that must stay. Who asked is in the Events of the PodProtector, and in the log.",
    unit: "reqps",
    isStacked: true,
    queries: [["sum by (cell) (podseidon:refusals:rate5m)", "{{cell}}"]],
  },
  {
    title: "Refusals by reason",
    description: "What each reason means, and what to do, is in docs/refusals.md.",
    unit: "reqps",
    isStacked: true,
    queries: [["sum by (reason) (podseidon:refusals:rate5m)", "{{reason}}"]],
  },
  {
    title: "Forced deletions",
    description: "Deletions that would have been refused, and were let pass by the annotation force-delete.",
    queries: [['sum by (cell) (increase(webhook_decisions_total{result="forced"}[15m]))', "{{cell}}"]],
  },
  {
    title: "Would be refused (shadow)",
    description: "What PodProtectors in shadow would have refused, the ten with the most.",
    unit: "reqps",
    queries: [["topk(10, sum by (podprotector) (rate(webhook_would_refuse_total[5m])))", "{{podprotector}}"]],
  },
];

const cells: readonly Panel[] = [
  {
    title: "Last heard of",
    description: "Beats come every 10 s. After three minutes without one a cell is silent.",
    unit: "s",
    queries: [["min by (core, cell) (cell_beat_age_seconds)", "{{core}} {{cell}}"]],
  },
  {
    title: "State of cells",
    description: "1 while a cell is silent, or kept in force by hand.",
    queries: [
      ["podseidon:cell_silent", "{{cell}} silent"],
      ['max by (core, cell) (cell_state{state="keep"})', "{{cell}} kept"],
    ],
  },
  {
    title: "Not counted",
    description: "PodProtectors that a cell cannot count or write. For those alone it is silent.",
    queries: [["max by (core, cell) (cell_behind_podprotectors)", "{{core}} {{cell}}"]],
  },
];

const workloads: readonly Panel[] = [
  {
    title: "All pods of the core",
    description: "Available less promised, over all workloads, and how many must stay. A sudden fall is a disaster.",
    queries: [
      ["max(generator_monitor_workloads_current_estimated_available_replicas)", "available less promised"],
      ["max(generator_monitor_workloads_min_available)", "must stay"],
    ],
  },
  {
    title: "Fewest free pods",
    description: "How many pods may go now, of the ten workloads with the fewest. 0 refuses.",
    kind: "bars",
    limits: [-2, -1],
    queries: [
      ['bottomk(10, max by (podprotector) (generator_podprotector_free{mode="enforced"}))', "{{podprotector}}"],
    ],
  },
  {
    title: "Missing pods",
    description: "Workloads with fewer pods than must stay, the ten that lack the most.",
    kind: "bars",
    limits: [1, 5],
    queries: [["topk(10, podseidon:podprotector_missing > 0)", "{{podprotector}}"]],
  },
  {
    title: "Promised deletions",
    description: "Admitted and not settled. They are not free; after a drain they should be gone within minutes.",
    queries: [["topk(10, max by (podprotector) (generator_podprotector_promised) > 0)", "{{podprotector}}"]],
  },
  {
    title: "States of PodProtectors",
    description: "How many have a condition. docs/conditions.md says what each means.",
    queries: [["max by (type) (generator_podprotector_conditions) > 0", "{{type}}"]],
  },
  {
    title: "Uncovered pods",
    description: "Pods that no PodProtector protects, by kind of workload.",
    isStacked: true,
    queries: [["max by (kind) (aggregator_uncovered_pods)", "{{kind}}"]],
  },
];

export const fleet: Dashboard = {
  uid: "podseidon-fleet",
  title: "Podseidon / Fleet",
  description: "Is anything wrong, what is refused where, how cells and workloads stand.",
  rows: [
    { title: "Now", panels: numbers },
    { title: "Deletions", panels: deletions },
    { title: "Cells", panels: cells },
    { title: "Workloads", panels: workloads },
  ],
};
