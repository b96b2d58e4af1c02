/**
 * Shows that an installation protects: a Deployment gets its PodProtector, and deletions, an eviction and a fence do
 * what they should.
 */
import assert from "node:assert/strict";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type AdminClient, type ObjectList } from "../clusters/admin-client.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { type DeletionAttempt, deletePods } from "../objects/deletions.ts";
import { eventMessage } from "../objects/events.ts";
import { type Kubelet, startKubelet } from "../objects/kubelet.ts";
import { isServing, listPods, type Pod, podPath } from "../objects/pods.ts";
import { freePorts } from "../clusters/ports.ts";
import { type CaseContext, type Figures } from "../runner/runner.ts";
import { waitFor } from "../clusters/wait.ts";
import {
  applyWebhookConfiguration,
  removeWebhookConfiguration,
  waitUntilInForce,
} from "../objects/webhook-configuration.ts";

export interface Installation {
  readonly core: Cluster;
  /** Where the pods are; may be the core itself. */
  readonly worker: Cluster;
  /** It exists in both. */
  readonly namespace: string;
}

const replicas = 4;
/** One pod may be missing, so three must stay. */
const maxUnavailable = 1;
const limitMs = 60_000;

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    strategy: { rollingUpdate: { maxUnavailable, maxSurge: 0 } },
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "none" }] } },
  },
};

