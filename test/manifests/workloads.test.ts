import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { loadConfig } from "../../src/config/load-config.ts";
import { systemNamespaces } from "../../src/config/generator-rules.ts";
import {
  type Deployment,
  filesBelow,
  type Manifest,
  manifestsFolder,
  onlyOne,
  readKustomization,
  readManifests,
  render,
} from "./manifest-files.ts";

const overlays = ["single-cluster", "core", "worker", "several-cores", "namespace-cells", "label-cells"] as const;
const folders = [...overlays.map((name) => `overlays/${name}`), "base/update-trigger"];
const deploymentsIn = (folder: string): Deployment[] =>
  render(folder).filter(({ kind }) => kind === "Deployment") as Deployment[];

/** What the program makes of a Deployment's arguments. */
function configOf({ metadata, spec }: Deployment) {
  const loaded = loadConfig({
    argv: spec.template.spec.containers[0].args,
    env: {},
    readFile: () => assert.fail("no manifest names a configuration file"),
  });
  if (loaded.kind !== "config")
    assert.fail(`${metadata.name}: ${loaded.kind === "error" ? loaded.message : loaded.kind}`);
  return loaded;
}

test("every YAML file below manifests can be read, and every object in it has a kind and a name", () => {
  // Configurations of programs are no objects of a cluster: of kube-state-metrics, see monitoring.test.ts, and of the
  // API server, see callers.test.ts.
  const others = ["kustomization.yaml", "kube-state-metrics.yaml", "admission.yaml"];
  const files = filesBelow(manifestsFolder, ".yaml").filter((file) => !others.includes(path.basename(file)));
  assert.ok(files.length >= 10);
  for (const object of files.flatMap(readManifests)) {
    assert.equal(typeof object.kind, "string");
    assert.equal(typeof object.metadata.name, "string");
  }
});

test("every kustomization renders: what it refers to exists, and its patches fit", () => {
  const all = filesBelow(manifestsFolder, "kustomization.yaml").map((file) => path.dirname(file));
  // A component is rendered by who uses it.
  const own = all.filter((folder) => readKustomization(folder).kind === "Kustomization");
  assert.ok(own.length >= 10);
  for (const folder of own) assert.ok(render(folder).length > 0, folder);
});

test("every file of a base is used by some kustomization", () => {
  const objects = new Set(
    [
      ...folders,
      "base/namespace",
      "base/generator-sources",
      "base/aggregator/cell-account",
      "base/certificates/core",
      "base/certificates/worker",
    ]
      .flatMap((folder) => render(folder))
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  );
  for (const file of filesBelow(path.join(manifestsFolder, "base"), ".yaml")) {
    if (path.basename(file) === "kustomization.yaml") continue;
    for (const { kind, metadata } of readManifests(file))
      assert.ok(objects.has(`${kind} ${metadata.name}`), `${file}: ${metadata.name}`);
  }
});

