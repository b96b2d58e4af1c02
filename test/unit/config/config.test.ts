import assert from "node:assert/strict";
import { test } from "node:test";
import { updateTriggerRunBy } from "../../../src/config/config.ts";
import { type Role } from "../../../src/config/index.ts";
import { loadGood } from "./load.ts";

const allRoles = "--role=generator,aggregator,webhook,update-trigger";

test("the defaults are upstream's, except for those that the documentation names", () => {
  const config = loadGood([allRoles]);
  assert.deepEqual([...config.roles], ["generator", "aggregator", "webhook", "update-trigger"]);
  assert.equal(config.cores.get("core")?.qps, 200);
  assert.equal(config.worker.burst, 400);
  assert.deepEqual(config.history, { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 });
  assert.equal(config.healthz.http.port, 8081);
  assert.deepEqual(config.prometheusHTTP.http, {
    enable: true,
    bindAddress: "::1",
    port: 9090,
    portFlag: "prometheus-http-port",
  });
  assert.deepEqual(config.aggregator.syncTimeAlgorithm, { kind: "observed" });
  assert.equal(config.updateTrigger.dummyPod.namespace, "default");
  assert.deepEqual(config.webhook.workerClientProvider, { kind: "none" });
  assert.equal(config.webhook.clientAuth, undefined);
  assert.equal(config.webhook.drainDelayMs, 3_000);
  assert.equal(config.webhook.refusalHoldMs, 1_000);
});

test("every flag reaches the field that is named after it", () => {
  const config = loadGood([
    allRoles,
    "--core-kube-config=/core",
    "--worker-kube-target-namespace=default",
    "--webhook-path-prefix=/p",
    "--webhook-allowed-cells=a,b",
    "--webhook-enable=false",
    "--webhook-https-enable",
    "--webhook-https-cert-file=c",
    "--webhook-https-key-file=k",
    "--webhook-client-ca-file=/ca",
    "--webhook-client-allowed-names=api",
    "--webhook-drain-delay=7s",
    "--webhook-refusal-hold=70ms",
    "--webhook-handler-retry-jitter=7ms",
    "--webhook-handler-health-criterion-initialized-key=example.com/init",
    "--webhook-requires-pod-name=by-cell",
    "--webhook-requires-pod-name.by-cell-filter=a,b",
    "--aggregator-worker-concurrency=3",
    "--aggregator-leader-elector-name=lease",
    "--aggregator-pod-label-selector=a=b",
    "--generator-worker-backoff-conflict=1ms",
    "--deployment-plugin-protect-non-zero",
    "--update-trigger-dummy-pod-labels=a=b,c=d",
    "--metrics-by-user",
    "--klog-v=4",
    "--default-admission-history-config-compact-threshold=1",
  ]);
  assert.equal(config.cores.get("core")?.kubeConfigPath, "/core");
  assert.equal(config.worker.namespace, "default");
  assert.equal(config.cores.get("core")?.namespace, undefined);
  assert.equal(config.webhook.pathPrefix, "/p");
  assert.deepEqual(config.webhook.allowedCells, new Set(["a", "b"]));
  assert.deepEqual(config.webhook.clientAuth, { caFile: "/ca", allowedNames: new Set(["api"]) });
  assert.equal(config.webhook.drainDelayMs, 7_000);
  assert.equal(config.webhook.refusalHoldMs, 70);
  assert.equal(config.webhook.retryJitterMs, 7);
  assert.deepEqual(config.webhook.healthCriteria[1], {
    criterion: "Initialized",
    annotation: { key: "example.com/init", value: "Initialized" },
  });
  assert.deepEqual(config.webhook.requiresPodName, { when: "by-cell", byCellFilter: new Set(["a", "b"]) });
  assert.equal(config.aggregator.queue.concurrency, 3);
  assert.equal(config.aggregator.elector.name, "lease");
  assert.deepEqual(config.aggregator.podLabelSelector.matchExpressions, [{ key: "a", operator: "In", values: ["b"] }]);
  assert.equal(config.generator.queue.backoffConflictMs, 1);
  assert.equal(config.generator.deploymentPlugin.protectNonZero, true);
  assert.deepEqual(config.updateTrigger.dummyPod.labels, { a: "b", c: "d" });
  assert.equal(config.metrics.byUser, true);
  assert.equal(config.log.verbosity, 4);
  assert.equal(config.history.compactThreshold, 1);
});

test("the worker clients of the webhook are one cluster, or one of each cell", () => {
  const provider = "--webhook-worker-client-provider";
  const single = loadGood(["--role=webhook", `${provider}=single`, `${provider}.single-kube-config=/w`]).webhook;
  assert(single.workerClientProvider.kind === "single");
  assert.equal(single.workerClientProvider.cluster.kubeConfigPath, "/w");
  const { workerClientProvider: map } = loadGood([
    "--role=webhook",
    `${provider}=map`,
    `${provider}.map-configs=a=/a,b=`,
    `${provider}.map-masters=b=https://b`,
    `${provider}.map-qps=5`,
  ]).webhook;
  assert(map.kind === "map");
  assert.deepEqual([...map.clusters.keys()], ["a", "b"]);
  assert.equal(map.clusters.get("a")?.kubeConfigPath, "/a");
  assert.equal(map.clusters.get("a")?.master, "");
  assert.equal(map.clusters.get("b")?.master, "https://b");
  assert.equal(map.clusters.get("b")?.qps, 5);
});

