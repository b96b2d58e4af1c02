/** What deletes pods: people, controllers, drains, and disasters that delete everything at once. */
import { type Rng } from "../../../src/util/rng.ts";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { isApiError } from "../../double/index.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type Cell, type World } from "../world.ts";
import { type Workload } from "./workload.ts";

const { pods } = builtInResources;
/** An eviction is asked for with a name only, so that it hits the pod that has the name when it gets there. */
type Manner = "delete" | "delete-now" | "evict" | "collection" | "dry-run" | "forced-eviction";

const askAgainShare = 0.4;
const askedMax = 8;

export class Deleters {
  readonly #world: World;
  readonly #workloads: ReadonlyMap<string, Workload>;
  readonly #rng: Rng;
  /** Pods whose deletion was asked for last; the oldest first. */
  readonly #asked = new Set<string>();
  readonly #running = new Set<{ readonly beganMs: number }>();

  constructor(world: World, workloads: ReadonlyMap<string, Workload>) {
    this.#world = world;
    this.#workloads = workloads;
    this.#rng = world.kernel.rng("deleters");
  }

  /** Deletions that have not been answered yet. */
  get running(): number {
    return this.#running.size;
  }

  /** Of them those that were asked for since then. An earlier one may hang in a stalled etcd. */
  runningSince(sinceMs: number): number {
    return [...this.#running].filter((operation) => operation.beganMs >= sinceMs).length;
  }

  /** Asks for one deletion somewhere; resolves to whether it was done. */
  async deleteOne(): Promise<boolean> {
    const { cells } = this.#world;
    const cell = cells[Math.floor(this.#rng.next() * cells.length)];
    const pod = cell === undefined ? undefined : this.#pick(cell);
    if (cell === undefined || pod === undefined) return false;
    return await this.delete(cell, pod, this.#manner());
  }

  /** Deletes every pod of some cells at once. */
  async disaster(): Promise<void> {
    const { cells, kernel } = this.#world;
    const hit = cells.filter(() => this.#rng.next() < 0.7);
    kernel.note(`disaster in ${hit.map(({ name }) => name).join(",")}`);
    const inCollections = this.#rng.next() < 0.3;
    await Promise.all(
      hit.flatMap((cell) => {
        if (inCollections) return [this.#deleteCollection(cell)];
        return (this.#workloads.get(cell.name)?.live() ?? []).map((pod) => this.delete(cell, pod, "delete"));
      }),
    );
  }

  async delete(cell: Cell, pod: KubeObject, manner: Manner): Promise<boolean> {
    if (manner === "collection") return await this.#deleteCollection(cell);
    const { engine } = cell.server;
    const { name, uid } = pod.metadata;
    const forcedName = manner === "forced-eviction" ? name : undefined;
    return await this.#operate(cell, forcedName, async (caller) => {
      switch (manner) {
        case "evict":
          await engine.evict(namespace, name, this.#eviction(pod), { caller });
          return;
        case "forced-eviction":
          await engine.evict(namespace, name, evictionOf(name, { [annotations.forceDelete]: "yes" }), { caller });
          return;
        case "dry-run":
          await engine.delete(pods, namespace, name, {}, { caller, dryRun: true });
          return;
        case "delete-now":
          await engine.delete(pods, namespace, name, { gracePeriodSeconds: 0 }, { caller });
          return;
        case "delete":
          await engine.delete(pods, namespace, name, this.#rng.next() < 0.5 ? { preconditions: { uid } } : {}, {
            caller,
          });
          return;
        default:
          manner satisfies never;
      }
    });
  }

  #eviction({ metadata }: KubeObject): JsonObject | undefined {
    const { plan } = this.#world;
    const preconditions = plan.faults.has("preconditions") ? preconditionsOf(metadata, this.#rng.next()) : undefined;
    return preconditions && { ...evictionOf(metadata.name), deleteOptions: { preconditions } };
  }

  #manner(): Manner {
    const draw = this.#rng.next();
    if (this.#world.plan.faults.has("evictions") && draw < 0.4) return draw < 0.02 ? "forced-eviction" : "evict";
    if (draw < 0.7) return "delete";
    if (draw < 0.94) return "delete-now";
    return draw < 0.97 ? "dry-run" : "collection";
  }

  /** Controllers and drains ask again for what was not done. */
  #pick(cell: Cell): KubeObject | undefined {
    const live = this.#workloads.get(cell.name)?.live() ?? [];
    const again = this.#rng.next() < askAgainShare ? live.filter(({ metadata }) => this.#asked.has(metadata.uid)) : [];
    const from = again.length > 0 ? again : live;
    const pod = from[Math.floor(this.#rng.next() * from.length)];
    if (pod !== undefined) this.#asked.add(pod.metadata.uid);
    const [oldest = ""] = this.#asked;
    if (this.#asked.size > askedMax) this.#asked.delete(oldest);
    return pod;
  }

  async #deleteCollection(cell: Cell): Promise<boolean> {
    return await this.#operate(cell, undefined, async (caller) => {
      await cell.server.engine.deleteCollection(pods, namespace, { labelSelector: "ours=yes" }, {}, { caller });
    });
  }

  async #operate(
    cell: Cell,
    forcedName: string | undefined,
    act: (caller: { username: string; groups: string[] }) => Promise<void>,
  ): Promise<boolean> {
    const { ledger, totals, kernel } = this.#world;
    const operation = ledger.begin(cell.name, forcedName);
    totals.deletions += 1;
    const running = { beganMs: kernel.nowMs };
    this.#running.add(running);
    try {
      await act({ username: operation.id, groups: ["system:authenticated"] });
      return true;
    } catch (error) {
      if (!isApiError(error)) throw error;
      return false;
    } finally {
      this.#running.delete(running);
      ledger.end(operation);
    }
  }
}

/** What an eviction names: a controller the pod that it has seen, which may be another by now. Undefined = nothing. */
function preconditionsOf({ uid, resourceVersion }: KubeObject["metadata"], draw: number): JsonObject | undefined {
  if (draw < 0.25) return undefined;
  if (draw < 0.5) return { resourceVersion };
  if (draw < 0.7) return { uid, resourceVersion };
  if (draw < 0.85) return { uid };
  return draw < 0.93 ? { resourceVersion: String(Number(resourceVersion) - 1) } : { uid: `not ${uid}` };
}

function evictionOf(name: string, own: Readonly<Record<string, string>> = {}): JsonObject {
  return { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace, annotations: own } };
}