function podProtectorsPath(namespace: string): string {
  return `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
}

export class ProtectionProof {
  readonly #context: CaseContext;
  readonly #installation: Installation;
  #kubelet: Kubelet | undefined;

  constructor(context: CaseContext, installation: Installation) {
    this.#context = context;
    this.#installation = installation;
    context.cleanup(() => this.#kubelet?.stop());
  }

  /** Creates the Deployment in the core, and its copy where the pods run, and waits until its pods are counted. */
  async begin(): Promise<Figures> {
    const { namespace } = this.#installation;
    const startMs = performance.now();
    for (const admin of this.#admins()) {
      await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment);
    }
    await this.#playKubelet(0);
    await this.#waitCounted(replicas);
    const [protector] = await this.#protectors();
    assert.equal(protector?.spec.minAvailable, replicas - maxUnavailable);
    return { countedMs: Math.round(performance.now() - startMs) };
  }

  async #playKubelet(readyDelayMs: number | "never"): Promise<void> {
    await this.#kubelet?.stop();
    assert.deepEqual(this.#kubelet?.failures ?? [], []);
    const { worker, namespace } = this.#installation;
    this.#kubelet = startKubelet({ admin: worker.admin, namespace, bindTo: "node-0", readyDelayMs });
  }

  /** A deletion above the floor is admitted, the next one, under it, is refused. */
  async deletions(): Promise<Figures> {
    // What takes a deleted pod's place stays unready, so that the floor is near.
    await this.#playKubelet("never");
    const [first, second] = await this.#serving();
    const admitted = await this.#take("delete", first);
    assert.equal(admitted.code, 200, admitted.message);
    await this.#waitCounted(replicas - 1);
    const refused = await this.#take("delete", second);
    assert.equal(refused.code, 429, refused.message);
    const [protector] = await this.#protectors();
    assert.ok(refused.message.includes(`${this.#installation.namespace}/${protector?.metadata.name}`), refused.message);
    assert.equal((await this.#serving()).length, replicas - 1);
    await this.#playKubelet(0);
    await this.#waitCounted(replicas);
    return { admitted: 1, refused: 1 };
  }

  async eviction(): Promise<Figures> {
    const [pod] = await this.#serving();
    const evicted = await this.#take("evict", pod);
    assert.equal(evicted.code, 201, evicted.message);
    await waitFor("another pod serves in place of the evicted one", limitMs, async () => {
      const pods = await this.#serving();
      return pods.length === replicas && pods.every(({ metadata }) => metadata.uid !== pod?.metadata.uid);
    });
    await this.#waitCounted(replicas);
    return { evicted: 1 };
  }

  /**
   * A deletion that is admitted here and refused elsewhere: the aggregator fences the pod and the admission comes back.
   */
  async fence(): Promise<Figures> {
    const { worker, namespace } = this.#installation;
    const [pod] = await this.#serving();
    assert.ok(pod !== undefined);
    const elsewhere = `${namespace}-elsewhere`;
    // Nobody listens on this port, so this webhook refuses everything, while ours is asked as well.
    const [port = 0] = await freePorts(1);
    const url = `https://127.0.0.1:${port}/`;
    await applyWebhookConfiguration(worker.admin, { name: elsewhere, url, caPem: "", namespace });
    this.#context.cleanup(() => removeWebhookConfiguration(worker.admin, elsewhere));
    await waitUntilInForce(worker.admin, elsewhere, namespace, pod.metadata.name);
    const startMs = performance.now();
    assert.equal((await this.#take("delete", pod)).code, 500);
    const [protector] = await this.#protectors();
    const admittedUids = protector?.status?.cells.flatMap(({ admissionHistory }) =>
      (admissionHistory?.buckets ?? []).map(({ podUID }) => podUID),
    );
    assert.deepEqual(admittedUids, [pod.metadata.uid]);
    await this.#waitCounted(replicas);
    const { metadata } = await worker.admin.get<Pod>(podPath(namespace, pod.metadata.name));
    assert.ok(metadata.annotations?.[annotations.fence] !== undefined, "the pod carries the fence");
    await removeWebhookConfiguration(worker.admin, elsewhere);
    return { fencedMs: Math.round(performance.now() - startMs) };
  }

  /**
   * A source that vanishes without being deleted leaves its protector in force, and an Event says so. On request the
   * generator takes a cell out of the status, and lets the protector go.
   */
  async lostSource(): Promise<void> {
    const { core, namespace } = this.#installation;
    const lost = { ...deployment, metadata: { name: "lost" }, spec: { ...deployment.spec, replicas: 0 } };
    await core.admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, lost);
    const name = "deployment-lost";
    const path = `${podProtectorsPath(namespace)}/${name}`;
    await waitFor("the generator protects the source", limitMs, async () => {
      return (await core.admin.request("GET", path)).code === 200;
    });
    // A cluster that was taken out of the fleet leaves its cell behind.
    const cells = [{ cellID: "gone", aggregation: { totalReplicas: 1, availableReplicas: 1 } }];
    const summary = { totalReplicas: 1, aggregatedAvailableReplicas: 1, estimatedAvailableReplicas: 1 };
    await core.admin.mergePatch(`${path}/status`, { status: { cells, summary } });
    await core.admin.mergePatch(path, { metadata: { annotations: { [annotations.removeCellOnce]: "gone" } } });
    await waitFor("the generator has taken the cell out", limitMs, async () => {
      const { metadata, status } = await core.admin.get<PodProtector>(path);
      const isThere = status?.cells.some(({ cellID }) => cellID === "gone") ?? false;
      return !isThere && metadata.annotations?.[annotations.removeCellOnce] === undefined;
    });
    await core.etcd.loseObject(`deployments/${namespace}/lost`);
    const query = { namespace, reason: "Dangling", about: { kind: "PodProtector", name } };
    await waitFor("an Event tells of the lost source", limitMs, () => eventMessage(core.admin, query));
    assert.equal((await core.admin.request("GET", path)).code, 200, "the protector stays");
    await core.admin.mergePatch(path, { metadata: { annotations: { [annotations.released]: "true" } } });
    await waitFor("the released protector is gone", limitMs, async () => {
      return (await core.admin.request("GET", path)).code === 404;
    });
  }

  /** The Deployment is deleted on purpose: its protector lets go, and the pods may follow. */
  async end(): Promise<void> {
    const { worker, namespace } = this.#installation;
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web`;
    for (const admin of this.#admins()) {
      await admin.remove(path);
      await waitFor("the Deployment is gone", limitMs, async () => (await admin.request("GET", path)).code === 404);
      assert.deepEqual(await this.#protectors(), []);
    }
    await waitFor("its pods are gone", limitMs, async () => (await listPods(worker.admin, namespace)).length === 0);
    await this.#kubelet?.stop();
    assert.deepEqual(this.#kubelet?.failures, []);
  }

  #admins(): readonly AdminClient[] {
    const { core, worker } = this.#installation;
    return [...new Set([core.admin, worker.admin])];
  }

  async #protectors(): Promise<readonly PodProtector[]> {
    const { core, namespace } = this.#installation;
    return (await core.admin.get<ObjectList<PodProtector>>(podProtectorsPath(namespace))).items;
  }

  async #serving(): Promise<readonly Pod[]> {
    const { worker, namespace } = this.#installation;
    return (await listPods(worker.admin, namespace, "app=web")).filter(isServing);
  }

  /** Resolves when the one protector counts `available` pods and no admission is unsettled. */
  async #waitCounted(available: number): Promise<void> {
    await waitFor(`the PodProtector counts ${available} available pods, without an admission`, limitMs, async () => {
      const [protector, ...more] = await this.#protectors();
      if (protector?.status?.summary.aggregatedAvailableReplicas !== available || more.length > 0) return false;
      return protector.status.cells.every((cell) => (cell.admissionHistory?.buckets ?? []).length === 0);
    });
  }

  async #take(how: "delete" | "evict", pod: Pod | undefined): Promise<DeletionAttempt> {
    const { worker, namespace } = this.#installation;
    assert.ok(pod !== undefined);
    const names = [pod.metadata.name];
    const [attempt] = await deletePods(worker.admin, { namespace, names, concurrency: 1, how, gracePeriodSeconds: 0 });
    assert.ok(attempt !== undefined);
    return attempt;
  }
}