test("the sync-time algorithm annotation carries the key of its annotation", () => {
  const flag = "--aggregator-informer-synctime-algorithm";
  const algorithm = (...argv: string[]) => loadGood(["--role=aggregator", ...argv]).aggregator.syncTimeAlgorithm;
  for (const kind of ["observed", "clock", "status", "managed-fields"])
    assert.deepEqual(algorithm(`${flag}=${kind}`), { kind });
  assert.deepEqual(algorithm(`${flag}=annotation`, `${flag}.annotation-key=example.com/written`), {
    kind: "annotation",
    key: "example.com/written",
  });
});

test("the webhook refuses while the core is unavailable, unless last-known is set for three replicas", () => {
  const policy = (...argv: string[]) => loadGood(["--role=webhook", ...argv]).webhook.coreUnavailable;
  assert.deepEqual(policy(), { policies: new Map([["core", "refuse"]]), replicas: 3 });
  assert.deepEqual(policy("--webhook-core-unavailable-policy=last-known", "--webhook-core-unavailable-replicas=5"), {
    policies: new Map([["core", "last-known"]]),
    replicas: 5,
  });
});

test("the dummy pod is where the aggregator watches, unless it is told another namespace", () => {
  const namespaceOf = (...argv: string[]) => loadGood(["--role=aggregator", ...argv]).updateTrigger.dummyPod.namespace;
  assert.equal(namespaceOf(), "default");
  assert.equal(namespaceOf("--worker-kube-target-namespace=a"), "a");
  assert.equal(namespaceOf("--update-trigger-dummy-pod-namespace=b"), "b");
  assert.equal(namespaceOf("--worker-kube-target-namespace=a", "--update-trigger-dummy-pod-namespace=a"), "a");
});

test("one process runs at most one update-trigger", () => {
  const runBy = (roles: readonly Role[], isEnabled: boolean) => updateTriggerRunBy(new Set(roles), isEnabled);
  assert.equal(runBy(["update-trigger"], false), "update-trigger");
  assert.equal(runBy(["update-trigger", "generator"], true), "update-trigger");
  assert.equal(runBy(["aggregator"], false), "none");
  assert.equal(runBy(["aggregator"], true), "aggregator");
  assert.equal(runBy(["aggregator", "update-trigger"], false), "aggregator");
  assert.equal(runBy(["webhook"], true), "none");
});

test("the config cannot be changed", () => {
  const config = loadGood([allRoles]);
  assert(
    Object.isFrozen(config) &&
      Object.isFrozen(config.webhook.server.http) &&
      Object.isFrozen(config.cores.get("core")?.impersonateGroups),
  );
});

test("without a map there is one core, called core, that of --core-kube-*, and it is the generator's", () => {
  const { cores, generator, webhook } = loadGood(["--role=generator", "--core-kube-config=/core"]);
  assert.deepEqual([...cores.keys()], ["core"]);
  assert.equal(cores.get("core")?.kubeConfigPath, "/core");
  assert.equal(generator.core, "core");
  assert.deepEqual([...webhook.coreUnavailable.policies], [["core", "refuse"]]);
});

test("a map names the cores, each with its address, and the other flags of --core-kube-* hold for each", () => {
  const { cores, webhook } = loadGood([
    "--role=webhook",
    "--podprotector-source-provider=map",
    "--podprotector-source-provider.map-configs=core=,east=/east",
    "--podprotector-source-provider.map-masters=east=https://east:6443",
    "--core-kube-qps=7",
    "--core-kube-target-namespace=ns",
    "--webhook-core-unavailable-policy=last-known",
    "--webhook-core-unavailable-policy.by-core=east=refuse",
  ]);
  assert.deepEqual(
    Array.from(cores, ([name, { kubeConfigPath, master, qps, namespace }]) => [
      name,
      kubeConfigPath,
      master,
      qps,
      namespace,
    ]),
    [
      ["core", "", "", 7, "ns"],
      ["east", "/east", "https://east:6443", 7, "ns"],
    ],
  );
  assert.deepEqual(
    [...webhook.coreUnavailable.policies],
    [
      ["core", "last-known"],
      ["east", "refuse"],
    ],
  );
});

test("the generator of the only core of a map needs no other word", () => {
  const argv = ["--podprotector-source-provider=map", "--podprotector-source-provider.map-configs=east=/east"];
  assert.equal(loadGood(["--role=generator", ...argv]).generator.core, "east");
});

test("a generator may be given the flags of the other roles once it is told which core is its own", () => {
  const argv = ["--podprotector-source-provider=map", "--podprotector-source-provider.map-configs=east=/e,west=/w"];
  assert.equal(loadGood(["--role=generator", ...argv, "--generator-core=west"]).generator.core, "west");
});
