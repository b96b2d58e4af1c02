/**
 * `podseidon simulate drain`, and then the drain itself by the real kubectl, with the real controllers and the real
 * scheduler: the same pods go at once, the same have to wait, and the same never go.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { type Cluster } from "../../clusters/cluster.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { kubectl, type KubectlResult } from "../../clusters/kubectl.ts";
import { type Kubelet, startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { program } from "../../fleet/process.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const [drained, other] = ["node-0", "node-1"] as const;
const selector = "--pod-selector=drained";

interface Workload {
  readonly replicas: number;
  /** Absent = Kubernetes' default of 25 %. */
  readonly maxUnavailable?: number;
  readonly floor: number;
  /** What the plan is to say. */
  readonly planned: Readonly<Record<"at-once" | "later" | "never", number>>;
}

const workloads: ReadonlyMap<string, Workload> = new Map([
  ["api", { replicas: 2, maxUnavailable: 0, floor: 2, planned: { "at-once": 0, later: 0, never: 2 } }],
  ["one", { replicas: 1, floor: 0, planned: { "at-once": 1, later: 0, never: 0 } }],
  ["three", { replicas: 3, floor: 2, planned: { "at-once": 1, later: 2, never: 0 } }],
  ["five", { replicas: 5, maxUnavailable: 2, floor: 3, planned: { "at-once": 2, later: 3, never: 0 } }],
]);
/** Three rounds of evictions, five or ten seconds apart, and some time in which nothing more goes. */
const drainLimitSeconds = 45;

export const simulateCases = e2eCases({
  "simulate: kubectl drain does what podseidon simulate drain has said before": [300 * second, simulateAndDrain],
});

async function simulateAndDrain(context: CaseContext): Promise<Figures> {
  // Held reviews would be admitted within a second, when the counts show that earlier pods have gone.
  const webhookArgs = ["--webhook-refusal-hold=0"];
  const fleet = await startFleet(context, { core: "system", workers: ["system"], allInOne: true, webhookArgs });
  const { core: cluster, namespace } = fleet;
  const { admin } = cluster;
  const kubelet = startKubelet({ admin, namespace });
  context.cleanup(() => kubelet.stop());
  context.cleanup(() => Promise.all([cordon(cluster, drained, false), cordon(cluster, other, false)]));
  await cordon(cluster, other, true);
  for (const [name, workload] of workloads) await deploy(fleet, name, workload);
  await cordon(cluster, other, false);
  await fleet.waitIntercepted();

  const startMs = performance.now();
  const simulated = await simulate(context, fleet);
  const simulateMs = Math.round(performance.now() - startMs);
  const fates = fatesOf(simulated);
  assert.deepEqual(
    fates,
    new Map([...workloads].map(([name, { planned }]) => [name, planned])),
    JSON.stringify(simulated, undefined, 2),
  );
  assert.equal(simulated.stuckAt, drained);

  // No kubelet runs before kubectl was refused as many pods as are to wait: it has asked for all of them then. kubectl
  // limits its own requests, so a replacement that is available early lets the last pods go at once; and an evicted pod
  // that ends before anybody saw it terminating is counted as gone and as promised until a LIST barrier
  // (docs/accounting.md#settlement, row 2).
  await kubelet.stop();
  let later: Kubelet | undefined;
  context.cleanup(() => later?.stop());
  const refusedFirst = [...fates.values()].reduce((sum, { later, never }) => sum + later + never, 0);
  const { code, stdout, stderr } = await drain(context, fleet, (soFar) => {
    if (refusedPods(soFar).size >= refusedFirst) later ??= startKubelet({ admin, namespace });
  });
  await later?.stop();
  assert.deepEqual([...kubelet.failures, ...(later?.failures ?? [])], []);
  const outcome = outcomeOf(stdout, stderr);
  const [came, planned] = [outcome, fates].map((one) => inspect(one, { breakLength: Infinity, compact: true }));
  assert.deepEqual(outcome, fates, `planned: ${planned}\ncame: ${came}\n${stderr}\n${stdout}`);
  assert.equal(code, 1, `${stdout}\n${stderr}`);
  const left = (await listPods(admin, namespace, "drained")).filter(({ spec }) => spec.nodeName === drained);
  const never = simulated.pods.filter(({ fate }) => fate === "never").map(({ name }) => name);
  assert.deepEqual(left.map(({ metadata }) => metadata.name).sort(), never.sort());
  return { simulateMs };
}

