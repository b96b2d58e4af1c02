/**
 * Stands for the federation of a real fleet (Karmada, KubeAdmiral), as small as it can be: a Deployment of the core is
 * spread evenly over the cells, and their figures are summed up in its status. A change in a cell lasts until the
 * Deployment of the core changes.
 */
import {
  type Engine,
  type KubeObject,
  asObject,
  isApiError,
  builtInResources as types,
} from "../../test/double/index.ts";
import { KeyedQueue } from "../../test/double/controllers/keyed-queue.ts";
import { ObjectCache } from "../../test/double/controllers/object-cache.ts";

const federation = {
  username: "system:serviceaccount:federation-system:federation-controller",
  groups: ["system:serviceaccounts", "system:authenticated"],
};
// The fleet is watched by people, who do not wait for minutes.
const backoffMaxMs = 1000;
/** What is summed over the cells. */
const counted = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"] as const;

/** The share of the cell at `index` of `cells`: the first ones get what does not divide. */
export function shareOf(replicas: number, index: number, cells: number): number {
  return Math.floor(replicas / cells) + (index < replicas % cells ? 1 : 0);
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

interface Member {
  readonly engine: Engine;
  readonly deployments: ObjectCache;
}

export class Federation {
  readonly #core: Engine;
  readonly #wanted: ObjectCache;
  readonly #members: readonly Member[];
  readonly #queue: KeyedQueue;
  /** The generation of each Deployment that all cells have been given. */
  readonly #spread = new Map<string, number>();

  /** Starts it. */
  constructor(core: Engine, cells: readonly Engine[]) {
    this.#core = core;
    this.#wanted = new ObjectCache(core, types.deployments);
    this.#members = cells.map((engine) => ({ engine, deployments: new ObjectCache(engine, types.deployments) }));
    this.#queue = new KeyedQueue({ clock: core.clock, backoffMaxMs, process: (key) => this.#sync(key) });
    for (const cache of this.#caches()) {
      cache.subscribe(({ metadata }) => this.#queue.add(`${metadata.namespace}/${metadata.name}`));
    }
    for (const cache of this.#caches()) cache.start();
  }

  /** Requests under way end by themselves. */
  stop(): void {
    this.#queue.stop();
    for (const cache of this.#caches()) cache.stop();
  }

  #caches(): readonly ObjectCache[] {
    return [this.#wanted, ...this.#members.map(({ deployments }) => deployments)];
  }

  async #sync(key: string): Promise<void> {
    const deployment = this.#wanted.get(key);
    const { generation = 0, deletionTimestamp } = deployment?.metadata ?? {};
    if (deployment === undefined || deletionTimestamp !== undefined) {
      if (this.#spread.delete(key)) for (const member of this.#members) await this.#remove(member, key);
      return;
    }
    if (this.#spread.get(key) !== generation) {
      for (const [index, member] of this.#members.entries()) await this.#spreadTo(member, index, deployment);
      this.#spread.set(key, generation);
    }
    await this.#report(key, deployment);
  }

  async #spreadTo({ engine, deployments }: Member, index: number, deployment: KubeObject): Promise<void> {
    const { name, namespace = "", labels } = deployment.metadata;
    const replicas = shareOf(numberOf(deployment.spec?.["replicas"] ?? 1), index, this.#members.length);
    const spec = { ...deployment.spec, replicas };
    const options = { caller: federation, fieldManager: "federation-controller" };
    if (deployments.get(`${namespace}/${name}`) !== undefined) {
      const patch = { contentType: "application/merge-patch+json", body: { spec } };
      await engine.patch(types.deployments, namespace, name, patch, options);
      return;
    }
    if (engine.find(types.namespaces, undefined, namespace) === undefined) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await engine.create(types.namespaces, undefined, body, options);
    }
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace, labels }, spec };
    await engine.create(types.deployments, namespace, body, options);
  }

  async #remove({ engine, deployments }: Member, key: string): Promise<void> {
    const found = deployments.get(key);
    if (found === undefined) return;
    const { name, namespace } = found.metadata;
    try {
      await engine.delete(types.deployments, namespace, name, {}, { caller: federation });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }

  /** The Deployment of the core is as far as all its parts are. */
  async #report(key: string, { metadata, status: reported }: KubeObject): Promise<void> {
    const parts = this.#members.map(({ deployments }) => deployments.get(key));
    const isObserved = parts.every(
      (part) => part !== undefined && part.status?.["observedGeneration"] === part.metadata.generation,
    );
    if (!isObserved) return;
    const sum = (field: string): number => parts.reduce((total, part) => total + numberOf(part?.status?.[field]), 0);
    const status = {
      observedGeneration: metadata.generation,
      ...Object.fromEntries(counted.map((field) => [field, sum(field)])),
    };
    const before = asObject(reported);
    if (Object.entries(status).every(([field, value]) => before[field] === value)) return;
    const patch = { contentType: "application/merge-patch+json", body: { status } };
    const options = { subresource: "status", caller: federation, fieldManager: "federation-controller" } as const;
    await this.#core.patch(types.deployments, metadata.namespace, metadata.name, patch, options);
  }
}
