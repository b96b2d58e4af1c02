/**
 * `podseidon install` on real API servers: a core and two workers, and one cluster that is both, by the executable
 * alone; a deletion that is refused, and `podseidon uninstall`, after which nothing is left.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { clusterAt } from "../../../support/kubeconfig.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { startLaggingProxy } from "../../fleet/lagging-proxy.ts";
import { type PreparedPods, startManifestPods, storedDeployments } from "../../installed/manifest-pods.ts";
import { difference, type Snapshot, takeSnapshot } from "../../objects/object-snapshot.ts";
import { type CommandRun } from "../../installed/on-call.ts";
import { createNamespace } from "../../objects/pods.ts";
import { program } from "../../fleet/process.ts";
import { ProtectionProof } from "../../installed/protection-proof.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { routeServices } from "../../installed/service-route.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** Ends a command that hangs. */
const commandLimitMs = 240 * second;
const documentedFolder = "/etc/kubernetes/podseidon";
/** What an API server changes of its own when it is started anew. */
const ofRestart = /^changed Lease kube-system\/apiserver-/;
const workerNames = ["worker-1", "worker-2"] as const;

export const installCases = e2eCases({
  "install: a core and two workers in five commands, which guard, and uninstall leaves nothing": [
    540 * second,
    run,
    { isLong: true, hasOwnClusters: true },
  ],
  "install: one cluster in one command, which guards; a further run mends it, uninstall leaves nothing": [
    420 * second,
    runSingle,
    { isLong: true, hasOwnClusters: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const workers = await Promise.all(workerNames.map((name) => context.cluster(name)));
  const all = [core, ...workers];
  const person = new Person(context, all);
  const before = await blank(context, all, person);

  const startMs = performance.now();
  const { commands, prepared } = await install(context, person, core, workers);
  const installMs = Math.round(performance.now() - startMs);

  const worker = present(workers[0]);
  const proof = new ProtectionProof(context, { core, worker, namespace: context.namespace });
  const figures = { ...(await proof.begin()), ...(await proof.deletions()) };
  await proof.end();

  const uninstallStartMs = performance.now();
  await uninstall(person, prepared);
  for (const cluster of all) await assertSame(cluster, before.get(cluster));
  return { commands, installMs, ...figures, uninstallMs: Math.round(performance.now() - uninstallStartMs) };
}

const single = ["single", "--core=core"] as const;
/** Lost by a careless hand; what is left goes on. */
const lost = [
  "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podseidon",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles/podseidon-check",
  `/apis/policy/v1/namespaces/${systemNamespace}/poddisruptionbudgets/podseidon-webhook`,
] as const;

async function runSingle(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("core");
  const person = new Person(context, [cluster]);
  const balancer = await startLaggingProxy([]);
  context.cleanup(() => balancer.close());
  await routeServices(context, cluster, balancer.port);
  const before = await blank(context, [cluster], person);

  const startMs = performance.now();
  const installing = person.run("install", ...single, "--image=images.example.com/podseidon:1", "--yes");
  const prepared = await startWhenStored(context, cluster);
  balancer.setTargets(webhookPorts(prepared));
  const installed = await installing;
  assert.equal(installed.exitCode, 0, installed.stdout + installed.stderr);
  const installMs = Math.round(performance.now() - startMs);
  const proof = new ProtectionProof(context, { core: cluster, worker: cluster, namespace: context.namespace });
  const figures = { ...(await proof.begin()), ...(await proof.deletions()) };
  await proof.end();

  await assertInPlace(person, cluster);
  for (const object of lost) await cluster.admin.remove(object);
  await person.succeed("install", ...single, "--yes");
  await assertInPlace(person, cluster);

  await Promise.all([person.succeed("uninstall", ...single, "--yes"), end(prepared, cluster.name)]);
  await assertSame(cluster, before.get(cluster));
  return { commands: 1, installMs, ...figures };
}

/** A further run has nothing to do, says so, and changes nothing. */
async function assertInPlace(person: Person, cluster: Cluster): Promise<void> {
  const before = await takeSnapshot(cluster.admin);
  const { stdout } = await person.run("install", ...single, "--dry-run");
  assert.match(stdout, /^Everything is in place$/m);
  await person.succeed("install", ...single, "--yes");
  // The dummy pod is touched all the time.
  const changed = difference(before, await takeSnapshot(cluster.admin));
  assert.deepEqual(
    changed.filter((line) => !line.startsWith("changed Pod podseidon-update-trigger/")),
    [],
  );
}

/** As kubelets do, while the command waits for the pods. */
async function startWhenStored(context: CaseContext, cluster: Cluster): Promise<readonly PreparedPods[]> {
  const components = 3;
  const deployments = await waitFor("the Deployments are there", 120 * second, async () => {
    const stored = await storedDeployments(cluster);
    return stored.length === components && stored;
  });
  const prepared: PreparedPods[] = [];
  for (const deployment of deployments) prepared.push(await startManifestPods(context, cluster, deployment));
  await Promise.all(prepared.flatMap(({ pods }) => pods.map((pod) => pod.waitReady())));
  return prepared;
}

function webhookPorts(prepared: readonly PreparedPods[]): readonly number[] {
  const ports = prepared.flatMap(({ pods }) => pods).map((pod) => pod.ports["webhook"] ?? 0);
  return ports.filter((port) => port !== 0);
}

/** Who has a context for each cluster, with all rights. */
class Person {
  readonly #context: CaseContext;
  readonly #kubeconfig: string;

  constructor(context: CaseContext, clusters: readonly Cluster[]) {
    this.#context = context;
    this.#kubeconfig = path.join(context.directory, "person.kubeconfig");
    const document = {
      apiVersion: "v1",
      kind: "Config",
      clusters: clusters.map(({ name, url, caPem }) => ({ name, cluster: clusterAt(url, caPem) })),
      users: clusters.map(({ name, adminToken }) => ({ name, user: { token: adminToken } })),
      contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    };
    writeFileSync(this.#kubeconfig, JSON.stringify(document), { mode: 0o600 });
  }

  /** Runs a command to its end. */
  async run(...args: readonly string[]): Promise<CommandRun> {
    const { command, args: first } = program();
    const env = { ...process.env, KUBECONFIG: this.#kubeconfig };
    const ran = await promisify(execFile)(command, [...first, ...args], { env, timeout: commandLimitMs }).then(
      (done): CommandRun => ({ exitCode: 0, ...done }),
      ({ code = -1, stdout = "", stderr = "" }: { code?: number; stdout?: string; stderr?: string }): CommandRun => ({
        exitCode: code,
        stdout,
        stderr,
      }),
    );
    this.#context.say(`podseidon ${args.join(" ")}: ${ran.exitCode}\n${ran.stdout}${ran.stderr}`);
    return ran;
  }

  async succeed(...args: readonly string[]): Promise<void> {
    const { exitCode, stdout, stderr } = await this.run(...args);
    assert.equal(exitCode, 0, stdout + stderr);
  }
}

/** Without the accounts and policies that each cluster of these tests has from the beginning. */
async function blank(
  { namespace }: CaseContext,
  clusters: readonly Cluster[],
  person: Person,
): Promise<ReadonlyMap<Cluster, Snapshot>> {
  const snapshots = new Map<Cluster, Snapshot>();
  for (const cluster of clusters) {
    await person.succeed("uninstall", "single", `--core=${cluster.name}`, "--yes");
    await createNamespace(cluster.admin, namespace);
    // What controllers make in every namespace is there by then.
    await waitFor("the namespace has its account", 30 * second, async () => {
      const { code } = await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`);
      return code === 200;
    }).catch(() => undefined);
    snapshots.set(cluster, await takeSnapshot(cluster.admin));
  }
  return snapshots;
}

interface Installed {
  readonly commands: number;
  readonly prepared: readonly PreparedPods[];
}

async function install(
  context: CaseContext,
  person: Person,
  core: Cluster,
  workers: readonly Cluster[],
): Promise<Installed> {
  const balancer = await startLaggingProxy([]);
  context.cleanup(() => balancer.close());
  const address = `127.0.0.1:${balancer.port}`;
  const values = [`--webhook-address=${address}`, "--image=images.example.com/podseidon:1"];
  await person.succeed("install", "core", "--core=core", ...values, "--yes");
  for (const worker of workers) {
    // Its API server has no certificate yet.
    const { exitCode, stderr } = await person.run(...installWorker(worker));
    assert.equal(exitCode, 1);
    assert.match(stderr, /put the files of \S+ on their hosts/);
    await identify(worker);
  }
  const prepared: PreparedPods[] = [];
  for (const cluster of [core, ...workers]) {
    for (const deployment of await storedDeployments(cluster))
      prepared.push(await startManifestPods(context, cluster, deployment));
  }
  await Promise.all(prepared.flatMap(({ pods }) => pods.map((pod) => pod.waitReady())));
  balancer.setTargets(webhookPorts(prepared));
  for (const worker of workers) await person.succeed(...installWorker(worker));
  return { commands: 1 + 2 * workers.length, prepared };
}

/** The folder is where the API server looks for the files. */
function filesOf({ directory }: Cluster): string {
  return path.join(directory, "podseidon");
}

function installWorker(worker: Cluster): readonly string[] {
  const { name } = worker;
  return ["install", "worker", "--core=core", `--worker=${name}=${name}`, `--out=${filesOf(worker)}`, "--yes"];
}

/** Starts the API server anew with the files of the command; only their folder is another one here. */
async function identify(worker: Cluster): Promise<void> {
  const file = path.join(filesOf(worker), "admission.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(documentedFolder, filesOf(worker)));
  worker.setFurtherApiServerArgs([`--admission-control-config-file=${file}`]);
  await worker.restartApiServer();
}

async function uninstall(person: Person, prepared: readonly PreparedPods[]): Promise<void> {
  for (const name of workerNames) {
    await Promise.all([
      person.succeed("uninstall", "worker", `--worker=${name}=${name}`, "--yes"),
      end(prepared, name),
    ]);
  }
  const workers = workerNames.map((name) => `--worker=${name}=${name}`);
  await Promise.all([person.succeed("uninstall", "core", "--core=core", ...workers, "--yes"), end(prepared, "core")]);
}

/** As kubelets do: pods end when their Deployments are gone. */
async function end(prepared: readonly PreparedPods[], clusterName: string): Promise<void> {
  const own = prepared.filter(({ cluster }) => cluster.name === clusterName);
  for (const { cluster, pods } of own) {
    await waitFor(
      "the Deployments are gone",
      120 * second,
      async () => (await storedDeployments(cluster)).length === 0,
    );
    await Promise.all(pods.map((pod) => pod.stop()));
  }
}

/** The API server takes a moment to forget the API of a CRD. */
async function assertSame({ admin, name }: Cluster, before: Snapshot | undefined): Promise<void> {
  assert.ok(before !== undefined);
  let found: readonly string[] = [];
  await waitFor(`nothing is left in ${name}, and nothing else has changed`, 60 * second, async () => {
    found = difference(before, await takeSnapshot(admin)).filter((line) => !ofRestart.test(line));
    return found.length === 0;
  }).catch((error: unknown) => {
    assert.deepEqual(found, [], String(error));
    throw error;
  });
}
