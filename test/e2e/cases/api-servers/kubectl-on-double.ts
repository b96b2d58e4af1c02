/**
 * The API double under the hands of the real kubectl, over TLS: what the demo and the fast tests stand on is good
 * enough for a person.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { issueServerCertificate } from "../../../../src/certificates/index.ts";
import {
  type ApiServer,
  type CallWebhook,
  type ControllerOptions,
  asObject,
  startApiServer,
  startControllers,
} from "../../../double/index.ts";
import { kubectl, type KubectlOptions, type KubectlResult, startKubectl } from "../../clusters/kubectl.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const crdFile = fileURLToPath(new URL("../../../../manifests/base/crd/podprotectors.yaml", import.meta.url));
const token = "a-token";

export const kubectlOnDoubleCases = e2eCases({
  "double: kubectl get in every form, and get -w, show what is there": [60 * second, shown],
  "double: kubectl patch, label, annotate, scale and apply change what they say": [60 * second, changed],
  "double: kubectl delete waits for the kubelet, and drain retries what a webhook refused": [90 * second, removed],
});

/** A double with controllers on two nodes, and kubectl at its side. */
class Bench {
  readonly server: ApiServer;
  readonly options: KubectlOptions;
  readonly #directory: string;

  constructor(server: ApiServer, options: KubectlOptions, directory: string) {
    this.server = server;
    this.options = options;
    this.#directory = directory;
  }

  run(...args: readonly string[]): Promise<KubectlResult> {
    return kubectl(this.options, ...args);
  }
  /** The output of a kubectl that must succeed. */
  async ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }
  /** The words of each line. */
  async table(...args: readonly string[]): Promise<readonly (readonly string[])[]> {
    const lines = (await this.ok(...args)).trimEnd().split("\n");
    return lines.map((line) => line.trim().split(/ {2,}/));
  }
  /** Writes `object` into a file and applies it; what kubectl says. */
  async apply(object: unknown): Promise<string> {
    const file = path.join(this.#directory, "applied.json");
    writeFileSync(file, JSON.stringify(object));
    return (await this.ok("apply", "--validate=false", "-f", file)).trim();
  }
  /** Resolves when the Deployment has so many pods that are available, and no others. */
  async available(name: string, replicas: number): Promise<void> {
    await waitFor(`${replicas} pods of ${name}`, 20 * second, async () => {
      const [row] = await this.table("get", "deployments", name, "--no-headers");
      const pods = await this.table("get", "pods", `--selector=app=${name}`, "--no-headers");
      const running = pods.filter(([, ready, status]) => /^(\d+)\/\1$/.test(ready ?? "") && status === "Running");
      return row?.[1] === `${replicas}/${replicas}` && running.length === replicas && pods.length === replicas;
    });
  }
}

interface BenchOptions {
  readonly controllers?: ControllerOptions;
  readonly callWebhook?: CallWebhook;
}

async function startBench(context: CaseContext, more: BenchOptions = {}): Promise<Bench> {
  const issued = await issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days: 1, now: new Date() });
  const server = await startApiServer({
    tls: { cert: issued.certificate, key: issued.privateKey, ca: issued.caCertificate },
    tokens: { [token]: { username: "a-person", groups: ["system:masters", "system:authenticated"] } },
    crds: [load(readFileSync(crdFile, "utf8"))],
    ...(more.callWebhook === undefined ? {} : { callWebhook: more.callWebhook }),
  });
  context.cleanup(() => server.close());
  const controllers = await startControllers(server.engine, { nodes: ["node-0", "node-1"], ...more.controllers });
  context.cleanup(() => controllers.stop());
  const { directory, assets, processes } = context;
  const kubeconfig = path.join(directory, "kubeconfig");
  server.writeKubeconfig(kubeconfig, token);
  const cluster = { directory, kubeconfigPath: () => kubeconfig };
  return new Bench(server, { kubectl: assets.kubectl, processes, cluster, timeoutMs: 40 * second }, directory);
}

function deployment(name: string, replicas: number, image = "web:1"): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image }] } },
    },
  };
}

