/**
 * The controllers and kubelets of a cell, as far as pods can tell: keeps as many pods as are wanted, makes them ready
 * after a while, ends terminating ones, and lets some fail, flap or change their labels.
 */
import { readPodRecord } from "../../../src/api/pod.ts";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { type Rng, uniform } from "../../../src/util/rng.ts";
import { type JsonObject, type KubeObject, asObject, asString } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { formatSeconds } from "../../double/engine/metadata.ts";
import { namespace } from "../clusters/namespaces.ts";
import { cellLabel } from "../processes/fleet.ts";
import { type Cell, type World } from "../world.ts";
import { quietly } from "./quietly.ts";

const { pods } = builtInResources;
/** A pod that is gone is replaced after so long, and is ready after so long again. */
const replacedAfterMs = { low: 100, high: 3_000 };
const readyAfterMs = { low: 200, high: 8_000 };
const terminatesInMs = { low: 0, high: 6_000 };
/** In each cell. */
export const nodeNames = ["node-1", "node-2", "node-3"] as const;
/** How far clocks of nodes are ahead, in milliseconds; undefined = no times are written. */
const nodeClocksMs = [0, 3_000, -3_000, 20_000, 300_000, 8 * 3_600_000, -8 * 3_600_000, undefined] as const;
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };

export class Workload {
  readonly #world: World;
  readonly #cell: Cell;
  readonly #rng: Rng;
  /** How many pods there should be; the world may change it. */
  wanted: number;
  #created = 0;
  #hasPerished = false;
  /** By node: those of the others are the cell's. */
  readonly #nodeClockMs = new Map<string, number | undefined>();
  /** Names that are given again, as a StatefulSet does. */
  readonly #reusesNames: boolean;

  constructor(world: World, cell: Cell) {
    this.#world = world;
    this.#cell = cell;
    this.#rng = world.kernel.rng(`workload of ${cell.name}`);
    this.wanted = world.plan.podsPerCell;
    this.#reusesNames = this.#rng.next() < 0.3;
  }

