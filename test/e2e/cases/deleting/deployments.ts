/**
 * Deployments, their PodProtectors and the real controller manager: what people do every day must go through, and a
 * lost Deployment must not open the gate.
 */
import assert from "node:assert/strict";
import { AvailableWatch } from "../../loads/available.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { deletePods } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const protectorName = "deployment-web";

export const deploymentCases = e2eCases({
  "deployment: rolling update, scaling and deletion pass where one cluster is core and worker": [
    180 * second,
    (context) => everyday(context, ["core"]),
  ],
  "deployment: rolling update, scaling and deletion pass in two workers under a Deployment in the core": [
    180 * second,
    (context) => everyday(context, ["worker-1", "worker-2"]),
  ],
  "deployment: lost from etcd, its pods are collected as garbage and deleted all at once: the floor holds": [
    180 * second,
    lost,
  ],
});

/** With the default maxUnavailable of 25 % the floor of `replicas` is three quarters of it. */
function floorOf(replicas: number): number {
  return replicas - Math.floor(replicas / 4);
}

/** `paused`: a root object without pods of its own, as a federation keeps it in the core. */
function deployment(replicas: number, paused: boolean): unknown {
  const labels = { app: "web" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      paused,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
}

class Workload {
  readonly #context: CaseContext;
  readonly #fleet: Fleet;
  /** One that runs pods in each worker; in the core the one that the generator sees, which may be the same. */
  readonly #clusters: readonly Cluster[];

  constructor(context: CaseContext, fleet: Fleet) {
    this.#context = context;
    this.#fleet = fleet;
    this.#clusters = [...new Set([fleet.core, ...fleet.workers.map(({ cluster }) => cluster)])];
  }

  get path(): string {
    return `${this.#collection}/web`;
  }

  get #collection(): string {
    return `/apis/apps/v1/namespaces/${this.#fleet.namespace}/deployments`;
  }

  /** `replicas` over all workers. */
  async create(replicas: number): Promise<void> {
    for (const cluster of this.#clusters) {
      const isRoot = !this.#runsPods(cluster);
      await cluster.admin.create(this.#collection, deployment(this.#share(cluster, replicas), isRoot));
    }
  }

  /** The root first, as an operator of the fleet would do. */
  async scale(replicas: number): Promise<void> {
    for (const cluster of this.#clusters) {
      await cluster.admin.mergePatch(this.path, { spec: { replicas: this.#share(cluster, replicas) } });
    }
  }

  /** A new template in all workers at the same time; resolves when kubectl calls the rollouts done. */
  async roll(): Promise<void> {
    const template = { metadata: { annotations: { "e2e/revision": "2" } } };
    const workers = this.#clusters.filter((cluster) => this.#runsPods(cluster));
    await Promise.all(workers.map(({ admin }) => admin.mergePatch(this.path, { spec: { template } })));
    await Promise.all(workers.map((cluster) => this.#kubectl(cluster, "rollout", "status", "--timeout=60s")));
  }

  async remove(): Promise<void> {
    for (const cluster of this.#clusters) await this.#kubectl(cluster, "delete", "--timeout=60s");
  }

  async waitGone(): Promise<void> {
    const { core, namespace } = this.#fleet;
    await waitFor("the PodProtector is gone", 30 * second, async () => {
      const { code } = await core.admin.request("GET", this.#fleet.protectorPath(protectorName));
      return code === 404;
    });
    for (const cluster of this.#clusters) {
      await waitFor(`no pod is left in ${cluster.name}`, 60 * second, async () => {
        const pods = await listPods(cluster.admin, namespace);
        return pods.length === 0;
      });
    }
  }

  #runsPods(cluster: Cluster): boolean {
    return this.#fleet.workers.some((worker) => worker.cluster === cluster);
  }

  #share(cluster: Cluster, replicas: number): number {
    return this.#runsPods(cluster) ? replicas / this.#fleet.workers.length : replicas;
  }

  async #kubectl(cluster: Cluster, ...args: readonly string[]): Promise<void> {
    const { assets, processes } = this.#context;
    const target = ["deployment/web", `--namespace=${this.#fleet.namespace}`];
    const { code, stderr } = await kubectl({ kubectl: assets.kubectl, processes, cluster }, ...args, ...target);
    assert.equal(code, 0, `kubectl ${args.join(" ")} in ${cluster.name}: ${stderr}`);
  }
}

async function startWorkload(
  context: CaseContext,
  workers: readonly string[],
  replicas: number,
): Promise<{ fleet: Fleet; workload: Workload; available: AvailableWatch }> {
  const fleet = await startFleet(context, { workers });
  const { namespace } = fleet;
  for (const { cluster } of fleet.workers) {
    const kubelet = startKubelet({ admin: cluster.admin, namespace, bindTo: "node-0", readyDelayMs: 200 });
    context.cleanup(() => kubelet.stop());
  }
  const workload = new Workload(context, fleet);
  await workload.create(replicas);
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(replicas);
  await waitFloor(fleet, floorOf(replicas));
  await fleet.waitCounted(protectorName, replicas);
  await fleet.waitIntercepted();
  return { fleet, workload, available };
}

async function waitFloor(fleet: Fleet, minAvailable: number): Promise<void> {
  await waitFor(`the generator sets minAvailable ${minAvailable}`, 30 * second, async () => {
    const { spec } = await fleet.protector(protectorName);
    return spec.minAvailable === minAvailable;
  });
}

async function everyday(context: CaseContext, workers: readonly string[]): Promise<Figures> {
  const replicas = 16;
  const { fleet, workload, available } = await startWorkload(context, workers, replicas);
  const timed = async (job: () => Promise<void>): Promise<number> => {
    const startMs = performance.now();
    await job();
    return Math.round(performance.now() - startMs);
  };
  const scaled = (to: number) => async (): Promise<void> => {
    await workload.scale(to);
    await waitFloor(fleet, floorOf(to));
    await waitFor(`${to} pods serve`, 60 * second, () => available.serving === to);
    await fleet.waitCounted(protectorName, to);
  };

  const rolloutMs = await timed(() => workload.roll());
  await waitFor("all new pods serve", 30 * second, () => available.serving === replicas);
  const lowestInRollout = available.minimum;
  assert.ok(lowestInRollout >= floorOf(replicas), `${lowestInRollout} pods served during the rolling update`);

  const halveMs = await timed(scaled(replicas / 2));
  assert.ok(available.minimum >= floorOf(replicas / 2));
  const zeroMs = await timed(scaled(0));
  await scaled(4)();
  const deleteMs = await timed(async () => {
    await workload.remove();
    await workload.waitGone();
  });
  const writes = await fleet.webhookCount("webhook_status_write_total", { result: "written" });
  return { rolloutMs, lowestInRollout, halveMs, zeroMs, deleteMs, statusWrites: writes };
}

async function lost(context: CaseContext): Promise<Figures> {
  const replicas = 20;
  const floor = floorOf(replicas);
  const { fleet, available } = await startWorkload(context, ["core"], replicas);
  const { core, namespace, generator } = fleet;

  await core.killApiServer();
  await core.etcd.loseObject(`deployments/${namespace}/web`);
  await core.startApiServer();
  await waitFor("the generator reports a dangling PodProtector", 60 * second, async () => {
    const metrics = await generator?.metrics();
    const dangling = metrics?.value("generator_action", { action: "Dangling" }) ?? 0;
    return dangling + (metrics?.value("generator_action", { action: "Finalizing" }) ?? 0) > 0;
  });
  // The garbage collector finds ReplicaSet and pods without an owner and deletes them: the disaster, without anybody's
  // doing.
  const collectMs = performance.now();
  await waitFor("the ReplicaSet is collected", 60 * second, async () => {
    const list = await core.admin.get<{ items: readonly unknown[] }>(
      `/apis/apps/v1/namespaces/${namespace}/replicasets`,
    );
    return list.items.length === 0;
  });
  await waitFor("the garbage collector has taken what the floor allows", 60 * second, () => available.serving <= floor);
  const collectedMs = Math.round(performance.now() - collectMs);

  // And now everything at once, until only what the floor keeps is left: a replacement may have become Ready a moment
  // ago.
  const refused = await waitFor("every pod that is left is refused", 60 * second, async () => {
    const names = (await listPods(core.admin, namespace, "app=web")).map(({ metadata }) => metadata.name);
    const wave = { namespace, names, concurrency: replicas, how: "delete", gracePeriodSeconds: 0 } as const;
    const attempts = await deletePods(core.admin, wave);
    const isRefused = attempts.every(
      ({ code, message }) => code === 429 && message.includes(`${namespace}/${protectorName}`),
    );
    return isRefused && available.serving === floor && attempts.length;
  });
  await fleet.waitSettled(protectorName, 60 * second);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  const { spec, metadata } = await fleet.protector(protectorName);
  assert.equal(spec.minAvailable, floor);
  const terminating = metadata.deletionTimestamp === undefined ? "no" : "yes";
  return { left: available.serving, refused, collectedMs, protectorTerminating: terminating };
}
