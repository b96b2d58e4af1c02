/**
 * One cluster with Kubernetes' own controllers and scheduler: workloads that are exactly at their floor, and who asks
 * for the deletion of their pods.
 */
import assert from "node:assert/strict";
import { readAuditEvents } from "../clusters/audit-log.ts";
import { AvailableWatch } from "../loads/available.ts";
import { type AdminClient, type KubeObject, type ObjectList } from "../clusters/admin-client.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { type Fleet } from "../fleet/fleet.ts";
import { kubectl, type KubectlResult } from "../clusters/kubectl.ts";
import { type Kubelet, type KubeletOptions, startKubelet } from "../objects/kubelet.ts";
import { createPods, listPods, type Pod } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";
import { present, waitFor } from "../clusters/wait.ts";

const readyLimitMs = 40_000;

/** Who asked for the deletion (or eviction) of which pod, and what the API server answered. */
export interface DeletionRequest {
  readonly user: string;
  readonly verb: string;
  /** "" for a deletecollection. */
  readonly pod: string;
  readonly code: number;
  readonly atMs: number;
}

export interface WorkloadOptions {
  readonly replicas: number;
  /** Added to the template's pod spec. */
  readonly podSpec?: object;
  /** Added to its container. */
  readonly container?: object;
}

export class SystemDrill {
  readonly fleet: Fleet;
  /** Where the pods are. */
  readonly cluster: Cluster;
  readonly #context: CaseContext;
  readonly #earlier: number;
  #kubelet: Kubelet | undefined;

  constructor(context: CaseContext, fleet: Fleet) {
    const worker = present(fleet.workers[0]);
    this.fleet = fleet;
    this.cluster = worker.cluster;
    this.#context = context;
    this.#earlier = readAuditEvents(this.cluster).length;
    context.cleanup(() => this.#kubelet?.stop());
  }

  get admin(): AdminClient {
    return this.cluster.admin;
  }

  get namespace(): string {
    return this.fleet.namespace;
  }

  /** Replaces the kubelet by one that behaves like this. */
  async playKubelet(options: Pick<KubeletOptions, "readyDelayMs" | "terminationDelayMs">): Promise<void> {
    await this.#kubelet?.stop();
    assert.deepEqual(this.#kubelet?.failures ?? [], []);
    this.#kubelet = startKubelet({ admin: this.admin, namespace: this.namespace, ...options });
  }

  /**
   * A Deployment whose rolling updates may take no pod away, so that its floor is `replicas`: it stands there from the
   * start. Resolves when its pods are counted; the watch remembers the lowest number of them from then on.
   */
  async atFloor(app: string, { replicas, podSpec = {}, container = {} }: WorkloadOptions): Promise<AvailableWatch> {
    const labels = { app };
    // One in the core that has no pods there is paused, as a federation keeps it.
    const manifest = (paused: boolean): unknown => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: app },
      spec: {
        replicas,
        paused,
        strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { ...podSpec, containers: [{ name: "main", image: "none", ...container }] },
        },
      },
    });
    for (const cluster of new Set([this.fleet.core, this.cluster])) {
      const path = `/apis/apps/v1/namespaces/${this.namespace}/deployments`;
      await cluster.admin.create(path, manifest(cluster !== this.cluster));
    }
    const available = new AvailableWatch(this.#context, this.fleet, `app=${app}`);
    await available.begin(replicas);
    await waitFor(`the generator protects ${app}`, readyLimitMs, async () => {
      return (await this.fleet.protector(`deployment-${app}`)).spec.minAvailable === replicas;
    });
    await this.fleet.waitCounted(`deployment-${app}`, replicas);
    return available;
  }

  /**
   * Ready pods that the PodProtector of `app` counts and no ReplicaSet owns: so many may be deleted. They run on
   * node-0. Resolves to their names when they are counted.
   */
  async lendQuota(app: string, count: number, nth = 1): Promise<readonly string[]> {
    const { status } = await this.fleet.protector(`deployment-${app}`);
    const counted = status?.summary.aggregatedAvailableReplicas ?? 0;
    const { namespace } = this;
    const names = await createPods(this.admin, { namespace, count, namePrefix: `${app}-more${nth}`, labels: { app } });
    await this.fleet.waitCounted(`deployment-${app}`, counted + count);
    return names;
  }

  async pods(app: string): Promise<readonly Pod[]> {
    return listPods(this.admin, this.namespace, `app=${app}`);
  }

  async waitNoPods(app: string): Promise<void> {
    await waitFor(`no pod of ${app} is left`, readyLimitMs, async () => (await this.pods(app)).length === 0);
  }

  async replicaSet(app: string): Promise<string> {
    const sets = await this.admin.get<ObjectList<KubeObject>>(
      `/apis/apps/v1/namespaces/${this.namespace}/replicasets`,
      { labelSelector: `app=${app}` },
    );
    return sets.items[0]?.metadata.name ?? "";
  }

  /** Requests for the deletion of pods of `app` since the beginning; all of the namespace without `app`. */
  requests(app = ""): readonly DeletionRequest[] {
    return readAuditEvents(this.cluster)
      .slice(this.#earlier)
      .flatMap(({ verb, user, objectRef, responseStatus, requestReceivedTimestamp }) => {
        const { resource, subresource, namespace, name = "" } = objectRef ?? {};
        if (resource !== "pods" || namespace !== this.namespace || !name.startsWith(app)) return [];
        const code = responseStatus?.code ?? 0;
        const what = subresource === undefined ? verb : `${verb} ${subresource}`;
        return [{ user: user.username, verb: what, pod: name, code, atMs: Date.parse(requestReceivedTimestamp) }];
      });
  }

  /** Those that were refused, of one user. Resolves when there are at least `count`. */
  async waitRefused(app: string, user: string, count: number): Promise<readonly DeletionRequest[]> {
    return waitFor(`${count} deletions of pods of ${app} by ${user} are refused`, readyLimitMs, () => {
      const refused = this.requests(app).filter((one) => one.code === 429 && one.user === user);
      return refused.length >= count && refused;
    });
  }

  kubectl(...args: readonly string[]): Promise<KubectlResult> {
    const { assets, processes } = this.#context;
    const options = { kubectl: assets.kubectl, processes, cluster: this.cluster, timeoutMs: readyLimitMs };
    return kubectl(options, ...args, `--namespace=${this.namespace}`);
  }

  /** Sum over the replicas of reviews that ended with this status. */
  reviews(status: string): Promise<number> {
    return this.fleet.webhookCount("webhook_request_count", { status });
  }
}
