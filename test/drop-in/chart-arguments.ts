/**
 * The arguments that upstream's chart gives to its three programs, with the chart's own values (release "podseidon"),
 * and those that it adds for a few other values.
 */

const admissionHistory = [
  "--default-admission-history-config-aggregation-rate=1s",
  "--default-admission-history-config-compact-threshold=100",
  "--default-admission-history-config-max-concurrent-lag=0",
];

const everyProgram = [
  "--healthz-bind-addr=::",
  "--klog-v=4",
  "--metrics-by-namespace=false",
  "--metrics-by-user=false",
  "--metrics-sample-frequency=30s",
  "--pprof-bind-addr=::",
  "--pprof-block-profile=0",
  "--pprof-enable=true",
  "--pprof-mutex-profile=0",
];

const cluster = (prefix: string, component: string): string[] => [
  `--${prefix}burst=10`,
  `--${prefix}impersonate-groups=`,
  `--${prefix}impersonate-uid=`,
  `--${prefix}impersonate-username=`,
  `--${prefix}master=`,
  `--${prefix}qps=5`,
  `--${prefix}target-namespace=`,
  `--${prefix}user-agent=podseidon-${component}`,
];

const election = (component: string): string[] => [
  `--${component}-leader-elector-enable=true`,
  `--${component}-leader-elector-lease-duration=15s`,
  `--${component}-leader-elector-name=podseidon-${component}`,
  `--${component}-leader-elector-namespace=default`,
  `--${component}-leader-elector-renew-deadline=10s`,
  `--${component}-leader-elector-retry-period=2s`,
];

export const chartArguments = {
  generator: [
    ...cluster("core-kube-", "generator"),
    ...admissionHistory,
    "--deployment-plugin-protection-selector=podseidon.kubewharf.io/protect=true",
    ...election("generator"),
    "--generator-monitor-enable=true",
    "--generator-worker-concurrency=3",
    ...everyProgram,
  ],
  aggregator: [
    "--aggregator-cell-id=default",
    "--aggregator-informer-synctime-algorithm=clock",
    ...election("aggregator"),
    "--aggregator-pod-informer-shards=1",
    "--aggregator-pod-label-selector=",
    "--aggregator-worker-concurrency=3",
    ...cluster("core-kube-", "aggregator"),
    ...admissionHistory,
    ...everyProgram,
    "--update-trigger-enable=false",
    ...cluster("worker-kube-", "aggregator"),
  ],
  webhook: [
    ...cluster("core-kube-", "webhook"),
    ...admissionHistory,
    ...everyProgram,
    "--webhook-dry-run=false",
    "--webhook-enable=false",
    "--webhook-handler-cold-start-delay=0",
    "--webhook-handler-retry-backoff-base=100ms",
    "--webhook-handler-retry-jitter=100ms",
    "--webhook-https-bind-addr=::",
    "--webhook-https-cert-file=/mnt/webhook-tls-bundle/cert",
    "--webhook-https-enable=true",
    "--webhook-https-key-file=/mnt/webhook-tls-bundle/key",
    "--webhook-path-prefix=",
    "--webhook-requires-pod-name=never",
    "--webhook-worker-client-provider=single",
    ...cluster("webhook-worker-client-provider.single-kube-", "webhook"),
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** What the chart adds to the aggregator with `updateTrigger.enable`; there it follows a first, false one. */
export const updateTriggerArguments = [
  "--update-trigger-dummy-pod-annotations=",
  "--update-trigger-dummy-pod-image=:",
  "--update-trigger-dummy-pod-labels=podseidon-update-trigger-dummy-pod=true",
  "--update-trigger-dummy-pod-name=podseidon-update-trigger",
  "--update-trigger-dummy-pod-namespace=default",
  "--update-trigger-dummy-pod-scheduler=do-not-schedule",
  "--update-trigger-enable=true",
  "--update-trigger-update-frequency=1s",
];

/** The webhook's evictions off, and reviews over HTTP: `handleEviction: false`, `tls.custom: false`. */
export const plainWebhookArguments = [
  ...chartArguments.webhook.filter((flag) => !/^--webhook-(https-|enable|worker-client-provider)/.test(flag)),
  "--webhook-bind-addr=::",
  "--webhook-worker-client-provider=none",
];
