/** `make chart`: manifests/chart, linted and rendered by the real helm, beside what kustomize renders. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import {
  assertSameObjects,
  type Installation,
  installations,
  renderedByKustomize,
} from "../manifests/installations.ts";
import { type Deployment, type Manifest, onlyOne } from "../manifests/manifest-files.ts";
import { rightsIn } from "../manifests/rights/rights.ts";
import { coreObjects } from "../../src/commands/install/objects.ts";
import { loadGood } from "../unit/config/load.ts";
import { chart, rendered, runHelm } from "./rendered.ts";

interface Configuration extends Manifest {
  readonly webhooks: readonly {
    readonly failurePolicy: string;
    readonly clientConfig: { readonly caBundle?: string };
    readonly namespaceSelector: { readonly matchExpressions: readonly [{ readonly values: readonly string[] }] };
  }[];
}
interface NetworkPolicy extends Manifest {
  readonly spec: { readonly ingress: readonly [{ readonly from?: readonly object[] }] };
}

const caBundle = "Y2VydGlmaWNhdGU=";
const keep = { "helm.sh/resource-policy": "keep" };

/** The values of the chart for the same installation. The kinds of sources are those that rights come for. */
function valuesOf({ topology, cell, webhookAddress, cells, caBundle: authority, folders, isIssued }: Installation) {
  const isAdmission = authority !== undefined || (isIssued === true && topology !== "core");
  const isWorker = topology === "worker";
  const isOptional = folders !== undefined;
  return {
    topology,
    ...(isWorker && { cell, webhook: { address: webhookAddress } }),
    ...(cells !== undefined && { cells }),
    ...(isAdmission && { admission: { enabled: true, caBundle: authority } }),
    ...(isIssued === true && { tls: { source: "builtin" } }),
    ...(isOptional && {
      networkPolicies: { enabled: true },
      monitoring: { enabled: true, dashboards: !isWorker },
      ...(!isWorker && { generator: { sources: ["deployments.apps", "statefulsets.apps"] } }),
    }),
  };
}

/**
 * What helm needs and kustomize does not: the CRD and keys outlive the release. And the flag that asks for what rights
 * are.
 */
function asKustomizeHasIt(objects: readonly Manifest[]): readonly Manifest[] {
  const text = JSON.stringify(objects, (key, value: unknown) =>
    Array.isArray(value) && key === "args"
      ? value.filter((arg) => !String(arg).startsWith("--generator-sources="))
      : value,
  );
  return (JSON.parse(text) as Manifest[]).map((object) => {
    if (object.kind !== "CustomResourceDefinition" && object.kind !== "Secret") return object;
    const { annotations: all = {}, ...metadata } = object.metadata;
    const { "helm.sh/resource-policy": policy, ...annotations } = all;
    assert.equal(policy, "keep");
    return { ...object, metadata: object.kind === "Secret" ? metadata : { ...metadata, annotations } };
  });
}

for (const installation of installations) {
  test(`helm and kustomize render the same objects for ${installation.name}`, () => {
    const objects = rendered(valuesOf(installation));
    assertSameObjects(asKustomizeHasIt(objects), renderedByKustomize(installation));
  });

  test(`no account gets other rights from helm than from kustomize for ${installation.name}`, () => {
    const rights = rightsIn(rendered(valuesOf(installation))).map((right) => JSON.stringify(right));
    assert.ok(rights.length > 5);
    assert.deepEqual(
      rights.toSorted(),
      rightsIn(renderedByKustomize(installation))
        .map((right) => JSON.stringify(right))
        .toSorted(),
    );
  });

  test(`helm lint finds nothing for ${installation.name}`, () => {
    const { status, stdout } = runHelm(
      ["lint", "--strict", chart, "--values=-"],
      JSON.stringify(valuesOf(installation)),
    );
    assert.equal(status, 0, stdout);
    assert.doesNotMatch(stdout, /ERROR|WARNING/);
  });
}

test("nothing is guarded until the webhook configuration is asked for", () => {
  assert.deepEqual(
    rendered({}).filter(({ kind }) => kind === "ValidatingWebhookConfiguration"),
    [],
  );
});

test("the CRD is an object of the release, so that an upgrade changes it, and stays when the release goes", () => {
  assert.deepEqual(
    readdirSync(chart).filter((name) => name === "crds"),
    [],
  );
  const { metadata } = onlyOne(rendered({}), "CustomResourceDefinition");
  assert.deepEqual(metadata.annotations, { ...metadata.annotations, ...keep });
  assert.deepEqual(
    rendered({ crd: { install: false } }).filter(({ kind }) => kind === "CustomResourceDefinition"),
    [],
  );
});

const role = {
  replicas: 5,
  resources: { limits: { memory: "3Gi" } },
  priorityClassName: "mine",
  nodeSelector: { pool: "infra" },
  tolerations: [{ operator: "Exists" }],
} as const;

