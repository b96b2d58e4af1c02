/** Flags of the process itself: what it runs, where its settings come from, health, metrics, logs. */
import { choices } from "../collection-types.ts";
import { flag, inGroup, prefixed, roles, type Role } from "../flag.ts";
import { bool, durationMs, int, int32Max, text } from "../scalar-types.ts";
import { kubeFlags } from "./kube.ts";
import { serverFlags } from "./server.ts";

export const sharedFlags = {
  ...inGroup(
    { title: "Process", roles },
    {
      role: flag(choices<Role>("ROLE,...", roles), [], `What to run: one or more of ${roles.join(", ")}. Required.`),
      config: flag(text("PATH"), "", "YAML file with settings; its keys are flag names without dashes in front."),
    },
  ),
  ...inGroup(
    { title: "Core cluster", roles: ["generator", "aggregator", "webhook"] },
    prefixed("core-kube-", kubeFlags),
  ),
  ...inGroup({ title: "Worker cluster", roles: ["aggregator", "update-trigger"] }, prefixed("worker-kube-", kubeFlags)),
  ...inGroup(
    { title: "Health server", roles },
    prefixed("healthz-", serverFlags("/readyz, /healthz and /livez", { http: 8081, https: 8444 })),
  ),
  ...inGroup(
    { title: "Metrics", roles },
    {
      ...prefixed("prometheus-http-", serverFlags("Prometheus metrics on every path", { http: 9090, https: 9443 })),
      "metrics-sample-frequency": flag(
        durationMs({ min: "positive" }),
        30_000,
        "Time between two samples of the heartbeat.",
      ),
      "metrics-by-namespace": flag(bool(), false, "Keep the label `namespace` on metrics."),
      "metrics-by-user": flag(bool(), false, "Keep the label `user` on metrics."),
    },
  ),
  ...inGroup(
    { title: "Logs", roles },
    {
      "klog-v": flag(
        int({ min: 0, max: int32Max }),
        0,
        "Verbosity of the log on stderr; 0 is quiet, 4 shows each decision.",
      ),
    },
  ),
  ...inGroup(
    { title: "Admission history", roles: ["webhook", "aggregator"] },
    prefixed("default-admission-history-config-", {
      "max-concurrent-lag": flag(
        int({ min: 0, max: int32Max }),
        0,
        "Most unsettled admissions of a PodProtector over all cells; 0 means no limit. Used where the object sets none.",
      ),
      "compact-threshold": flag(
        int({ min: 1, max: int32Max }),
        100,
        "Most history buckets of a cell before they are packed. Used where the object sets none.",
      ),
      "aggregation-rate": flag(
        durationMs({ min: "zero" }),
        1_000,
        "Time from a pod event to the next count, before jitter. Used where the object sets none. Upstream's default is 5s.",
      ),
    }),
  ),
};