const protector = {
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: { name: "web", namespace: "default" },
  spec: { minAvailable: 2, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
};

function configMap(name: string, data: object, labels: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", labels }, data };
}

async function shown(context: CaseContext): Promise<Figures> {
  const bench = await startBench(context);
  await bench.apply(deployment("web", 3));
  await bench.apply(deployment("api", 1));
  await bench.apply(protector);
  await bench.available("web", 3);
  await bench.available("api", 1);

  const [head, ...pods] = await bench.table("get", "pods");
  assert.deepEqual(head, ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
  assert.equal(pods.length, 4);
  for (const [, ...row] of pods) assert.deepEqual(row.slice(0, 3), ["1/1", "Running", "0"]);
  const wide = await bench.table("get", "pods", "-o", "wide");
  assert.deepEqual(wide[0]?.slice(5, 7), ["IP", "NODE"]);
  for (const row of wide.slice(1)) assert.match(row[6] ?? "", /^node-[01]$/);

  const count = async (...args: readonly string[]): Promise<number> =>
    (JSON.parse(await bench.ok("get", "pods", "-o", "json", ...args)) as { items: unknown[] }).items.length;
  assert.equal(await count(), 4);
  assert.equal(await count("--selector=app in (web)"), 3);
  const perNode = await Promise.all(
    ["node-0", "node-1"].map((node) => count(`--field-selector=spec.nodeName=${node}`)),
  );
  assert.equal(perNode[0]! + perNode[1]!, 4);
  assert.equal(await count("--field-selector=status.phase=Failed"), 0);
  const [first = ""] = pods[0] ?? [];
  assert.equal((JSON.parse(await bench.ok("get", "pod", first, "-o", "json")) as { kind: string }).kind, "Pod");
  assert.match(await bench.ok("get", "all"), /pod\/web-.*deployment\.apps\/web .*replicaset\.apps\/web-/s);

  const protectors = await bench.table("get", "ppr");
  const columns = ["NAME", "MUST STAY", "AVAILABLE", "PROMISED", "FREE", "CELLS", "STATE", "AGE"];
  assert.deepEqual(protectors[0], columns);
  assert.deepEqual(protectors[1]?.slice(0, 2), ["web", "2"]);
  assert.match(await bench.ok("describe", "deployment", "web"), /Replicas: +3 desired \| 3 updated \| 3 total \| 3 av/);
  assert.match((await bench.run("get", "pod", "nobody")).stderr, /pods "nobody" not found/);
  assert.deepEqual(await watched(bench), ["a added", "a modified", "a deleted"]);
  return { pods: pods.length };
}

/** What `kubectl get -w` prints of a ConfigMap that comes, changes and goes. */
async function watched(bench: Bench): Promise<readonly string[]> {
  const args = ["get", "configmaps", "--watch-only", "--output-watch-events", "--no-headers"];
  const child = startKubectl(bench.options, ...args);
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const seen: string[] = [];
  lines.on("line", (line) => {
    const [event = "", name = ""] = line.split(/ +/);
    seen.push(`${name} ${event.toLowerCase()}`);
  });
  await waitFor("the watch is open", 20 * second, () => bench.server.openWatches > 0);
  await bench.apply(configMap("a", { k: "1" }));
  await bench.ok("patch", "configmap", "a", "--type=merge", "--patch", '{"data":{"k":"2"}}');
  await bench.ok("delete", "configmap", "a");
  await waitFor("three events", 20 * second, () => seen.length >= 3);
  child.kill();
  await closed;
  return seen;
}

async function changed(context: CaseContext): Promise<Figures> {
  const bench = await startBench(context);
  assert.equal(await bench.apply(deployment("web", 2)), "deployment.apps/web created");
  assert.equal(await bench.apply(deployment("web", 2)), "deployment.apps/web unchanged");
  assert.equal(await bench.apply(deployment("web", 3, "web:2")), "deployment.apps/web configured");
  assert.equal(await bench.apply(deployment("web", 3, "web:2")), "deployment.apps/web unchanged");
  assert.equal(await bench.apply(protector), "podprotector.podseidon.kubewharf.io/web created");
  assert.equal(
    await bench.apply({ ...protector, spec: { ...protector.spec, minAvailable: 1 } }),
    "podprotector.podseidon.kubewharf.io/web configured",
  );
  assert.equal(await bench.ok("get", "ppr", "web", "-o", "jsonpath={.spec.minAvailable}"), "1");
  // What was applied and is no longer named is taken away, what somebody else has set stays.
  await bench.apply(configMap("settings", { a: "1", b: "2" }));
  await bench.ok("patch", "configmap", "settings", "--type=merge", "--patch", '{"data":{"c":"3"}}');
  await bench.apply(configMap("settings", { a: "1" }));
  const settings = (): Promise<string> => bench.ok("get", "configmap", "settings", "-o", "jsonpath={.data}");
  assert.deepEqual(JSON.parse(await settings()), { a: "1", c: "3" });

  const images = (): Promise<string> =>
    bench.ok("get", "deployment", "web", "-o", "jsonpath={range .spec.template.spec.containers[*]}{.image} {end}");
  const sidecar = { spec: { template: { spec: { containers: [{ name: "side", image: "log:1" }] } } } };
  await bench.ok("patch", "deployment", "web", "--patch", JSON.stringify(sidecar));
  assert.equal(await images(), "log:1 web:2 ");
  await bench.ok("set", "image", "deployment/web", "side=log:2");
  assert.equal(await images(), "log:2 web:2 ");
  const replace = [{ op: "replace", path: "/data/a", value: "9" }];
  await bench.ok("patch", "configmap", "settings", "--type=json", "--patch", JSON.stringify(replace));
  assert.deepEqual(JSON.parse(await settings()), { a: "9", c: "3" });
  await bench.ok("patch", "ppr", "web", "--type=merge", "--patch", '{"spec":{"minAvailable":2}}');
  assert.equal(await bench.ok("get", "ppr", "web", "-o", "jsonpath={.spec.minAvailable}"), "2");
  const strategic = await bench.run("patch", "ppr", "web", "--patch", '{"spec":{"minAvailable":2}}');
  assert.match(strategic.stderr, /strategic-merge-patch\+json is not supported/);

  assert.match(await bench.ok("label", "deployment", "web", "tier=front"), /labeled/);
  assert.match(await bench.ok("label", "deployment", "web", "tier-"), /unlabeled/);
  assert.match(await bench.ok("annotate", "deployment", "web", "note=x"), /annotated/);
  assert.equal((await bench.table("get", "deployments", "--selector=tier", "--no-headers")).flat().join(""), "");

  await bench.available("web", 3);
  assert.match(await bench.ok("scale", "deployment", "web", "--replicas=5"), /scaled/);
  await bench.available("web", 5);
  await bench.ok("scale", "deployment", "web", "--current-replicas=5", "--replicas=1");
  await bench.available("web", 1);
  assert.match(await bench.ok("rollout", "restart", "deployment/web"), /restarted/);
  assert.match(await bench.ok("rollout", "status", "deployment/web", "--timeout=20s"), /successfully rolled out/);
  return { pods: 1 };
}

const webhookConfiguration = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "floor" },
  webhooks: [
    {
      name: "floor.e2e.podseidon.test",
      clientConfig: { url: "https://127.0.0.1:1/" },
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods/eviction"] }],
    },
  ],
};