for (const folder of folders) {
  test(`the program accepts the arguments of every Deployment of ${folder}`, () => {
    const deployments = deploymentsIn(folder);
    assert.ok(deployments.length > 0);
    for (const deployment of deployments) {
      const { effective } = configOf(deployment);
      assert.deepEqual(effective.get("role")?.value, [deployment.metadata.labels?.["app.kubernetes.io/component"]]);
    }
  });

  test(`the pods of ${folder} are reachable, probed, and confined`, () => {
    for (const deployment of deploymentsIn(folder)) {
      const { effective } = configOf(deployment);
      const { template } = deployment.spec;
      const [container] = template.spec.containers;
      const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]));
      assert.deepEqual(effective.get("healthz-bind-addr")?.value, "::");
      assert.deepEqual(effective.get("prometheus-http-bind-addr")?.value, "::");
      assert.equal(ports.get("healthz"), effective.get("healthz-port")?.value);
      assert.equal(ports.get("metrics"), effective.get("prometheus-http-port")?.value);
      assert.deepEqual(container.readinessProbe.httpGet, { path: "/readyz", port: "healthz" });
      assert.deepEqual(container.livenessProbe.httpGet, { path: "/livez", port: "healthz" });
      assert.equal(template.spec.securityContext.runAsNonRoot, true);
      assert.deepEqual(template.spec.securityContext.seccompProfile, { type: "RuntimeDefault" });
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      const [spread, ...wishes] = template.spec.topologySpreadConstraints;
      assert.equal(spread?.topologyKey, "kubernetes.io/hostname");
      // Without a webhook deletions wait, so its replicas must not share a node; a full zone must not keep one away.
      const isWebhook = template.metadata.labels["app.kubernetes.io/component"] === "webhook";
      assert.equal(spread.whenUnsatisfiable, isWebhook ? "DoNotSchedule" : "ScheduleAnyway");
      for (const { whenUnsatisfiable } of wishes) assert.equal(whenUnsatisfiable, "ScheduleAnyway");
      assert.deepEqual(template.metadata.labels, deployment.spec.selector.matchLabels);
      assert.ok("memory" in container.resources.requests && "memory" in container.resources.limits);
    }
  });

  test(`in ${folder} every account exists and every mount has its volume`, () => {
    const accounts = render(folder).filter(({ kind }) => kind === "ServiceAccount");
    for (const { spec } of deploymentsIn(folder)) {
      const { serviceAccountName, volumes = [], containers } = spec.template.spec;
      assert.ok(accounts.some(({ metadata }) => metadata.name === serviceAccountName));
      const mounts = (containers[0].volumeMounts ?? []).map(({ name }) => name);
      assert.deepEqual(mounts.toSorted(), volumes.map(({ name }) => name).toSorted());
    }
  });
}

test("every file that an argument names lies below a mounted Secret", () => {
  for (const deployment of folders.flatMap(deploymentsIn)) {
    const [container] = deployment.spec.template.spec.containers;
    const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => `${mountPath}/`);
    const paths = container.args.flatMap((argument) => /=(\/etc\/\S+)$/.exec(argument)?.[1] ?? []);
    for (const file of paths)
      assert.ok(
        mounts.some((mount) => file.startsWith(mount)),
        `${deployment.metadata.name}: ${file}`,
      );
  }
});

test("generator and aggregator have two replicas that elect a leader, the webhook three", () => {
  const deployments = deploymentsIn("overlays/single-cluster");
  const replicas = deployments.map(({ metadata, spec }) => [metadata.name, spec.replicas]);
  assert.deepEqual(Object.fromEntries(replicas), {
    "podseidon-generator": 2,
    "podseidon-aggregator": 2,
    "podseidon-webhook": 3,
  });
  for (const role of ["generator", "aggregator"] as const) {
    const { effective } = configOf(onlyOne<Deployment>(deployments, "Deployment", `podseidon-${role}`));
    assert.equal(effective.get(`${role}-leader-elector-enable`)?.value, true);
    assert.equal(effective.get(`${role}-leader-elector-namespace`)?.value, "podseidon-system");
    assert.equal(effective.get(`${role}-leader-elector-name`)?.value, `podseidon-${role}`);
  }
});

test("the overlay of several cores gives the aggregator both, each with a file of the Secret", () => {
  const aggregator = deploymentsIn("overlays/several-cores").find(({ metadata }) =>
    metadata.name.includes("aggregator"),
  );
  assert.ok(aggregator !== undefined);
  assert.deepEqual(
    Array.from(configOf(aggregator).config.cores, ([name, { kubeConfigPath }]) => [name, kubeConfigPath]),
    [
      ["core", "/etc/podseidon/core/kubeconfig"],
      ["east", "/etc/podseidon/core/east"],
    ],
  );
});

interface ResourceQuota extends Manifest {
  readonly spec: { readonly scopeSelector: { readonly matchExpressions: readonly { readonly values: string[] }[] } };
}

test("each Deployment has a system priority class, and its namespace a quota that covers it", () => {
  for (const folder of overlays.map((name) => `overlays/${name}`)) {
    const quota = onlyOne<ResourceQuota>(render(folder), "ResourceQuota", "podseidon-critical-pods");
    for (const { metadata, spec } of deploymentsIn(folder)) {
      assert.equal(metadata.namespace, quota.metadata.namespace);
      assert.deepEqual(quota.spec.scopeSelector.matchExpressions[0]?.values, [spec.template.spec.priorityClassName]);
    }
  }
});

