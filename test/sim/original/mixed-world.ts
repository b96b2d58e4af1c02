/**
 * A world in which some processes are of the Go original and others of this release, all at the same objects. Waves of
 * deletions ask for every pod, while watches of the cells lag. What is looked at is what counts: how many pods were
 * available at the worst moment.
 */
import { readPodRecord } from "../../../src/api/pod.ts";
import { readProtector } from "../../../src/kube/resources.ts";
import { type Rng, uniform } from "../../../src/util/rng.ts";
import { type Engine } from "../../double/index.ts";
import { type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { formatSeconds } from "../../double/engine/metadata.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { quietly } from "../actors/quietly.ts";
import { SimApiServer } from "../clusters/api-server.ts";
import { ServerConditions } from "../clusters/conditions.ts";
import { namespace, sideNamespace } from "../clusters/namespaces.ts";
import { webhookConfiguration } from "../clusters/webhook-configurations.ts";
import { Kernel } from "../kernel/kernel.ts";
import { SimNode } from "../kernel/node.ts";
import { type WireServer } from "../network/dispatcher.ts";
import { Network } from "../network/network.ts";
import { createReviewRoute, type ReviewObserver } from "../network/reviews.ts";
import { SimProcess } from "../processes/process.ts";
import { type Release, type RoleName } from "../processes/release.ts";
import { availableOf, cellsOf, lagOf } from "./status.ts";

const { pods, deployments } = builtInResources;
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };
const cellNames = ["a", "b"] as const;
const startUpMs = 150_000;
const insistMs = 5_000;
const nobody = (): void => {};
const unobserved: ReviewObserver = {
  asked: nobody,
  arrived: nobody,
  left: nobody,
  unanswered: nobody,
  answered: nobody,
};

/** Which release each process runs. */
export interface MixedFleet {
  readonly generator: Release;
  /** Of the cells a and b. */
  readonly aggregators: readonly [Release, Release];
  readonly webhooks: readonly [Release, Release];
}

export interface MixedOutcome {
  readonly floor: number;
  /** Available pods at the worst moment. */
  readonly least: number;
  /** Pods that went by a deletion of the waves. */
  readonly deleted: number;
  /**
   * Admissions that were recorded although the object itself said that too few would be left: what the original
   * guarantees, and no more than that.
   */
  readonly unguarded: readonly string[];
}

export interface MixedPlay {
  readonly seed: number;
  readonly isLagging: boolean;
  /** For how long there are waves. */
  readonly wavesMs: number;
}

export async function playMixed(play: MixedPlay, fleet: MixedFleet): Promise<MixedOutcome> {
  const world = new MixedWorld(play, fleet);
  await world.play(play);
  if (world.kernel.failure !== undefined) throw world.kernel.failure;
  return world.outcome();
}

class MixedWorld {
  readonly kernel: Kernel;
  readonly #network: Network;
  readonly #core: SimApiServer;
  readonly #cells: readonly SimApiServer[];
  readonly #processes: readonly SimProcess[];
  readonly #webhooks: SimProcess[] = [];
  readonly #podsPerCell: number;
  readonly #floor: number;
  /** Of the size, the lag and the times of the waves: what it draws does not depend on what happens. */
  readonly #rng: Rng;
  readonly #unguarded: string[] = [];
  #least = Infinity;
  #deleted = 0;
  #created = 0;

