/** Which cluster to connect to and how: the values of the `--core-kube-*` and `--worker-kube-*` flags. */
export interface ClusterConfig {
  /** Path of a kubeconfig file; "" with an empty `master` too = the pod's own ServiceAccount (in-cluster). */
  readonly kubeConfigPath: string;
  /** URL of the API server; overrides the kubeconfig's. Alone it connects without credentials. */
  readonly master: string;
  readonly impersonateUsername: string;
  readonly impersonateUid: string;
  readonly impersonateGroups: readonly string[];
  /** Requests per second on average; 0 or less = unlimited. */
  readonly qps: number;
  /** Requests that may go out at once after a quiet time. */
  readonly burst: number;
  readonly userAgent: string;
}

/** Environment variables: where a pod finds its API server, and what exec plugins inherit. */
export type Environment = Readonly<Record<string, string | undefined>>;