async function removed(context: CaseContext): Promise<Figures> {
  let evictions = 0;
  const callWebhook: CallWebhook = async (_webhook, review) => {
    const { uid } = asObject(review["request"]);
    const allowed = ++evictions > 1;
    const status = { code: 429, reason: "TooManyRequests", message: "too few available replicas" };
    return {
      ...review,
      response: allowed ? { uid, allowed } : { uid, allowed, status, warnings: ["the floor is near"] },
    };
  };
  const terminationMs = 700;
  const bench = await startBench(context, { callWebhook, controllers: { terminationMs } });
  await bench.apply(webhookConfiguration);
  await bench.apply(deployment("web", 4));
  await bench.available("web", 4);

  const [[victim = ""] = []] = await bench.table("get", "pods", "--no-headers");
  const startMs = performance.now();
  assert.match(await bench.ok("delete", "pod", victim, "--grace-period=20"), /deleted/);
  const deleteMs = Math.round(performance.now() - startMs);
  assert.ok(deleteMs >= terminationMs, `the pod was gone after ${deleteMs} ms`);
  assert.match((await bench.run("get", "pod", victim)).stderr, /not found/);
  await bench.available("web", 4);
  const [[late = ""] = []] = await bench.table("get", "pods", "--no-headers");
  // However long kubectl takes, the pod is still there then.
  const finalizers = (names: readonly string[]): string => JSON.stringify({ metadata: { finalizers: names } });
  await bench.ok("patch", "pod", late, "--type=merge", "-p", finalizers(["example.com/held"]));
  await bench.ok("delete", "pod", late, "--wait=false");
  assert.match(await bench.ok("get", "pod", late), /Terminating/);
  await bench.ok("patch", "pod", late, "--type=merge", "-p", finalizers([]));
  await bench.available("web", 4);
  assert.match((await bench.run("delete", "pod", "nobody")).stderr, /pods "nobody" not found/);

  const drain = await bench.run("drain", "node-0", "--timeout=30s");
  assert.equal(drain.code, 0, drain.stderr);
  assert.match(drain.stderr, /too few available replicas/);
  assert.match(drain.stderr, /Warning: the floor is near/);
  assert.equal(drain.stderr.match(/will retry after/g)?.length, 1, drain.stderr);
  assert.match(drain.stdout, /node\/node-0 drained/);
  assert.match(await bench.ok("get", "nodes"), /^node-0 +Ready,SchedulingDisabled .*^node-1 +Ready +<none>/ms);
  await bench.available("web", 4);
  const left = JSON.parse(await bench.ok("get", "pods", "-o", "json")) as { items: { spec: { nodeName: string } }[] };
  assert.deepEqual([...new Set(left.items.map(({ spec }) => spec.nodeName))], ["node-1"]);
  await bench.ok("uncordon", "node-0");
  assert.match(await bench.ok("get", "nodes", "node-0", "--no-headers"), /^node-0 +Ready /);

  assert.match(await bench.ok("delete", "deployment", "web", "--cascade=foreground"), /deleted/);
  assert.match((await bench.run("get", "pods")).stderr, /No resources found/);
  return { deleteMs, evictions };
}