interface WebhookConfiguration extends Manifest {
  readonly webhooks: readonly [Webhook, Webhook, Webhook];
}
interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly url?: string;
    readonly service?: {
      readonly namespace: string;
      readonly name: string;
      readonly port: number;
      readonly path: string;
    };
  };
  readonly rules: readonly object[];
  readonly namespaceSelector: { readonly matchExpressions: readonly { readonly values: readonly string[] }[] };
  readonly failurePolicy: string;
  readonly timeoutSeconds: number;
  readonly sideEffects: string;
  readonly matchPolicy: string;
  readonly admissionReviewVersions: readonly string[];
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
}
const webhooksOf = (folder: string) =>
  onlyOne<WebhookConfiguration>(render(folder), "ValidatingWebhookConfiguration").webhooks;
const webhookOf = (folder: string) => webhooksOf(folder)[0];

test("the webhook is asked about pod deletions and evictions, and fails closed", () => {
  const webhook = webhookOf("overlays/single-cluster");
  assert.deepEqual(webhook.rules, [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"], scope: "Namespaced" },
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods/eviction"], scope: "Namespaced" },
  ]);
  const { failurePolicy, timeoutSeconds, sideEffects, matchPolicy, admissionReviewVersions } = webhook;
  assert.deepEqual(
    { failurePolicy, timeoutSeconds, sideEffects, matchPolicy, admissionReviewVersions },
    {
      failurePolicy: "Fail",
      timeoutSeconds: 10,
      sideEffects: "NoneOnDryRun",
      matchPolicy: "Equivalent",
      admissionReviewVersions: ["v1"],
    },
  );
});

test("preemption is judged by an entry of its own, which goes on without a webhook, and nothing falls between", () => {
  const [first, second] = webhooksOf("overlays/single-cluster");
  const { name, failurePolicy, matchConditions = [], ...others } = second;
  const { matchConditions: allBut = [], ...rest } = first;
  assert.notEqual(name, first.name);
  assert.equal(failurePolicy, "Ignore");
  assert.deepEqual({ ...rest, ...others }, rest, "the rest is the same");
  const [byOthers, ...same] = allBut;
  const [byScheduler, ...alsoSame] = matchConditions;
  assert.deepEqual(alsoSame, same);
  const user = "request.userInfo.username";
  assert.equal(byScheduler?.expression, `has(${user}) && ${user} == 'system:kube-scheduler'`);
  assert.equal(byOthers?.expression, `!has(${user}) || ${user} != 'system:kube-scheduler'`);
});

test("what a cluster needs to come up is not asked about, and an expression never errs on a missing field", () => {
  const conditions = webhookOf("overlays/single-cluster").matchConditions ?? [];
  const names = conditions.map(({ name }) => name);
  assert.deepEqual(names, ["not-by-the-scheduler", "not-terminating", "not-finished", "not-of-a-node"]);
  // Of an eviction `oldObject` is null.
  for (const { name, expression } of conditions.slice(1))
    assert.ok(expression.startsWith("request.operation != 'DELETE' || !has(oldObject."), name);
});