  constructor({ seed }: MixedPlay, fleet: MixedFleet) {
    this.kernel = new Kernel(seed);
    this.#rng = createSeededRng(seed);
    this.#podsPerCell = 4 + Math.floor(this.#rng.next() * 8);
    this.#floor = Math.max(1, Math.round(2 * this.#podsPerCell * uniform(this.#rng, 0.4, 0.9)));
    this.#network = new Network(this.kernel, {
      latencyMs: { least: 1, meanExtra: 1 },
      hiccup: { rate: 0, meanMs: 0 },
      resetRate: 0,
    });
    this.#core = this.#cluster("core", undefined);
    this.#cells = cellNames.map((name) => this.#cluster(`worker-${name}`, name));
    const process = (name: string, role: RoleName, release: Release, ...argv: readonly string[]): SimProcess =>
      this.#process(name, role, release, argv);
    const worker = (name: string): string[] => [`--worker-kube-master=http://worker-${name}`];
    this.#webhooks.push(...fleet.webhooks.map((release, index) => process(`webhook-${index}`, "webhook", release)));
    this.#processes = [
      process("generator", "generator", fleet.generator),
      ...fleet.aggregators.map((release, index) => {
        const cell = cellNames[index] ?? "";
        return process(`aggregator-${cell}`, "aggregator", release, ...worker(cell), `--aggregator-cell-id=${cell}`);
      }),
      ...this.#webhooks,
    ];
  }

  outcome(): MixedOutcome {
    return { floor: this.#floor, least: this.#least, deleted: this.#deleted, unguarded: this.#unguarded };
  }

  async play({ isLagging, wavesMs }: MixedPlay): Promise<void> {
    const { kernel } = this;
    await this.#during(this.#start());
    await kernel.run(kernel.nowMs + startUpMs);
    this.#least = this.#available();
    for (const server of this.#cells)
      server.engine.onChange(pods, () => (this.#least = Math.min(this.#least, this.#available())));
    const endMs = kernel.nowMs + wavesMs;
    while (kernel.nowMs < endMs && kernel.failure === undefined) {
      for (const { conditions } of this.#cells)
        conditions.watchLagMs = isLagging && this.#rng.next() < 0.7 ? uniform(this.#rng, 500, 20_000) : 0;
      this.#wave();
      await kernel.run(kernel.nowMs + uniform(this.#rng, 2_000, 15_000));
    }
  }

  async #start(): Promise<void> {
    for (const server of [this.#core, ...this.#cells]) await server.bootstrap();
    const protectors = this.#core.engine.registry.all().find(({ resource }) => resource === "podprotectors");
    if (protectors !== undefined)
      this.#core.engine.onChange(protectors, ({ object, previous }) => this.#check(object, previous));
    for (const [index, server] of this.#cells.entries()) this.#tend(index, server);
    for (const [index] of cellNames.entries())
      for (let count = 0; count < this.#podsPerCell; count += 1) await this.#create(index);
    await this.#core.engine.create(deployments, namespace, this.#deployment());
    for (const one of this.#processes) await one.start();
  }

  /**
   * By the object as it was: an admission that is new in it must leave the floor by its own figures. No cell can lose
   * more pods than it has: what was admitted beyond its counts is of pods that they do not have.
   */
  #check(object: KubeObject, previous: KubeObject | undefined): void {
    const [now, before] = [readProtector(object), previous === undefined ? undefined : readProtector(previous)];
    if (!now.ok || before?.ok !== true) return;
    const [cells, old] = [cellsOf(now.stored.protector), cellsOf(before.stored.protector)];
    const left = old
      .map((cell) => availableOf([cell]) - lagOf(cells.filter(({ cellID }) => cellID === cell.cellID)))
      .reduce((sum, ofCell) => sum + Math.max(0, ofCell), 0);
    if (lagOf(cells) > lagOf(old) && left < this.#floor)
      this.#unguarded.push(`${left} of ${this.#floor} left at ${Math.round(this.kernel.nowMs)} ms`);
  }

  #wave(): void {
    const rng = this.kernel.rng(`wave at ${this.kernel.nowMs}`);
    for (const { engine } of this.#cells)
      for (const { metadata } of engine.list(pods, namespace).items) {
        if (metadata.deletionTimestamp !== undefined) continue;
        this.kernel.schedule(uniform(rng, 0, 1_000), () => void this.#insist(engine, metadata.name, rng));
      }
  }

  /** As controllers and drains do, somebody asks again and again for what was refused. */
  async #insist(engine: Engine, name: string, rng: Rng): Promise<void> {
    const caller = { username: "somebody", groups: ["system:authenticated"] };
    const endMs = this.kernel.nowMs + insistMs;
    while (this.kernel.nowMs < endMs) {
      const deleted = await quietly(() => engine.delete(pods, namespace, name, {}, { caller }));
      if (deleted !== undefined) this.#deleted += 1;
      if (deleted !== undefined || engine.find(pods, namespace, name) === undefined) return;
      await this.kernel.pause(uniform(rng, 200, 600));
    }
  }

  /** Controllers and kubelets: what goes is replaced, and ready after a while. */
  #tend(index: number, { engine }: SimApiServer): void {
    const rng = this.kernel.rng(`kubelets of ${cellNames[index] ?? ""}`);
    const later = (leastMs: number, mostMs: number, act: () => Promise<unknown>): void =>
      void this.kernel.schedule(uniform(rng, leastMs, mostMs), () => void quietly(act));
    engine.onChange(pods, ({ type, object, previous }) => {
      if (object.metadata.namespace !== namespace) return;
      const { name, uid } = object.metadata;
      if (type === "DELETED") later(100, 1_000, () => this.#create(index, uniform(rng, 500, 4_000)));
      else if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined)
        later(0, 2_000, () =>
          engine.delete(pods, namespace, name, { gracePeriodSeconds: 0, preconditions: { uid } }, { caller: kubelet }),
        );
    });
  }

  async #create(index: number, readyAfterMs = 0): Promise<void> {
    const engine = this.#cells[index]?.engine;
    if (engine === undefined) return;
    this.#created += 1;
    const name = `web-${this.#created}`;
    await engine.create(pods, namespace, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "web" } },
      spec: { nodeName: "node-1", containers: [{ name: "main", image: "web:1" }] },
    });
    const ready = async (): Promise<void> => {
      const lastTransitionTime = formatSeconds(engine.clock.epochMicros());
      const conditions = ["PodScheduled", "Initialized", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime,
      }));
      const body = { status: { phase: "Running", conditions } };
      const patch = { contentType: "application/merge-patch+json", body };
      await quietly(() => engine.patch(pods, namespace, name, patch, { caller: kubelet, subresource: "status" }));
    };
    if (readyAfterMs === 0) await ready();
    else this.kernel.schedule(readyAfterMs, () => void ready());
  }

  #available(): number {
    const all = this.#cells.flatMap(({ engine }) => engine.list(pods, namespace).items);
    return all.filter((object) => {
      const pod = readPodRecord(object);
      return pod?.isReady === true && !pod.isTerminating;
    }).length;
  }

  #deployment(): JsonObject {
    const labels = { app: "web" };
    const replicas = cellNames.length * this.#podsPerCell;
    const rollingUpdate = { maxUnavailable: replicas - this.#floor, maxSurge: 1 };
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", labels },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        strategy: { type: "RollingUpdate", rollingUpdate },
        template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
      },
    };
  }

  #cluster(nodeName: string, cell: string | undefined): SimApiServer {
    const node = new SimNode(this.kernel, nodeName);
    return new SimApiServer({
      node,
      network: this.#network,
      conditions: new ServerConditions(nobody),
      callWebhook:
        cell === undefined
          ? () => Promise.reject(new Error("the core has no webhook"))
          : createReviewRoute({
              cell,
              network: this.#network,
              apiServer: node,
              replicas: this.#webhooks,
              rng: this.kernel.rng(`${nodeName} reviews`),
              observer: unobserved,
              weather: { duplicateRate: 0, slowRate: 0, otherRefusalRate: 0 },
            }),
      webhookConfigurations: cell === undefined ? [] : [webhookConfiguration(cell)],
      unfenced: sideNamespace,
    });
  }

  #process(name: string, role: RoleName, release: Release, argv: readonly string[]): SimProcess {
    const servers = new Map<string, WireServer>([
      ["http://core", this.#core],
      ...this.#cells.map((server, index) => [`http://worker-${cellNames[index] ?? ""}`, server] as const),
    ]);
    const process = new SimProcess({
      name,
      role,
      argv: ["--core-kube-master=http://core", ...argv],
      limits: undefined,
      clock: { offsetMs: 0, rate: 1 },
      kernel: this.kernel,
      network: this.#network,
      servers,
    });
    process.release = release;
    return process;
  }

  async #during(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const tracked = work.finally(() => (isDone = true));
    await this.kernel.run(this.kernel.nowMs + 60_000, () => isDone);
    await tracked;
  }
}

/** All processes of one release. */
export const fleetOf = (release: Release): MixedFleet => ({
  generator: release,
  aggregators: [release, release],
  webhooks: [release, release],
});
