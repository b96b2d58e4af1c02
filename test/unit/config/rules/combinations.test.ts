import assert from "node:assert/strict";
import { test } from "node:test";
import { load, loadBad, loadGood } from "../load.ts";

/** Arguments that cannot work together, and what the message has to name. */
const impossible: readonly [string, RegExp][] = [
  [
    "--role=aggregator --aggregator-leader-elector-lease-duration=10s",
    /lease-duration \(10s\) must be longer than .*renew-deadline \(10s\)/,
  ],
  [
    "--role=generator --generator-leader-elector-retry-period=9s",
    /renew-deadline \(10s\) must be longer than 1.2 times .*retry-period \(9s\)/,
  ],
  ["--role=aggregator --aggregator-rate-jitter-low=2", /jitter-low \(2\) must be at most .*jitter-high \(1\)/],
  ["--role=aggregator --aggregator-settle-window=5s", /settle-window \(5s\) must be at least .*fence-delay \(10s\)/],
  [
    "--role=aggregator --aggregator-informer-synctime-algorithm=annotation",
    /algorithm=annotation requires --aggregator-informer-synctime-algorithm.annotation-key$/,
  ],
  [
    "--role=aggregator --aggregator-informer-synctime-algorithm=status " +
      "--aggregator-informer-synctime-algorithm.annotation-key=a",
    /annotation-key is allowed only with .*=annotation, but it is status$/,
  ],
  [
    "--role=aggregator --aggregator-worker-backoff-max=1ms",
    /backoff-base \(100ms\) must be at most .*backoff-max \(1ms\)/,
  ],
  ["--role=webhook --webhook-https-enable --webhook-https-key-file=k", /--webhook-https-cert-file is missing/],
  ["--role=webhook --webhook-https-issued-certificate", /issued-certificate requires --webhook-https-enable/],
  [
    "--role=webhook --webhook-https-enable --webhook-https-issued-certificate --webhook-https-key-file=k",
    /issued-certificate takes the place of --webhook-https-key-file/,
  ],
  [
    "--role=generator --generator-sources=dbs.example.com-x,deployments.apps,dbs.example.com",
    /--generator-sources: dbs\.example\.com and dbs\.example\.com-x cannot both be there/,
  ],
  ["--role=generator --healthz-https-enable --healthz-https-cert-file=c", /--healthz-https-key-file is missing/],
  ["--role=generator --prometheus-http-https-enable", /--prometheus-http-https-cert-file is missing/],
  ["--role=webhook --webhook-enable=false", /the webhook has no listener/],
  ["--role=webhook --webhook-client-allowed-names=a", /client-allowed-names requires --webhook-client-ca-file/],
  ["--role=webhook --webhook-client-ca-file=ca", /client-ca-file requires --webhook-https-enable/],
  [
    "--role=webhook --webhook-client-ca-file=ca --webhook-https-enable " +
      "--webhook-https-cert-file=c --webhook-https-key-file=k",
    /client-ca-file requires --webhook-enable=false/,
  ],
  ["--role=webhook --webhook-drain-delay=46s", /drain-delay \(46s\) must be at most 45s/],
  ["--role=webhook --webhook-refusal-hold=1001ms", /refusal-hold \(1\.001s\) must be at most 1s/],
  [
    "--role=webhook --webhook-requires-pod-name.by-cell-filter=a",
    /allowed only with --webhook-requires-pod-name=by-cell, but it is never/,
  ],
  [
    "--role=webhook --webhook-worker-client-provider.map-configs=a=b",
    /map-configs is allowed only with .*=map, but it is none/,
  ],
  [
    "--role=webhook --webhook-worker-client-provider.map-masters=a=http://b",
    /map-masters is allowed only with .*=map, but it is none/,
  ],
  [
    "--role=webhook --webhook-worker-client-provider.single-kube-config=a",
    /single-kube-config is allowed only with .*=single/,
  ],
  [
    "--role=webhook --webhook-worker-client-provider.single-kube-master=http://a",
    /single-kube-master is allowed only with .*=single/,
  ],
  ["--role=webhook --webhook-worker-client-provider=map", /requires at least one cell in .*map-configs/],
  [
    "--role=webhook --webhook-worker-client-provider=map " +
      "--webhook-worker-client-provider.map-configs=a=b " +
      "--webhook-worker-client-provider.map-masters=c=http://d",
    /map-masters contains the cell c, .* allowed: a$/,
  ],
  [
    "--role=webhook --webhook-handler-health-criterion-ready-value=Running",
    /annotation podseidon.kubewharf.io\/health-criterion=Running already selects Running/,
  ],
  ["--role=webhook --webhook-port=9090", /--prometheus-http-port and --webhook-port are both 9090/],
  [
    "--role=generator --healthz-port=9090 --healthz-bind-addr=::",
    /--healthz-port and --prometheus-http-port are both 9090/,
  ],
  ["--role=generator --healthz-port=9090 --healthz-bind-addr=127.0.0.1", /are both 9090/],
  [
    "--role=generator --core-kube-impersonate-uid=1",
    /--core-kube-impersonate-uid requires --core-kube-impersonate-username/,
  ],
  [
    "--role=update-trigger --worker-kube-impersonate-groups=a",
    /--worker-kube-impersonate-groups requires --worker-kube-impersonate-username/,
  ],
  [
    "--role=aggregator --worker-kube-target-namespace=a --update-trigger-dummy-pod-namespace=default",
    /dummy-pod-namespace \(default\) must equal --worker-kube-target-namespace \(a\)/,
  ],
];

