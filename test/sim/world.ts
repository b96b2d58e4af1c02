/**
 * One world: its cores, worker cells, the product's processes, and the checkers that watch over them. Built from a
 * plan; run.ts runs it.
 */
import { assert } from "../../src/util/assert.ts";
import { type JsonObject, asObject } from "../double/engine/object.ts";
import { builtInResources } from "../double/engine/resources.ts";
import { type AccountingChecker, type Breach } from "./checkers/accounting/accounting.ts";
import { checkBounds, leftovers } from "./checkers/bounds.ts";
import { Orphans } from "./checkers/orphans.ts";
import { Calm } from "./checkers/calm.ts";
import { Ledger } from "./checkers/accounting/ledger.ts";
import { RefusalChecker } from "./checkers/reviews/refusals.ts";
import { ReviewChecker } from "./checkers/reviews/reviews.ts";
import { SimApiServer } from "./clusters/api-server.ts";
import { ServerConditions } from "./clusters/conditions.ts";
import { forbiddenInCore, forbiddenInWorker } from "./clusters/rights.ts";
import {
  collectionConfiguration,
  policyName,
  policyOf,
  webhookConfiguration,
} from "./clusters/webhook-configurations.ts";
import { namespace, sideNamespace } from "./clusters/namespaces.ts";
import { firstCore, nodeOfCore, secondCore, urlOfCore } from "./clusters/core-names.ts";
import { Core, type CoreWorld, settleWindowMs } from "./core.ts";
import { Kernel } from "./kernel/kernel.ts";
import { type ClockSettings, SimNode } from "./kernel/node.ts";
import { type WireServer } from "./network/dispatcher.ts";
import { Network } from "./network/network.ts";
import { createReviewRoute, type ReviewWeather } from "./network/reviews.ts";
import { type FaultClass } from "./fault-classes.ts";
import { type Plan } from "./plan.ts";
import { createFleet, type FleetOptions, stampAnnotation } from "./processes/fleet.ts";
import { type SimProcess } from "./processes/process.ts";
import { presentRelease, type Release } from "./processes/release.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly plan: Plan;
  /** Default: observed. */
  readonly algorithm?: string;
  /** More flags of the product, for example to switch a rule off. */
  readonly argv?: readonly string[];
  /** Needed where the plan has an upgrade. */
  readonly previousRelease?: Release | undefined;
}

export interface WorldTotals {
  deletions: number;
  admitted: number;
  refused: number;
  breaches: Breach[];
  /**
   * Of pods that the restore of a worker took away, before a snapshot had shown it: no broken promise
   * (docs/accounting.md#what-is-left-open).
   */
  readonly restoreBreaches: Breach[];
  readonly faults: Map<string, number>;
}

/** With them floors break, as the documentation says. */
const inexact: readonly FaultClass[] = ["webhook-dry-runs"];
/** With them there is work in the side namespace that may never end. */
const sideClasses: readonly FaultClass[] = ["bystanders", "odd-deployments", "hostile-protectors", "go-components"];

export interface Cell {
  readonly name: string;
  readonly node: SimNode;
  readonly server: SimApiServer;
}

interface Lost {
  readonly cells: Set<string>;
  readonly processes: Set<SimProcess>;
  /** By name: since when nobody reaches the core. */
  readonly cores: Map<string, number>;
}

export class World {
  readonly options: WorldOptions;
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly network: Network;
  readonly ledger: Ledger;
  /** Most worlds have one. */
  readonly cores: readonly [Core, ...Core[]];
  readonly cells: readonly Cell[];
  readonly webhooks: SimProcess[] = [];
  readonly aggregators: SimProcess[] = [];
  readonly generators: SimProcess[] = [];
  /** Of the PodProtectors of all cores. */
  readonly checkers = new Map<string, AccountingChecker>();
  /** Of what nothing is demanded any more, because of what never comes back. */
  readonly lost: Lost = { cells: new Set(), processes: new Set(), cores: new Map() };
  /** What the processes are to run in the end, where the plan has an upgrade. */
  readonly nextRelease: Release | undefined;
  /** When each was told to run it. */
  readonly upgradedAtMs = new Map<SimProcess, number>();
  readonly calm: Calm;
  readonly refusals: RefusalChecker;
  readonly reviews: ReviewChecker;
  readonly orphans: Orphans;
  readonly totals: WorldTotals = {
    deletions: 0,
    admitted: 0,
    refused: 0,
    breaches: [],
    restoreBreaches: [],
    faults: new Map(),
  };
  /** What fences of bystanders' pods are refused with; undefined = they are not. */
  fencePolicyCode: number | undefined;
  /** The same for writes of bystanders' PodProtectors. */
  corePolicyCode: number | undefined;
  readonly reviewWeather: ReviewWeather = { duplicateRate: 0, slowRate: 0, otherRefusalRate: 0 };