  /** Creates the pods, ready from the start, and looks after them from now on. */
  async start(): Promise<void> {
    const { engine } = this.#cell.server;
    for (let count = 0; count < this.wanted; count += 1) await this.#create(0);
    engine.onChange(pods, ({ type, object, previous }) => {
      if (!isOurs(object)) return;
      if (type === "DELETED") this.#later(replacedAfterMs, () => this.#replace(object));
      else if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined) {
        this.#later(terminatesInMs, () => this.#confirm(object));
      }
    });
  }

  /** Present pods that nobody deletes. */
  live(): KubeObject[] {
    return this.#cell.server.engine
      .list(pods, namespace)
      .items.filter((object) => isOurs(object) && object.metadata.deletionTimestamp === undefined);
  }

  /** One pod fails its readiness for a while. */
  async flap(): Promise<void> {
    const pod = this.#pick();
    if (pod === undefined) return;
    await this.#setReady(pod, false);
    this.#later({ low: 10, high: 20_000 }, () => this.#setReady(pod, true));
  }

  /** One pod ends for good; it is cleaned up and replaced. */
  async fail(): Promise<void> {
    const pod = this.#pick();
    if (pod === undefined) return;
    await this.#patchStatus(pod, failed(this.#now()));
    this.#later({ low: 100, high: 5_000 }, () => this.#remove(pod));
  }

  /** The clock of one node is set, right or wrong; what is Ready there keeps its time. */
  setNodeClock(): void {
    const node = nodeNames[Math.floor(this.#rng.next() * nodeNames.length)] ?? nodeNames[0];
    this.#nodeClockMs.set(node, nodeClocksMs[Math.floor(this.#rng.next() * nodeClocksMs.length)]);
  }

  /** One pod leaves the selection, or comes back. */
  async relabel(): Promise<void> {
    const all = this.#cell.server.engine.list(pods, namespace).items.filter(isOurs);
    const pod = all[Math.floor(this.#rng.next() * all.length)];
    if (pod === undefined) return;
    const app = pod.metadata.labels?.["app"] === "web" ? "other" : "web";
    await quietly(() => this.#patch(pod.metadata.name, { metadata: { labels: { app } } }));
  }

  /** Present pods of a node that nobody deletes. */
  onNode(node: string): KubeObject[] {
    return this.live().filter(({ spec }) => spec?.["nodeName"] === node);
  }

  /**
   * Nothing is heard of the node: none of its pods counts as ready, until it is back after `durationMs`. Its containers
   * have stopped as well, or serve on, unseen.
   */
  async loseNode(node: string, durationMs: number): Promise<void> {
    const lost = this.onNode(node);
    const isUnseen = this.#rng.next() < 0.5;
    await Promise.all(lost.map((pod) => (isUnseen ? this.#loseSight(pod) : this.#setReady(pod, false))));
    this.#later({ low: durationMs, high: durationMs }, async () => {
      for (const pod of lost) await this.#setReady(pod, true);
    });
  }

  /** So many pods are wanted from now on, unless nothing is left of the cell. What is too much others delete. */
  async scale(wanted: number): Promise<void> {
    if (this.#hasPerished) return;
    this.wanted = wanted;
    await this.fill();
  }

  /** How many pods there are above those that are wanted. */
  get surplus(): number {
    return Math.max(0, this.live().length - this.wanted);
  }

  /** The machines of the cell have gone, with all pods; nothing comes in their place. */
  async perish(): Promise<void> {
    this.#hasPerished = true;
    this.wanted = 0;
    for (const pod of this.#cell.server.engine.list(pods, namespace).items.filter(isOurs))
      await this.#patchStatus(pod, failed(this.#now()));
  }

  #pick(): KubeObject | undefined {
    const live = this.live();
    return live[Math.floor(this.#rng.next() * live.length)];
  }

  async #create(readyAfter: number, name?: string): Promise<void> {
    this.#created += 1;
    const podName = name ?? `web-${this.#cell.name}-${this.#created}`;
    const object = await quietly(() =>
      this.#cell.server.engine.create(pods, namespace, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: podName, labels: this.#labels(), ...this.#wish() },
        spec: {
          nodeName: this.#nextNode(),
          containers: [{ name: "main", image: "web:1" }],
          terminationGracePeriodSeconds: 30,
        },
      }),
    );
    if (object === undefined) return;
    if (readyAfter === 0) await this.#setReady(object, true);
    else this.#world.kernel.schedule(readyAfter, () => void this.#setReady(object, true));
  }

  #nextNode(): string {
    return nodeNames[this.#created % nodeNames.length] ?? nodeNames[0];
  }

  #labels(): Record<string, string> {
    const own = { app: "web", ours: "yes" };
    return this.#world.plan.cellsBy === "label" ? { ...own, [cellLabel]: this.#cell.name } : own;
  }

  /** Pods ask to be judged by another property than availability with an annotation. */
  #wish(): JsonObject {
    const { criterion } = this.#world.plan;
    return criterion === "Available" ? {} : { annotations: { [annotations.healthCriterion]: criterion } };
  }

  async #replace(gone: KubeObject): Promise<void> {
    const present = this.#cell.server.engine.list(pods, namespace).items.filter(isOurs).length;
    if (present >= this.wanted) return;
    const readyAfter = uniform(this.#rng, readyAfterMs.low, readyAfterMs.high);
    await this.#create(readyAfter, this.#reusesNames ? gone.metadata.name : undefined);
  }

  /** Creates or removes nothing by itself, but brings the number of pods up to what is wanted. */
  async fill(): Promise<void> {
    const { items } = this.#cell.server.engine.list(pods, namespace);
    for (let present = items.filter(isOurs).length; present < this.wanted; present += 1) await this.#create(1_000);
  }

  /** The cell came back from a backup: its kubelets and controllers go on from what is there. */
  async resume(): Promise<void> {
    for (const object of this.#cell.server.engine.list(pods, namespace).items.filter(isOurs)) {
      if (object.metadata.deletionTimestamp !== undefined) this.#later(terminatesInMs, () => this.#confirm(object));
      else if (readPodRecord(object)?.isReady === false) this.#later(readyAfterMs, () => this.#setReady(object, true));
    }
    await this.fill();
  }

  async #setReady(pod: KubeObject, ready: boolean): Promise<void> {
    const now = this.#now(asString(pod.spec?.["nodeName"]));
    const running = { phase: "Running", conditions: conditions(ready, now) };
    await this.#patchStatus(pod, this.#hasPerished ? failed(now) : running);
  }

  async #loseSight(pod: KubeObject): Promise<void> {
    const now = this.#now();
    const [ready, ...others] = conditions(true, now).toReversed();
    await this.#patchStatus(pod, { phase: "Running", conditions: [...others, { ...ready, status: "False" }] });
  }

  /** A pod that has failed never runs again, however late an earlier write of its kubelet commits. */
  async #patchStatus({ metadata: { name, uid } }: KubeObject, status: JsonObject): Promise<void> {
    const { engine } = this.#cell.server;
    let triedAt: string | undefined;
    for (;;) {
      const present = engine.find(pods, namespace, name);
      if (present === undefined || present.metadata.uid !== uid) return;
      const { resourceVersion } = present.metadata;
      // What failed at this version has another reason than a pod that has changed meanwhile.
      if (asObject(present.status)["phase"] === "Failed" || resourceVersion === triedAt) return;
      triedAt = resourceVersion;
      const patch = { metadata: { uid, resourceVersion }, status };
      if ((await quietly(() => this.#patch(name, patch, "status"))) !== undefined) return;
    }
  }

  async #patch(name: string, body: JsonObject, subresource?: "status"): Promise<unknown> {
    const options = { caller: kubelet, ...(subresource === undefined ? {} : { subresource }) };
    const patch = { contentType: "application/merge-patch+json", body };
    return await this.#cell.server.engine.patch(pods, namespace, name, patch, options);
  }

  /** The kubelet has stopped the containers: the pod goes, reviewed once more on its way. */
  async #confirm(pod: KubeObject): Promise<void> {
    await this.#remove(pod);
  }

  async #remove(pod: KubeObject): Promise<void> {
    const { engine } = this.#cell.server;
    const options = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
    const removed = await quietly(() =>
      engine.delete(pods, namespace, pod.metadata.name, options, { caller: kubelet }),
    );
    const present = engine.find(pods, namespace, pod.metadata.name);
    // Refused or lost: a kubelet tries again.
    if (removed === undefined && present?.metadata.uid === pod.metadata.uid) {
      this.#later({ low: 1_000, high: 5_000 }, () => this.#remove(pod));
    }
  }

  #later({ low, high }: { low: number; high: number }, act: () => Promise<void>): void {
    this.#world.kernel.schedule(uniform(this.#rng, low, high), () => void act());
  }

  /** By the clock of a node. */
  #now(node = ""): string | null {
    const aheadMs = this.#nodeClockMs.has(node) ? this.#nodeClockMs.get(node) : 0;
    return aheadMs === undefined ? null : formatSeconds(this.#cell.node.clock.epochMicros() + 1000 * aheadMs);
  }
}

function isOurs(object: KubeObject): boolean {
  return object.metadata.labels?.["ours"] === "yes";
}

function failed(time: string | null): JsonObject {
  return { phase: "Failed", conditions: conditions(false, time) };
}

function conditions(ready: boolean, time: string | null): JsonObject[] {
  const status = ready ? "True" : "False";
  const reason = ready ? {} : { reason: "ContainersNotReady" };
  return [
    { type: "PodScheduled", status: "True", lastTransitionTime: time },
    { type: "Initialized", status: "True", lastTransitionTime: time },
    { type: "ContainersReady", status, ...reason, lastTransitionTime: time },
    { type: "Ready", status, ...reason, lastTransitionTime: time },
  ];
}
