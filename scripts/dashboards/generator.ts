/** Whether workloads get their floors, what the generator holds or lets go, and how the whole core stands. */
import { type Dashboard, type Panel } from "./dashboard.ts";
import { processRow } from "./process-row.ts";

const sources: readonly Panel[] = [
  {
    title: "Leader",
    description: "How long the leader has led. 0 everywhere means that floors stay as they are.",
    unit: "s",
    queries: [['leader_heartbeat{elector_name="generator"}', "{{instance}}"]],
  },
  {
    title: "Actions",
    description: "What is done to PodProtectors. Sync without changes of workloads is somebody else who edits them.",
    unit: "ops",
    isStacked: true,
    queries: [["sum by (resource, action) (rate(generator_action[5m]))", "{{resource}} {{action}}"]],
  },
  {
    title: "Workloads that need a look",
    description:
      "Undrainable ones block drains, unprotected ones can lose all pods, unprotectable ones have no object.",
    queries: [
      ["max(generator_undrainable_sources)", "undrainable"],
      ["max(generator_unprotected_sources)", "unprotected"],
      ["sum(max by (reason) (generator_unprotectable_sources))", "unprotectable"],
      ["max(generator_ignored_override_sources)", "ignored annotations"],
      ["sum(max by (resource) (generator_unreadable_scales))", "unknown replicas"],
      ["max(generator_ignored_podprotectors)", "of kinds that are not looked after"],
    ],
  },
  {
    title: "Held changes",
    description: "Changes that wait for a person, by cause.",
    isStacked: true,
    queries: [["max by (cause) (generator_held_changes) > 0", "{{cause}}"]],
  },
  {
    title: "Lost and waiting",
    description: "PodProtectors that vanished, releases that wait for the list of releases, a lost CRD.",
    queries: [
      ["max(generator_vanished_podprotectors)", "vanished"],
      ["max(generator_waiting_releases)", "waiting releases"],
      ["max(generator_crd_lost)", "CRD lost"],
    ],
  },
  {
    title: "Cells",
    description:
      "Silent cells, of how many PodProtectors nothing is free without them, and retirements that are under way.",
    queries: [
      ["max(generator_silent_cells)", "silent cells"],
      ["max(generator_silent_cell_podprotectors)", "PodProtectors with nothing free"],
      ["max(generator_retiring_cells)", "retiring cells"],
      ["max(generator_retiring_cell_podprotectors)", "PodProtectors that still have one"],
    ],
  },
];

const core: readonly Panel[] = [
  {
    title: "Workloads with enough available pods",
    description: "Share of all PodProtectors. 100 % is what you want to see.",
    unit: "percentunit",
    queries: [["min(generator_monitor_workloads_proportion_available_workloads)", "enough"]],
  },
  {
    title: "Pods by state",
    description: "Over all workloads of the core.",
    queries: [
      ["max(generator_monitor_workloads_current_aggregated_created_pods)", "created"],
      ["max(generator_monitor_workloads_current_aggregated_scheduled_pods)", "scheduled"],
      ["max(generator_monitor_workloads_current_aggregated_running_pods)", "running"],
      ["max(generator_monitor_workloads_current_aggregated_ready_pods)", "ready"],
      ["max(generator_monitor_workloads_current_aggregated_available_pods)", "available"],
      ["max(generator_monitor_workloads_min_available)", "must stay"],
    ],
  },
  {
    title: "Promised deletions",
    description: "Admitted and not settled, over all workloads.",
    queries: [["max(generator_monitor_workloads_total_outstanding_history)", "promised"]],
  },
];

const work: readonly Panel[] = [
  {
    title: "Queues",
    description: "Work that waits. A queue that does not empty is an API server that is slow.",
    queries: [
      ["max(generator_queue_entries)", "queued"],
      ["max(generator_paced_objects)", "worked on in the last half minute"],
    ],
  },
  {
    title: "Time to bring a workload in line",
    description: "One source, its writes included.",
    unit: "s",
    queries: [
      ["histogram_quantile(0.5, sum by (le) (rate(generator_reconcile_bucket[5m])))", "p50"],
      ["histogram_quantile(0.99, sum by (le) (rate(generator_reconcile_bucket[5m])))", "p99"],
    ],
  },
  {
    title: "Failures",
    description: "By what failed and how. forbidden is a right that is missing.",
    unit: "ops",
    queries: [
      ["sum by (error) (rate(generator_source_condition_failures_total[5m]))", "conditions: {{error}}"],
      ["sum by (error) (rate(generator_cell_condition_failures_total[5m]))", "conditions of cells: {{error}}"],
      ["sum by (error) (rate(generator_cell_lease_write_failures_total[5m]))", "Leases of cells: {{error}}"],
      ["sum by (error) (rate(generator_release_list_failures_total[5m]))", "list of releases: {{error}}"],
      ["sum by (error) (rate(generator_mass_change_failures_total[5m]))", "mass changes: {{error}}"],
    ],
  },
];

export const generator: Dashboard = {
  uid: "podseidon-generator",
  title: "Podseidon / Generator",
  description: "Whether workloads get their floors, what is held or let go, and how the whole core stands.",
  rows: [
    { title: "Workloads", panels: sources },
    { title: "The whole core", panels: core },
    { title: "Work", panels: work },
    processRow("podseidon-generator"),
  ],
};
