/** What people need first of each role: what it is, the ten flags that matter, two examples. For --help. */
import { type Role } from "../flag.ts";
import { type FlagName } from "../flag-table.ts";

export interface RoleHelp {
  /** One line of at most 60 characters. */
  readonly summary: string;
  /** The most needed first. */
  readonly flags: readonly FlagName[];
  /** Each with a comment before it, as for a shell. */
  readonly examples: readonly string[];
}

export const roleHelp: Readonly<Record<Role, RoleHelp>> = {
  generator: {
    summary: "keeps a PodProtector for each workload; one per core",
    flags: [
      "core-kube-config",
      "generator-default-mode",
      "generator-sources",
      "generator-source-selector",
      "deployment-plugin-protection-selector",
      "generator-single-replica",
      "generator-mass-change-policy",
      "generator-leader-elector-namespace",
      "cell-lease-namespace",
      "klog-v",
    ],
    examples: [
      "# Judge and report, refuse nothing; the API server of a kubeconfig.",
      "podseidon --role=generator --core-kube-config=core.kubeconfig \\",
      "  --generator-default-mode=shadow",
      "# In a pod, by its ServiceAccount, for some Deployments only.",
      "podseidon --role=generator --deployment-plugin-protection-selector=tier=front",
    ],
  },
  aggregator: {
    summary: "counts the pods of a cell; one leader per cell",
    flags: [
      "aggregator-cell-id",
      "core-kube-config",
      "worker-kube-config",
      "cell-lease-namespace",
      "worker-kube-target-namespace",
      "aggregator-pod-label-selector",
      "podprotector-source-provider",
      "update-trigger-dummy-pod-namespace",
      "aggregator-leader-elector-namespace",
      "klog-v",
    ],
    examples: [
      "# One cell of a fleet: its pods in the worker cluster, counts in the core.",
      "podseidon --role=aggregator --aggregator-cell-id=worker-1 \\",
      "  --core-kube-config=core.kubeconfig --worker-kube-config=worker.kubeconfig",
      "# One cluster that is core and worker, in a pod.",
      "podseidon --role=aggregator --aggregator-cell-id=default",
    ],
  },
  webhook: {
    summary: "admits or refuses pod deletions; any number of replicas",
    flags: [
      "core-kube-config",
      "webhook-https-enable",
      "webhook-https-cert-file",
      "webhook-https-key-file",
      "webhook-https-bind-addr",
      "webhook-client-ca-file",
      "webhook-client-cells",
      "webhook-worker-client-provider",
      "webhook-dry-run",
      "klog-v",
    ],
    examples: [
      "# HTTPS on port 8843; judge and record, refuse nothing.",
      "podseidon --role=webhook --core-kube-config=core.kubeconfig \\",
      "  --webhook-dry-run --webhook-https-enable --webhook-https-bind-addr=:: \\",
      "  --webhook-https-cert-file=tls.crt --webhook-https-key-file=tls.key",
      "# Plain HTTP on this host, to try it.",
      "podseidon --role=webhook --core-kube-config=core.kubeconfig --klog-v=4",
    ],
  },
  "update-trigger": {
    summary: "keeps the pod watch of a quiet cell moving",
    flags: [
      "worker-kube-config",
      "update-trigger-dummy-pod-namespace",
      "update-trigger-dummy-pod-name",
      "update-trigger-dummy-pod-labels",
      "update-trigger-dummy-pod-annotations",
      "update-trigger-dummy-pod-image",
      "update-trigger-dummy-pod-scheduler",
      "update-trigger-update-frequency",
      "healthz-port",
      "klog-v",
    ],
    examples: [
      "# Alone, beside an aggregator with --update-trigger-enable=false.",
      "podseidon --role=update-trigger --worker-kube-config=worker.kubeconfig",
      "# Touch a pod in its own namespace every 5 seconds.",
      "podseidon --role=update-trigger --update-trigger-update-frequency=5s \\",
      "  --update-trigger-dummy-pod-namespace=podseidon-update-trigger",
    ],
  },
};