test("the values of each role reach its Deployment, and the program accepts the flags", () => {
  const objects = rendered({
    image: {
      repository: "images.example.com/podseidon",
      digest: `sha256:${"a".repeat(64)}`,
      pullSecrets: [{ name: "p" }],
    },
    webhook: { ...role, extraArgs: ["--webhook-dry-run=true"] },
    generator: { ...role, protectionSelector: "team=a", defaultMode: "shadow", sources: ["statefulsets.apps"] },
    aggregator: { ...role, extraArgs: ["--aggregator-settlement-fence-delay=20s"] },
    admission: { enabled: true, caBundle, failurePolicy: "Ignore", excludedNamespaces: ["mesh"] },
  });
  const config = (name: string) => {
    const { spec } = onlyOne<Deployment>(objects, "Deployment", `podseidon-${name}`);
    const pod = spec.template.spec;
    const [container] = pod.containers;
    assert.equal(container.image, `images.example.com/podseidon@sha256:${"a".repeat(64)}`);
    const { replicas, resources, ...ofPod } = role;
    assert.deepEqual([spec.replicas, container.resources], [replicas, resources]);
    assert.deepEqual(pod, { ...pod, ...ofPod, imagePullSecrets: [{ name: "p" }] });
    return loadGood(container.args);
  };
  assert.equal(config("webhook").webhook.dryRun, true);
  const { args } = onlyOne<Deployment>(objects, "Deployment", "podseidon-generator").spec.template.spec.containers[0];
  config("generator");
  for (const flag of [
    "--deployment-plugin-protection-selector=app.kubernetes.io/name!=podseidon,team=a",
    "--generator-default-mode=shadow",
    "--generator-sources=statefulsets.apps",
  ])
    assert.ok(args.includes(flag), flag);
  const { webhooks } = onlyOne<Configuration>(objects, "ValidatingWebhookConfiguration");
  assert.deepEqual(
    webhooks.map(({ failurePolicy }) => failurePolicy),
    ["Ignore", "Ignore", "Ignore"],
  );
  const [excluded, ...others] = webhooks.map(({ namespaceSelector }) => namespaceSelector.matchExpressions[0].values);
  assert.equal(excluded?.at(-1), "mesh");
  for (const other of others) assert.deepEqual(other, excluded);
  assert.deepEqual([...config("aggregator").aggregator.coverageExcludedNamespaces], excluded);
});

test("who may ask the webhook, and the address of its Service, can be given", () => {
  const webhookFrom = [{ ipBlock: { cidr: "198.51.100.0/28" } }];
  const service = { type: "LoadBalancer", loadBalancerSourceRanges: ["198.51.100.0/28"], annotations: { a: "b" } };
  const objects = rendered({ networkPolicies: { enabled: true, webhookFrom }, webhook: { service } });
  const policy = onlyOne<NetworkPolicy>(objects, "NetworkPolicy", "podseidon-webhook");
  assert.deepEqual(policy.spec.ingress[0].from, webhookFrom);
  const { annotations, ...spec } = service;
  const rest = onlyOne<Manifest & { readonly spec: object }>(objects, "Service");
  assert.deepEqual([rest.spec, rest.metadata.annotations], [{ ...rest.spec, ...spec }, annotations]);
});

interface Certificate extends Manifest {
  readonly spec: { readonly secretName: string; readonly dnsNames: readonly string[]; readonly issuerRef: object };
}

test("cert-manager makes the Secret that the webhook reads, and injects its authority", () => {
  const certManager = { dnsNames: ["podseidon.example.com"] };
  const objects = rendered({ tls: { source: "certManager", certManager }, admission: { enabled: true } });
  const { spec } = onlyOne<Certificate>(objects, "Certificate", "podseidon-webhook");
  const { volumes = [] } = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook").spec.template.spec;
  assert.deepEqual(
    volumes.map(({ secret }) => secret.secretName),
    [spec.secretName],
  );
  assert.deepEqual(spec.dnsNames, ["podseidon-webhook.podseidon-system.svc", "podseidon.example.com"]);
  const { metadata } = onlyOne(objects, "ValidatingWebhookConfiguration");
  assert.equal(metadata.annotations?.["cert-manager.io/inject-ca-from"], "podseidon-system/podseidon-webhook");
  const issuerRef = { kind: "ClusterIssuer", name: "mine" };
  const own = rendered({ tls: { source: "certManager", certManager: { issuerRef } } });
  assert.deepEqual(onlyOne<Certificate>(own, "Certificate").spec.issuerRef, issuerRef);
  assert.deepEqual(
    own.filter(({ kind }) => kind === "Issuer"),
    [],
  );
});