/** The drain by kubectl; `onStderr` sees its refusals as they come. */
function drain(
  { assets, processes }: CaseContext,
  { core: cluster }: Fleet,
  onStderr: (soFar: string) => void,
): Promise<KubectlResult> {
  const args = ["drain", drained, selector, `--timeout=${drainLimitSeconds}s`];
  const timeoutMs = (drainLimitSeconds + 30) * second;
  return kubectl({ kubectl: assets.kubectl, processes, cluster, timeoutMs, onStderr }, ...args);
}

interface Simulated {
  readonly stuckAt?: string;
  readonly pods: readonly { readonly name: string; readonly fate: keyof Workload["planned"] }[];
}

/** The plan, by the program under test with a person's kubeconfig. It says that the drain would not end. */
async function simulate({ processes }: CaseContext, { core, namespace }: Fleet): Promise<Simulated> {
  const { command, args: before } = program();
  const kubeconfig = `--kubeconfig=${core.kubeconfigPath("admin")}`;
  const clusters = ["--cell=system", kubeconfig, `--cell-lease-namespace=${namespace}`];
  const args = [...before, "simulate", "drain", drained, selector, ...clusters, "-o", "json"];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 30 * second });
  processes.track(child);
  const exit = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
  assert.equal(code, 1, `${stdout}\n${stderr}`);
  assert.equal(stderr, "");
  return JSON.parse(stdout) as Simulated;
}

type Outcome = Record<keyof Workload["planned"], number>;

/** By workload. */
function fatesOf({ pods }: Simulated): ReadonlyMap<string, Outcome> {
  return counted((name, fate) => pods.filter((pod) => pod.name.startsWith(`${name}-`) && pod.fate === fate).length);
}

/** What kubectl says: pods that it evicted without a refusal before, after one, and those that it gave up. */
function outcomeOf(stdout: string, stderr: string): ReadonlyMap<string, Outcome> {
  const evicted = new Set(Array.from(stdout.matchAll(/^pod\/(\S+) evicted$/gm), ([, name = ""]) => name));
  const refused = refusedPods(stderr);
  return counted((name, fate) => {
    const own = [...new Set([...evicted, ...refused])].filter((pod) => pod.startsWith(`${name}-`));
    if (fate === "never") return own.filter((pod) => !evicted.has(pod)).length;
    return own.filter((pod) => evicted.has(pod) && refused.has(pod) === (fate === "later")).length;
  });
}

function refusedPods(stderr: string): ReadonlySet<string> {
  return new Set(Array.from(stderr.matchAll(/^error when evicting pods\/"([^"]+)"/gm), ([, name = ""]) => name));
}

function counted(count: (workload: string, fate: keyof Outcome) => number): ReadonlyMap<string, Outcome> {
  return new Map(
    Array.from(workloads.keys(), (name) => [
      name,
      { "at-once": count(name, "at-once"), later: count(name, "later"), never: count(name, "never") },
    ]),
  );
}

/** Resolves when its floor is what it should be and its pods are counted. */
async function deploy(fleet: Fleet, name: string, { replicas, maxUnavailable, floor }: Workload): Promise<void> {
  const labels = { app: name };
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable } };
  await fleet.core.admin.create(`/apis/apps/v1/namespaces/${fleet.namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...(maxUnavailable !== undefined && { strategy }),
      template: {
        metadata: { labels: { ...labels, drained: "yes" } },
        spec: { containers: [{ name: "main", image: "none" }] },
      },
    },
  });
  await waitFor(`the floor of ${name} is ${floor}`, 60 * second, async () => {
    return (await fleet.protector(`deployment-${name}`)).spec.minAvailable === floor;
  });
  await fleet.waitCounted(`deployment-${name}`, replicas);
}

async function cordon({ admin }: Cluster, node: string, unschedulable: boolean): Promise<void> {
  await admin.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable } });
}
