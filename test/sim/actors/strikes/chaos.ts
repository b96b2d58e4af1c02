/** What strikes a world from outside, each fault class at random times of its own; `heal` ends all of it. */
import { assert } from "../../../../src/util/assert.ts";
import { type Rng, uniform } from "../../../../src/util/rng.ts";
import { type FaultClass } from "../../fault-classes.ts";
import { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "../../../double/index.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type Cell, type World } from "../../world.ts";
import { Absences } from "./absences.ts";
import { Bystanders } from "../bystanders.ts";
import { drawStepMs, setClocks } from "./wall-clocks.ts";
import { type CoreCast } from "../core-cast.ts";
import { type Deleters } from "../deleters.ts";
import { quietly } from "../quietly.ts";
import { OddDeployments } from "../deployments.ts";
import { OddReviews } from "../people/odd-reviews.ts";
import { Losses } from "./losses.ts";
import { LostNodes } from "./lost-nodes.ts";
import { MassChanges } from "./mass-changes.ts";
import { Nodes } from "./nodes.ts";
import { periodMs } from "./periods.ts";
import { Suspensions } from "./suspensions.ts";
import { Upgrades } from "./upgrades.ts";
import { type Workload } from "../workload.ts";

/**
 * How old a backup is when it is restored. More must have been written since than is written before the watches are
 * back, or the versions of the new history have passed theirs by then and nothing shows it (docs/accounting.md).
 */
const backupAgeMs = { least: 15_000, most: 75_000 };
const probeMs = 2_000;
/** An API server that is upgraded, or whose machine is moved; long enough for what is tried only after a while. */
const outageMs = { least: 5_000, most: 40_000 };

type Cluster = Pick<Cell, "node" | "server">;

export interface Cast {
  readonly workloads: ReadonlyMap<string, Workload>;
  readonly deleters: Deleters;
  readonly cores: readonly CoreCast[];
}

export class Chaos {
  readonly #world: World;
  readonly #cast: Cast;
  readonly #rng: Rng;
  readonly #bystanders: Bystanders;
  readonly #deployments: OddDeployments;
  readonly #reviews: OddReviews;
  readonly #losses: Losses;
  readonly #nodes: Nodes;
  readonly #lostNodes: LostNodes;
  readonly #absences: Absences;
  readonly #suspensions: Suspensions;
  readonly #massChanges: MassChanges;
  readonly #upgrades: Upgrades;
  #isOver = false;

  constructor(world: World, cast: Cast) {
    this.#world = world;
    this.#cast = cast;
    this.#rng = world.kernel.rng("chaos");
    this.#bystanders = new Bystanders(world);
    this.#deployments = new OddDeployments(world);
    this.#reviews = new OddReviews(world);
    this.#losses = new Losses(world, cast.workloads);
    this.#nodes = new Nodes(world, { ...cast, anyCore: () => this.#anyCore() });
    this.#lostNodes = new LostNodes(world, cast.workloads);
    this.#absences = new Absences(world, (process) => this.#isToStart(process));
    this.#suspensions = new Suspensions(world);
    this.#massChanges = new MassChanges(world, world.cores.at(-1) ?? world.core);
    this.#upgrades = new Upgrades(world, (process) => this.#isToStart(process));
  }

  begin(): void {
    const { plan, network } = this.#world;
    for (const { server } of this.#clusters) Object.assign(server.conditions.rates, plan.rates);
    const latency = plan.severity("latency");
    if (latency > 0) {
      network.weather.latencyMs = { least: 1, meanExtra: 20 * latency };
      network.weather.hiccup = { rate: 0.02, meanMs: 1_000 * latency };
    }
    network.weather.resetRate = Math.min(0.05, 0.003 * plan.severity("resets"));
    const { reviewWeather } = this.#world;
    reviewWeather.duplicateRate = Math.min(0.3, 0.03 * plan.severity("lost-responses"));
    reviewWeather.slowRate = Math.min(0.3, 0.05 * plan.severity("slow-reviews"));
    reviewWeather.otherRefusalRate = Math.min(0.6, 0.2 * plan.severity("other-refusals"));
    if (plan.severity("small-pages") > 0) {
      for (const { server } of this.#clusters) server.conditions.pageSizeMax = 1 + Math.floor(this.#rng.next() * 4);
    }
    if (plan.severity("late-cells") > 0) this.#startLastCellLate();
    this.#world.calm.begin();
    this.#losses.begin();
    this.#upgrades.begin();
    this.#probe();
    for (const [name, period] of Object.entries(periodMs) as [FaultClass, number][]) {
      const severity = plan.severity(name);
      if (severity > 0) this.#repeat(period / severity, () => this.#strike(name));
    }
  }

  /** Ends every fault, and starts what has died. */
  async heal(): Promise<void> {
    this.#isOver = true;
    const { core, network, kernel } = this.#world;
    kernel.note("healed");
    for (const { server } of this.#clusters) {
      server.conditions.heal();
      server.start();
      // What is still under way in a slow watch would go on being late.
      server.dropWatches();
    }
    network.weather.latencyMs = { least: 1, meanExtra: 1 };
    network.weather.hiccup = { rate: 0, meanMs: 0 };
    network.weather.resetRate = 0;
    network.mendAll();
    this.#losses.last();
    this.#nodes.end();
    this.#lostNodes.end();
    this.#absences.end();
    setClocks(this.#world.processes());
    this.#massChanges.end();
    this.#world.fencePolicyCode = undefined;
    this.#world.corePolicyCode = undefined;
    if (this.#world.plan.faults.has("old-crd")) await core.server.engine.installCrd(permissivePodProtectorCrd());
    Object.assign(this.#world.reviewWeather, { duplicateRate: 0, slowRate: 0, otherRefusalRate: 0 });
    for (const process of this.#world.processes()) if (this.#isToStart(process)) await process.start();
  }

  /** Kubelets ask who is ready. Nothing depends on the answer, so replicas are asked as well that should not be. */
  #probe(): void {
    if (this.#isOver) return;
    for (const process of this.#world.processes()) process.isReady();
    this.#world.kernel.schedule(probeMs, () => this.#probe());
  }

  #repeat(meanMs: number, strike: () => void): void {
    const { kernel } = this.#world;
    const next = (): void => {
      if (this.#isOver) return;
      strike();
      kernel.schedule(this.#exponential(meanMs), next);
    };
    kernel.schedule(this.#exponential(meanMs), next);
  }

  #strike(name: FaultClass): void {
    this.#world.count(name);
    switch (name) {
      case "partitions":
        return this.#partition();
      case "watch-lag":
        return this.#lag();
      case "server-restarts":
        return this.#stopServer(this.#exponential(5_000));
      case "outages":
        return this.#stopServer(uniform(this.#rng, outageMs.least, outageMs.most));
      case "namespace-labels":
        return this.#run(this.#bystanders.labelNamespace());
      case "crashes":
        return this.#crash();
      case "rollouts":
        return this.#rollOut();
      case "pauses":
        return this.#pick(this.#world.processes())?.node()?.pauseFor(this.#exponential(5_000));
      case "clocks":
        return this.#pick(this.#world.processes())?.node()?.jumpWallClock(drawStepMs(this.#rng));
      case "flapping-pods":
        return this.#run(this.#rng.next() < 0.8 ? this.#workload()?.flap() : this.#workload()?.fail());
      case "relabelled-pods":
        return this.#run(this.#workload()?.relabel());
      case "edits":
        return this.#run(this.#anyCore().owner.edit());
      case "erasures":
        return this.#run(this.#anyCore().owner.erase());
      case "disasters":
        return this.#run(this.#cast.deleters.disaster());
      case "settings":
        return this.#changeSettings();
      case "restores":
        return this.#restore();
      case "bystanders":
        return this.#run(this.#bystanders.act());
      case "odd-deployments":
        return this.#run(this.#deployments.act());
      case "hostile-protectors":
        return this.#run(this.#bystanders.writeHostile());
      case "go-components":
        return this.#run(this.#bystanders.writeLikeGo());
      case "forbidden-fences":
        return this.#bystanders.refuseFences();
      case "core-policies":
        return this.#bystanders.refuseProtectors();
      case "odd-reviews":
        return this.#run(this.#reviews.send(this.#pick(this.#world.webhooks)));
      case "source-edits":
        return this.#run(this.#anyCore().sources.edit());
      case "vanished-sources":
        return this.#run(this.#anyCore().sources.lose());
      case "cascades":
        return this.#run(this.#nodes.cascade());
      case "autoscaling":
        return this.#run(this.#nodes.scale());
      case "drains":
        return this.#run(this.#nodes.drain());
      case "node-loss":
        return this.#run(this.#nodes.lose());
      case "lost-protectors":
        return this.#anyCore().losses.loseProtectors();
      case "wiped-core":
        return this.#run(this.#anyCore().losses.wipe());
      case "deleted-crd":
        return this.#run(this.#anyCore().losses.deleteCrd());
      case "mass-changes":
        return this.#run(this.#massChanges.act());
      case "absences":
        return this.#absences.strike();
      case "suspensions":
        return this.#suspensions.strike();
      case "full-cores":
        return this.#absences.fill(this.#anyCore().core);
      case "cell-leases":
        return this.#run(this.#anyCore().cells.act());
      case "lost-nodes":
        return this.#run(this.#lostNodes.act());
      case "passing-sources":
        return this.#run(this.#anyCore().passing.act());
      case "node-clocks":
        return this.#workload()?.setNodeClock();
      case "strangers-pods":
        return this.#run(this.#nodes.strangers.act());
      case "modes":
        return this.#run(this.#anyCore().modes.act());
      case "old-crd":
        return this.#goBackToOldCrd();
      case "webhook-dry-runs":
        return this.#changeFlags(
          this.#pick(this.#world.webhooks),
          this.#rng.next() < 0.5 ? ["--webhook-dry-run=true"] : [],
        );
      case "broken-watches":
      case "lost-bookmarks":
        return this.#cluster().server.dropWatches();
      default:
    }
  }

  /** One or both directions between two machines, or all around one. */
  #partition(): void {
    const { network, kernel } = this.#world;
    const process = this.#pick(this.#world.processes());
    const cluster = this.#pick(this.#clusters);
    if (process === undefined || cluster === undefined) return;
    const pairs: [string, string][] = [];
    const draw = this.#rng.next();
    if (draw < 0.7) pairs.push([process.name, cluster.node.name]);
    if (draw > 0.3) pairs.push([cluster.node.name, process.name]);
    kernel.note(`partition ${pairs.map((pair) => pair.join(">")).join(" ")}`);
    for (const [from, to] of pairs) network.cut(from, to);
    kernel.schedule(this.#exponential(15_000), () => {
      for (const [from, to] of pairs) network.heal(from, to);
    });
  }

  #lag(): void {
    const { conditions } = this.#cluster().server;
    const lagMs = this.#rng.next() < 0.2 ? uniform(this.#rng, 10_000, 150_000) : uniform(this.#rng, 100, 8_000);
    conditions.watchLagMs = lagMs;
    this.#world.kernel.note(`watch lag ${Math.round(lagMs)} ms`);
    this.#world.kernel.schedule(this.#exponential(30_000), () => {
      if (conditions.watchLagMs === lagMs) conditions.watchLagMs = 0;
    });
  }

  #stopServer(durationMs: number): void {
    const { server, node } = this.#cluster();
    this.#world.kernel.note(`${node.name} stops`);
    server.stop();
    this.#world.kernel.schedule(durationMs, () => server.start());
  }

  #crash(): void {
    const process = this.#pick(this.#world.processes());
    if (process?.node() === undefined) return;
    process.kill();
    this.#startLater(process, this.#exponential(4_000));
  }

  /** A graceful restart of one process. */
  #rollOut(): void {
    const process = this.#pick(this.#world.processes());
    if (process?.node() === undefined) return;
    void process.stop().then(() => this.#startLater(process, 500));
  }

  /** The cell is new: its aggregators come up in the middle of everything. */
  #startLastCellLate(): void {
    const { aggregators, cells, plan } = this.#world;
    const late = aggregators.filter(({ name }) => name.startsWith(`aggregator-${cells.at(-1)?.name}-`));
    for (const process of late) process.kill();
    const delayMs = this.#rng.next() * plan.chaosMs;
    for (const process of late) this.#startLater(process, delayMs);
  }

  /** Somebody changes a flag, and one process comes up with it before the others do. */
  #changeSettings(): void {
    const process = this.#pick([...this.#world.aggregators, ...this.#world.webhooks]);
    if (process === undefined) return;
    const settings =
      process.options.role === "webhook"
        ? [`--default-admission-history-config-compact-threshold=${1 + Math.floor(this.#rng.next() * 20)}`]
        : [`--aggregator-settlement-fence-delay=${1 + Math.floor(this.#rng.next() * 20)}s`];
    this.#changeFlags(process, settings);
  }

  #changeFlags(process: SimProcess | undefined, settings: readonly string[]): void {
    if (process === undefined) return;
    process.settings = settings;
    if (process.node() !== undefined) void process.stop().then(() => this.#startLater(process, 500));
  }

  /**
   * Somebody installs the CRD of an older version, which drops the fields that it does not know, and notices it after a
   * while.
   */
  #goBackToOldCrd(): void {
    const { engine } = this.#world.core.server;
    this.#run(quietly(() => engine.installCrd(upstreamPodProtectorCrd())));
    this.#world.kernel.schedule(this.#exponential(30_000), () =>
      this.#run(quietly(() => engine.installCrd(permissivePodProtectorCrd()))),
    );
  }

  /** An etcd comes back from a backup. */
  #restore(): void {
    const { kernel, cores, ledger } = this.#world;
    const { server, node } = this.#cluster();
    const backup = server.engine.backup();
    const history = server.restores;
    kernel.schedule(uniform(this.#rng, backupAgeMs.least, backupAgeMs.most), () => {
      // A backup of a history that has been given up may lie beyond the versions that the watches have reached in the
      // present one.
      if (this.#isOver || server.restores !== history) return;
      kernel.note(`${node.name} restored from its backup`);
      server.restore(backup);
      const cell = this.#world.cells.find((one) => one.server === server);
      if (cell === undefined) cores.find((core) => core.server === server)?.restored();
      else {
        ledger.restored(cell.name, server);
        this.#run(this.#cast.workloads.get(cell.name)?.resume());
      }
    });
  }

  #startLater(process: SimProcess, delayMs: number): void {
    this.#world.kernel.schedule(delayMs, () => {
      if (this.#isToStart(process)) void process.start();
    });
  }

  /** It is down, and not for ever. */
  #isToStart(process: SimProcess): boolean {
    const { plan, lost } = this.#world;
    const isKilled = (plan.loss === "webhook" || plan.loss === "aggregator") && lost.processes.has(process);
    return process.node() === undefined && !isKilled;
  }

  #run(act: Promise<unknown> | undefined): void {
    // A rejection is a mistake of the simulation, and ends the process.
    void act;
  }

  get #clusters(): readonly Cluster[] {
    return [...this.#world.cores, ...this.#world.cells];
  }

  #cluster(): Cluster {
    return this.#pick(this.#clusters) ?? this.#world.core;
  }

  /** Where there is but one, nothing is drawn. */
  #anyCore(): CoreCast {
    const { cores } = this.#cast;
    const index = cores.length === 1 ? 0 : Math.floor(this.#rng.next() * cores.length);
    const cast = cores[index];
    assert(cast !== undefined, "a world has a core");
    return cast;
  }

  #workload(): Workload | undefined {
    return this.#pick([...this.#cast.workloads.values()]);
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#rng.next() * list.length)];
  }

  #exponential(meanMs: number): number {
    return -Math.log(1 - this.#rng.next()) * meanMs;
  }
}