test("the guide and the webhook configuration have the same system namespaces", () => {
  const guide = readFileSync(path.join(manifestsFolder, "../docs/install.md"), "utf8");
  const [, section = ""] = guide.split("### System namespaces");
  const [list = ""] = section.split("Add your own");
  const named = Array.from(list.matchAll(/`([^`]+)`/g), ([, name]) => name);
  assert.deepEqual(named, systemNamespaces);
});

test("the webhook is asked about the end of pods by pod garbage collection alone, and that goes on without it", () => {
  const [{ matchConditions: _, ...first }, , third] = webhooksOf("overlays/single-cluster");
  const { name, rules, failurePolicy, matchConditions = [], ...others } = third;
  assert.notEqual(name, first.name);
  assert.deepEqual(rules, [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods/status"], scope: "Namespaced" },
  ]);
  assert.equal(failurePolicy, "Ignore");
  assert.deepEqual({ ...first, ...others }, first, "the rest is the same");
  const conditions = matchConditions.map(({ expression }) => expression).join(" && ");
  for (const user of ["system:serviceaccount:kube-system:pod-garbage-collector", "system:kube-controller-manager"])
    assert.ok(conditions.includes(`'${user}'`));
  // An expression with an error would let everything pass, so each optional field is asked for first.
  const optional = [
    "request.userInfo.username",
    "object.status.phase",
    "oldObject.status.phase",
    "oldObject.metadata.deletionTimestamp",
  ];
  for (const field of optional) assert.ok(conditions.includes(`has(${field})`), field);
});

test("the webhook is not asked about the system namespaces, but about the dummy pod", () => {
  for (const { namespaceSelector } of webhooksOf("overlays/single-cluster"))
    assert.deepEqual(namespaceSelector.matchExpressions, [
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: systemNamespaces },
    ]);
});

test("the path of the webhook ends with the aggregator's cell, in one cluster and in a fleet", () => {
  const cellOf = (folder: string): string => {
    const aggregator = onlyOne<Deployment>(render(folder), "Deployment", "podseidon-aggregator");
    return String(configOf(aggregator).effective.get("aggregator-cell-id")?.value);
  };
  assert.equal(
    webhookOf("overlays/single-cluster").clientConfig.service?.path,
    `/${cellOf("overlays/single-cluster")}`,
  );
  const { url = "" } = webhookOf("overlays/worker").clientConfig;
  assert.equal(new URL(url).pathname, `/${cellOf("overlays/worker")}`);
  for (const folder of ["overlays/single-cluster", "overlays/worker"]) {
    const [first, ...others] = webhooksOf(folder);
    for (const { clientConfig } of others)
      assert.deepEqual(clientConfig, first.clientConfig, "all entries call the same webhook");
  }
});

test("in one cluster the webhook configuration, the Service and the port of the pods agree", () => {
  interface Service extends Manifest {
    readonly spec: {
      readonly selector: Readonly<Record<string, string>>;
      readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    };
  }
  const objects = render("overlays/single-cluster");
  const called = webhookOf("overlays/single-cluster").clientConfig.service;
  const service = onlyOne<Service>(objects, "Service");
  const deployment = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook");
  assert.deepEqual([called?.namespace, called?.name], [service.metadata.namespace, service.metadata.name]);
  assert.deepEqual(service.spec.selector, deployment.spec.template.metadata.labels);
  assert.deepEqual(
    service.spec.ports.map(({ port }) => port),
    [called?.port],
  );
  const target = deployment.spec.template.spec.containers[0].ports.find(
    ({ name }) => name === service.spec.ports[0]?.targetPort,
  );
  assert.equal(target?.containerPort, configOf(deployment).effective.get("webhook-https-port")?.value);
});

test("the namespace and name of the dummy pod are the ones that the aggregator has rights to", () => {
  for (const name of ["overlays/single-cluster", "overlays/worker", "base/update-trigger"]) {
    for (const deployment of deploymentsIn(name)) {
      const { effective } = configOf(deployment);
      if (effective.get("update-trigger-dummy-pod-namespace")?.origin === "default") continue;
      assert.equal(effective.get("update-trigger-dummy-pod-namespace")?.value, "podseidon-update-trigger");
      assert.equal(effective.get("update-trigger-dummy-pod-name")?.value, "podseidon-update-trigger");
    }
  }
});

test("half of the memory of a webhook is for its heap, and half for bodies and what else is not in it", () => {
  const webhooks = folders.flatMap(deploymentsIn).filter(({ metadata }) => metadata.name === "podseidon-webhook");
  assert.ok(webhooks.length > 0);
  for (const { spec } of webhooks) {
    const { env = [], resources } = spec.template.spec.containers[0];
    assert.deepEqual(env, [{ name: "NODE_OPTIONS", value: "--max-old-space-size=512" }]);
    assert.equal((resources.limits as { memory: string }).memory, "1Gi");
  }
});
