/** The flags of every process: roles, configuration file, clusters, health, metrics, logs, admission history. */
import { choices } from "../types/collection-types.ts";
import { flag, inGroup, prefixed, roles, type Role } from "../flag.ts";
import { bool, durationMs, int, int32Max, text } from "../types/scalar-types.ts";
import { kubeFlags } from "./kube.ts";
import { serverFlags } from "./server.ts";

export const sharedFlags = {
  ...inGroup(
    { title: "Process", roles },
    {
      role: flag(
        choices<Role>("ROLE,...", roles),
        [],
        `Roles to run in this process: one or more of ${roles.join(", ")}. Required.`,
      ),
      config: flag(
        text("PATH"),
        "",
        "Path to a YAML file with settings. Its keys are flag names without the leading dashes.",
      ),
    },
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
        "Time between samples of the heartbeat metric.",
        { isRare: true },
      ),
      "metrics-by-namespace": flag(bool(), false, "Keep the label `namespace` on metrics; dropped otherwise."),
      "metrics-by-user": flag(bool(), false, "Keep the label `user` on metrics; dropped otherwise."),
    },
  ),
  ...inGroup(
    { title: "Profiles", roles },
    prefixed(
      "pprof-",
      serverFlags(
        "profiles of CPU and heap",
        { http: 6060, https: 6061 },
        { isOn: false, httpHelp: " Upstream's default is true." },
      ),
    ),
  ),
  ...inGroup(
    { title: "Logs", roles },
    {
      "klog-v": flag(
        int({ min: 0, max: int32Max }),
        0,
        "Verbosity of the logs on stderr: 0 logs the least, 4 logs every decision.",
      ),
    },
  ),
  ...inGroup(
    // Upstream's chart passes these to the generator as well, which keeps no history.
    { title: "Admission history", roles: ["generator", "aggregator", "webhook"] },
    prefixed("default-admission-history-config-", {
      "max-concurrent-lag": flag(
        int({ min: 0, max: int32Max }),
        0,
        "Maximum number of unsettled admissions of a PodProtector over all cells; 0 means no limit. A " +
          "PodProtector may override it.",
      ),
      "compact-threshold": flag(
        int({ min: 1, max: int32Max }),
        100,
        "Maximum number of history buckets of a cell before they are packed. A PodProtector may override it.",
      ),
      "aggregation-rate": flag(
        durationMs({ min: "zero" }),
        1_000,
        "Time from a pod event to the next count, before jitter, while nobody waits for it. A PodProtector may " +
          "override it. Upstream's default is 5s.",
      ),
    }),
  ),
};
