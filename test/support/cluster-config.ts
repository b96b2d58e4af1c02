import type { ClusterConfig } from "../../src/config/clusters.ts";

/** The flags of a cluster at their emptiest, without a rate limit: a test fills in where the cluster is. */
export const plainCluster: ClusterConfig = {
  kubeConfigPath: "",
  master: "",
  impersonateUsername: "",
  impersonateUid: "",
  impersonateGroups: [],
  qps: 0,
  burst: 1,
  userAgent: "podseidon-test",
};
