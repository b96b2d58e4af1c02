/** What every dashboard of a role ends with: the processes themselves, and what they ask of API servers. */
import { type Row } from "./dashboard.ts";

export function processRow(job: string): Row {
  return {
    title: "Processes",
    panels: [
      {
        title: "Lag of the event loop",
        description: "Above 0.2 s a process has more to do than it can.",
        unit: "s",
        queries: [[`nodejs_eventloop_lag_p99_seconds{job="${job}"}`, "{{instance}}"]],
      },
      {
        title: "CPU",
        description: "Cores in use. A process uses little more than one.",
        queries: [[`rate(process_cpu_seconds_total{job="${job}"}[5m])`, "{{instance}}"]],
      },
      {
        title: "Memory",
        description: "Resident. Compare it with the limit of the container.",
        unit: "bytes",
        queries: [[`process_resident_memory_bytes{job="${job}"}`, "{{instance}}"]],
      },
      {
        title: "Requests to API servers",
        description: "By answer. 403 is a missing right, 409 a conflict, <error> no answer.",
        unit: "reqps",
        isStacked: true,
        queries: [
          [`sum by (method, code) (rate(kube_client_requests_total{job="${job}"}[5m]))`, "{{method}} {{code}}"],
        ],
      },
      {
        title: "Answers of API servers, p99",
        description: "How long the process waits for them. Watches are not among them.",
        unit: "s",
        queries: [
          [
            `histogram_quantile(0.99, sum by (le, verb) ` +
              `(rate(kube_client_request_duration_seconds_bucket{job="${job}"}[5m])))`,
            "{{verb}}",
          ],
        ],
      },
      {
        title: "Age of watches",
        description: "Bookmarks come once a minute. Beyond three minutes a process works from an old picture.",
        unit: "s",
        queries: [
          [
            `max by (cluster, informer) (kube_informer_watch_silence_seconds{job="${job}"}) < Inf`,
            "{{cluster}} {{informer}}",
          ],
        ],
      },
    ],
  };
}