test("built-in issuing in a core signs for the names that workers call, and no Secret is mounted for it", () => {
  const names = ["podseidon.example.com", "198.51.100.7"];
  const objects = rendered({ topology: "core", cells: ["a"], tls: { source: "builtin", builtin: { names } } });
  const flags = coreObjects({ image: "x", callers: "certificates", cells: ["a"], webhookHost: names[0] });
  const namesIn = (all: readonly Manifest[]) =>
    onlyOne<Deployment>(all, "Deployment", "podseidon-generator").spec.template.spec.containers[0].args.filter((arg) =>
      arg.startsWith("--generator-webhook-certificate-names="),
    );
  const [installed = ""] = namesIn(flags as unknown as readonly Manifest[]);
  assert.deepEqual(namesIn(objects), [`${installed},${names[1]}`]);
  const { volumes = [] } = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook").spec.template.spec;
  assert.deepEqual(
    volumes.map(({ secret }) => secret.secretName),
    ["podseidon-webhook-clients", "podseidon-worker-kubeconfigs"],
  );
});

test("before a release goes a Job runs podseidon uninstall, under names that are not Podseidon's", () => {
  const without = new Set(rendered({}).map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  const hooks = rendered({}, { hooks: true }).filter(({ kind, metadata }) => !without.has(`${kind} ${metadata.name}`));
  assert.deepEqual(hooks.map(({ kind }) => kind).toSorted(), [
    "ClusterRoleBinding",
    "ConfigMap",
    "Job",
    "ServiceAccount",
  ]);
  for (const { metadata } of hooks) {
    assert.equal(metadata.name, "uninstall-podseidon");
    assert.equal(metadata.annotations?.["helm.sh/hook"], "pre-delete");
    assert.match(metadata.annotations["helm.sh/hook-delete-policy"] ?? "", /hook-succeeded.*hook-failed/);
    assert.notEqual(metadata.labels?.["app.kubernetes.io/name"], "podseidon");
  }
  const commandOf = (values: object): readonly string[] =>
    onlyOne<Deployment>(rendered(values, { hooks: true }), "Job").spec.template.spec.containers[0].args;
  assert.deepEqual(commandOf({}), ["uninstall", "single", "--yes"]);
  assert.deepEqual(commandOf({ topology: "core", cells: ["a"] }), ["uninstall", "core", "--yes"]);
  assert.deepEqual(commandOf({ topology: "worker", cell: "a", webhook: { address: "b" } }), [
    "uninstall",
    "worker",
    "--worker=a=here",
    "--yes",
  ]);
  const off = rendered({ uninstall: { hook: false } }, { hooks: true });
  assert.deepEqual(
    off.filter(({ kind }) => kind === "Job"),
    [],
  );
});

test("a packaged chart renders what its folder renders", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-chart-"));
  try {
    assert.equal(runHelm(["package", chart, "--destination", folder]).status, 0);
    const [file = ""] = readdirSync(folder);
    assertSameObjects(rendered({}, { from: path.join(folder, file) }), rendered({}));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const [values, message] of [
  [{ topology: "cluster" }, /topology': value must be one of 'single', 'core', 'worker'/],
  [{ webhok: {} }, /additional properties 'webhok' not allowed/],
  [{ webhook: { replicas: "many" } }, /\/webhook\/replicas': got string/],
  [{ topology: "core", cells: ["A_b"] }, /\/cells\/0': 'A_b' does not match/],
  [{ topology: "core", cells: ["a", "a"] }, /\/cells'.*equal/],
  [{ topology: "core" }, /cells is required with topology=core/],
  [{ cells: ["a"] }, /cells is allowed only with topology=core, but it is single/],
  [{ topology: "worker" }, /cell is required with topology=worker/],
  [{ topology: "worker", cell: "a" }, /webhook.address is required with topology=worker/],
  [{ topology: "worker", cell: "a", webhook: { address: "https://b" } }, /\/webhook\/address'.*does not match/],
  [{ cell: "a" }, /cell is allowed only with topology=worker, but it is single/],
  [{ webhook: { address: "a" } }, /webhook.address is allowed only with topology=worker/],
  [{ admission: { enabled: true } }, /admission.caBundle is required with admission.enabled/],
  [{ admission: { caBundle: "no certificate!" } }, /\/admission\/caBundle'/],
  [
    { topology: "core", cells: ["a"], admission: { enabled: true } },
    /admission.enabled is not allowed with topology=core/,
  ],
  [{ tls: { source: "certManager" }, admission: { caBundle } }, /caBundle is not allowed with tls.source=certManager/],
  [{ tls: { source: "builtin" }, admission: { caBundle } }, /caBundle is not allowed with tls.source=builtin/],
  [{ tls: { source: "builtin", builtin: { names: ["a"] } } }, /tls.builtin.names is allowed only with topology=core/],
  [{ tls: { source: "none" } }, /\/tls\/source': value must be one of/],
] as const)
  test(`values that do not fit are refused with words: ${JSON.stringify(values)}`, () => {
    assert.throws(() => rendered(values), { message });
  });