  constructor(options: WorldOptions) {
    this.options = options;
    this.plan = options.plan;
    this.kernel = new Kernel(options.seed);
    this.network = new Network(this.kernel, {
      latencyMs: { least: 1, meanExtra: 1 },
      hiccup: { rate: 0, meanMs: 0 },
      resetRate: 0,
    });
    this.ledger = new Ledger(this.kernel, options.plan.silentAfterMs);
    this.calm = new Calm(options.plan, this.kernel);
    this.refusals = new RefusalChecker({
      kernel: this.kernel,
      checkers: this.checkers,
      plan: options.plan,
      settleWindowMs,
      lost: this.lost,
      isAway: (checker) => !this.coresLeft.some(({ checkers }) => checkers.values().some((one) => one === checker)),
      isCalm: () => this.calm.is && this.isExact,
      isOfThisRelease: (replica) => this.isOfThisRelease(replica),
    });
    this.orphans = new Orphans(this.kernel, options.plan);
    this.reviews = new ReviewChecker(this);
    const core = this.#createCore(firstCore);
    this.cores = this.plan.otherCore === "none" ? [core] : [core, this.#createCore(secondCore)];
    this.cells = this.plan.cells.map((name) => ({ name, ...this.#createCluster(`worker-${name}`, name) }));
    const fleet = createFleet({
      plan: this.plan,
      cores: this.cores.map(({ name }) => name),
      algorithm: options.algorithm ?? "observed",
      argv: options.argv ?? [],
      machine: (name) => this.#machine(name),
    });
    this.webhooks.push(...fleet.webhooks);
    this.aggregators.push(...fleet.aggregators);
    this.generators.push(...fleet.generators);
    const { upgrade } = this.plan;
    if (upgrade === "none") return;
    const { previousRelease } = options;
    assert(previousRelease !== undefined, "an upgrade needs the previous release");
    const [first, next] = upgrade === "forward" ? [previousRelease, presentRelease] : [presentRelease, previousRelease];
    for (const process of this.processes()) process.release = first;
    this.nextRelease = next;
  }

  /** Everything runs; pods and PodProtectors are not there yet. */
  async start(): Promise<void> {
    for (const core of this.cores) await core.start();
    for (const { name, server } of this.cells) {
      await server.bootstrap();
      this.ledger.follow(name, server);
      server.engine.onChange(builtInResources.pods, () => this.refusals.changed());
    }
    for (const process of this.processes()) await process.start();
  }

  /** The first core. */
  get core(): Core {
    return this.cores[0];
  }

  /** Those that are not lost for ever. */
  get coresLeft(): readonly Core[] {
    return this.cores.filter(({ name }) => !this.lost.cores.has(name));
  }

  processes(): readonly SimProcess[] {
    return [...this.generators, ...this.aggregators, ...this.webhooks];
  }

  /** Whether this webhook runs the code of this commit now. */
  isOfThisRelease(replica: string): boolean {
    return this.webhooks.some(({ name, running }) => name === replica && running === presentRelease);
  }

  /** A fault or an act of somebody, for the totals. */
  count(what: string): void {
    this.calm.struck(what);
    this.totals.faults.set(what, (this.totals.faults.get(what) ?? 0) + 1);
  }

  #checkBounds(process: SimProcess): void {
    const node = process.node();
    if (node === undefined) return;
    const keeper = { name: process.name, node: () => node, gauges: () => process.gaugesAtRest() };
    checkBounds(this.kernel, keeper, {
      protectors: new Map(this.cores.map(({ name, protectorsSeen }) => [name, protectorsSeen])),
      pods: this.ledger.podsSeen,
      reviews: this.plan.faults.has("odd-reviews") ? undefined : this.reviews.openAt(node),
    });
  }

  /** What processes have not let go of although everything is settled. */
  leftovers(): readonly string[] {
    const present = this.processes().filter((process) => !this.lost.processes.has(process));
    const isSettled = !sideClasses.some((name) => this.plan.faults.has(name));
    const isOnly = this.cores.length === 1;
    const { coresLeft } = this;
    const protectorsLost = this.cores
      .filter((core) => !coresLeft.includes(core))
      .reduce((sum, { protectorsSeen }) => sum + protectorsSeen, 0);
    const missing = new Map(coresLeft.map(({ name, protectorsMissing }) => [name, protectorsMissing]));
    return leftovers(present, { cores: missing, isOnly, protectorsLost, isSettled });
  }

  cell(name: string): Cell {
    const cell = this.cells.find((one) => one.name === name);
    assert(cell !== undefined, `no cell is called ${name}`);
    return cell;
  }

  /** Nothing in it keeps the product from its promises. */
  get isExact(): boolean {
    const { algorithm = "observed", plan } = this.options;
    return algorithm === "observed" && !inexact.some((name) => plan.faults.has(name));
  }

  /** Whether a webhook of the previous release may have written it, which had fewer rules. */
  #isByPreviousRelease(): boolean {
    if (this.plan.upgrade === "none") return false;
    const { exclusions } = this.ledger;
    const { nowMs } = this.kernel;
    const last = this.webhooks.map((webhook) =>
      webhook.release === presentRelease ? (this.upgradedAtMs.get(webhook) ?? -Infinity) : nowMs,
    );
    return exclusions.excuses("previous release", Math.max(...last));
  }

  #createCore(name: string): Core {
    const { plan, kernel, ledger, webhooks, generators, aggregators, checkers, lost, calm, totals } = this;
    const world: CoreWorld = {
      plan,
      kernel,
      ledger,
      webhooks,
      generators,
      aggregators,
      checkers,
      lost,
      calm,
      isExact: this.isExact,
      isByPreviousRelease: () => this.#isByPreviousRelease(),
      onBreach: (breach) => void totals.breaches.push(breach),
      onRestoreBreach: (breach) => void totals.restoreBreaches.push(breach),
      beforeChecks: () => {
        // Those of a generator have no limits while it works, and are a lot to read.
        for (const process of [...this.aggregators, ...this.webhooks]) this.#checkBounds(process);
      },
      afterChecks: () => this.refusals.changed(),
    };
    return new Core(name, world, this.#createCluster(nodeOfCore(name), undefined));
  }

  #createCluster(nodeName: string, cell: string | undefined): { node: SimNode; server: SimApiServer } {
    const node = new SimNode(this.kernel, nodeName, this.#drawClock(nodeName));
    const conditions = new ServerConditions((name) => this.count(name));
    conditions.offersWatchList = this.plan.offersWatchList;
    conditions.servesProtobuf = this.plan.servesProtobuf;
    if (this.plan.forbidsHeartbeats) conditions.lasting.push(cell === undefined ? forbiddenInCore : forbiddenInWorker);
    const callWebhook =
      cell === undefined
        ? () => Promise.reject(new Error("the core has no webhook"))
        : createReviewRoute({
            cell,
            network: this.network,
            apiServer: node,
            replicas: this.webhooks,
            rng: this.kernel.rng(`${nodeName} reviews`),
            observer: this.reviews,
            weather: this.reviewWeather,
          });
    const policies = this.plan.faults.has(cell === undefined ? "core-policies" : "forbidden-fences")
      ? [policyOf(cell === undefined ? ["podprotectors", "podprotectors/status", "deployments"] : ["pods/status"])]
      : [];
    const webhookConfigurations = [...(cell === undefined ? [] : this.#configurationsOf(cell)), ...policies];
    const server = new SimApiServer({
      node,
      network: this.network,
      conditions,
      callWebhook: (webhook, review, timeoutMs) =>
        webhook["name"] === policyName
          ? this.#judgeByPolicy(review, cell === undefined ? this.corePolicyCode : this.fencePolicyCode)
          : callWebhook(webhook, review, timeoutMs),
      webhookConfigurations,
      stampAnnotation: this.options.algorithm === "annotation" ? stampAnnotation : undefined,
      unfenced: sideNamespace,
    });
    return { node, server };
  }

  #configurationsOf(cell: string): JsonObject[] {
    const { cellsBy, faults } = this.plan;
    const path = cellsBy === "label" ? "by-label" : cell;
    return [webhookConfiguration(path), ...(faults.has("lost-nodes") ? [collectionConfiguration(path)] : [])];
  }

  /** A policy says no to what concerns bystanders for a while. */
  async #judgeByPolicy(review: JsonObject, code: number | undefined): Promise<unknown> {
    const { uid, namespace: of } = asObject(review["request"]);
    const allowed = of === namespace || code === undefined;
    return { ...review, response: { uid, allowed, status: { code: code ?? 403, message: "this is not wanted here" } } };
  }

  /** Where a process runs, and whom it can reach. */
  #machine(name: string): ReturnType<FleetOptions["machine"]> {
    const { kernel, network, cores, cells } = this;
    const ofCores = cores.map(({ name: core, server }) => [urlOfCore(core), server] as const);
    const workers = cells.map((cell) => [`http://worker-${cell.name}`, cell.server] as const);
    return {
      clock: { ...this.#drawClock(name), givenShare: this.plan.hourMs / 3_600_000 },
      kernel,
      network,
      servers: new Map<string, WireServer>([...ofCores, ...workers]),
    };
  }

  #drawClock(name: string): ClockSettings {
    const severity = this.plan.severity("clocks");
    if (severity === 0) return { offsetMs: 0, rate: 1 };
    const rng = this.kernel.rng(`clock of ${name}`);
    return { offsetMs: (rng.next() - 0.5) * 60_000 * severity, rate: 1 + (rng.next() - 0.5) * 0.002 };
  }
}
