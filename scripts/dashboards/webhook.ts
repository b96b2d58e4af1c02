/** How fast reviews are decided, and what the writes into the core cost. */
import { type Dashboard, type Panel } from "./dashboard.ts";
import { processRow } from "./process-row.ts";

const quantile = (q: number, metric: string, by: string): string =>
  `histogram_quantile(${q}, sum by (le${by}) (rate(${metric}_bucket[5m])))`;

const reviews: readonly Panel[] = [
  {
    title: "Time to decide",
    description: "Reviews that are held for up to 2.25 s are among them. API servers give up after 10 s.",
    unit: "s",
    queries: [
      [quantile(0.5, "webhook_request", ""), "p50"],
      [quantile(0.9, "webhook_request", ""), "p90"],
      ["podseidon:review_seconds:p99_5m", "p99"],
    ],
  },
  {
    title: "Reviews by cell",
    description: "What each cell asks.",
    unit: "reqps",
    isStacked: true,
    queries: [["sum by (cell) (podseidon:reviews:rate5m)", "{{cell}}"]],
  },
  {
    title: "In flight and held",
    description: "At 4,000 in flight a replica turns reviews away; at most 64 are held.",
    queries: [
      ["sum(webhook_reviews_in_flight)", "in flight"],
      ["sum(webhook_reviews_held)", "held"],
    ],
  },
  {
    title: "Held reviews",
    description: "What became of reviews that waited instead of being refused at once.",
    unit: "reqps",
    isStacked: true,
    queries: [["sum by (cause, result) (rate(webhook_held_review_count[5m]))", "{{cause}} {{result}}"]],
  },
  {
    title: "Errors",
    description: "Reviews that could not be decided. API servers refuse these deletions.",
    unit: "reqps",
    queries: [["sum by (cell, error) (rate(webhook_http_error[5m]))", "{{cell}} {{error}}"]],
  },
  {
    title: "Rejected and dropped connections",
    description: "Callers without an accepted certificate (401, 403), and connections that found no room.",
    unit: "reqps",
    queries: [
      ["sum by (code) (rate(webhook_client_rejection_total[5m]))", "rejected {{code}}"],
      ["sum by (reason) (rate(webhook_connection_drop_total[5m]))", "dropped {{reason}}"],
    ],
  },
];

const writes: readonly Panel[] = [
  {
    title: "Status writes",
    description: "Writes of PodProtectors into the core. A few conflicts are how replicas agree.",
    unit: "ops",
    isStacked: true,
    queries: [["sum by (result) (rate(webhook_status_write_total[5m]))", "{{result}}"]],
  },
  {
    title: "Conflicts",
    description: "Share of the writes that met a conflict.",
    unit: "percentunit",
    queries: [["podseidon:write_conflicts:ratio10m", "conflicts"]],
  },
  {
    title: "Time of a write",
    description: "One execution of a batch. It limits how many deletions one PodProtector can admit.",
    unit: "s",
    queries: [
      [quantile(0.5, "retrybatch_execute", ""), "p50"],
      [quantile(0.99, "retrybatch_execute", ""), "p99"],
    ],
  },
  {
    title: "Deletions in a write",
    description: "How many deletions share one write. It grows under load, which is what batches are for.",
    queries: [
      [
        "sum(rate(retrybatch_execute_batch_size_sum[5m])) / sum(rate(retrybatch_execute_batch_size_count[5m]))",
        "average",
      ],
    ],
  },
  {
    title: "Writes for a deletion",
    description: "How many executions a deletion took part in. Above 2, several writers fight for one object.",
    queries: [
      [
        "sum(rate(retrybatch_submit_retry_count_sum[5m])) / sum(rate(retrybatch_submit_retry_count_count[5m]))",
        "average",
      ],
    ],
  },
  {
    title: "Not recorded",
    description: "Deletions that were admitted without a record: forced ones, and those on the last known quota.",
    unit: "ops",
    queries: [
      ["sum by (error) (rate(webhook_record_failure[5m]))", "not recorded: {{error}}"],
      ["sum by (core) (rate(webhook_last_known_admission_total[5m]))", "last known quota of {{core}}"],
    ],
  },
];

export const webhook: Dashboard = {
  uid: "podseidon-webhook",
  title: "Podseidon / Webhook",
  description: "How fast reviews are decided, and what the writes into the core cost.",
  rows: [{ title: "Reviews", panels: reviews }, { title: "Writes", panels: writes }, processRow("podseidon-webhook")],
};
