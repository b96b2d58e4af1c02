/**
 * Namespaces that Podseidon leaves alone: its own, and those of what pods need before they can start anywhere (network,
 * storage, policies, certificates). Deletions there are not sent to the webhook: while no webhook runs, that would keep
 * broken pods that the webhook's own pods wait for. The manifests' webhook configuration and docs/install.md have the
 * same list; tests compare them.
 */
export const systemNamespaces: readonly string[] = [
  "kube-system",
  "podseidon-system",
  "calico-apiserver",
  "calico-system",
  "cert-manager",
  "cilium",
  "gatekeeper-system",
  "kube-flannel",
  "kyverno",
  "longhorn-system",
  "openebs",
  "rook-ceph",
  "tigera-operator",
];