test("combinations that cannot work are refused with the flags and what is allowed", () => {
  for (const [argv, message] of impossible) assert.match(loadBad(argv.split(" ")), message, argv);
});

test("the same values are accepted where nothing conflicts", () => {
  const possible = [
    "--role=aggregator --aggregator-leader-elector-enable=false --aggregator-leader-elector-lease-duration=1s",
    "--role=generator --healthz-port=9090 --healthz-bind-addr=127.0.0.2",
    "--role=generator --generator-sources=dbs.example.com,dbs.example.comx,caches.example.com-x",
    "--role=generator --healthz-port=0 --prometheus-http-port=0",
    "--role=generator --healthz-port=9090 --prometheus-http-enable=false",
    "--role=generator --healthz-port=8080",
    "--role=webhook --webhook-handler-health-criterion-ready-value=Running " +
      "--webhook-handler-health-criterion-ready-key=other",
    "--role=webhook --webhook-requires-pod-name=by-cell --webhook-requires-pod-name.by-cell-filter=a",
    "--role=webhook --webhook-enable=false --webhook-https-enable --webhook-https-cert-file=c " +
      "--webhook-https-key-file=k --webhook-client-ca-file=ca --webhook-client-allowed-names=a,b",
    "--role=webhook --webhook-https-enable --webhook-https-issued-certificate",
    "--role=webhook --webhook-drain-delay=45s",
    "--role=webhook --webhook-refusal-hold=0",
    "--role=aggregator --aggregator-rate-jitter-low=1 --aggregator-settle-window=10s",
    "--role=aggregator --worker-kube-target-namespace=a --update-trigger-dummy-pod-namespace=a",
    "--role=aggregator --worker-kube-target-namespace=a --update-trigger-dummy-pod-namespace=b " +
      "--update-trigger-enable=false",
    "--role=generator,webhook --core-kube-impersonate-uid=1 --core-kube-impersonate-username=u",
  ];
  for (const argv of possible) loadGood(argv.split(" "));
});

test("combinations of roles that do not run are not checked", () => {
  const env = { PODSEIDON_FLAG_WEBHOOK_ENABLE: "false", PODSEIDON_FLAG_AGGREGATOR_RATE_JITTER_LOW: "2" };
  assert.equal(load(["--role=generator"], { env }).kind, "config");
  assert.equal(load(["--role=webhook"], { env }).kind, "error");
});
