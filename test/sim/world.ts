/**
 * One world: a core, worker cells, the product's processes, and the checkers that watch over them. Built from a plan;
 * run.ts runs it.
 */
import { assert } from "../../src/util/assert.ts";
import { annotations } from "../../src/api/v1alpha1/names.ts";
import { readProtector } from "../../src/kube/resources.ts";
import { type JsonObject, asObject, type KubeObject } from "../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../double/engine/resources.ts";
import { AccountingChecker, type Breach } from "./checkers/accounting.ts";
import { checkBounds, leftovers } from "./checkers/bounds.ts";
import { Calm } from "./checkers/calm.ts";
import { Ledger } from "./checkers/ledger.ts";
import { LentChecker } from "./checkers/lent.ts";
import { RefusalChecker } from "./checkers/refusals.ts";
import { LostProtectors } from "./checkers/lost-protectors.ts";
import { MassChangeChecker } from "./checkers/mass-changes.ts";
import { ReviewChecker } from "./checkers/reviews.ts";
import { latchedCauses } from "./clusters/latches.ts";
import { kindsOfSources } from "./checkers/sources/kinds.ts";
import { SourceChecker } from "./checkers/sources/source-checker.ts";
import { SimApiServer } from "./clusters/api-server.ts";
import { ServerConditions } from "./clusters/conditions.ts";
import { forbiddenInCore, forbiddenInWorker } from "./clusters/rights.ts";
import { type Edit } from "./clusters/deliveries.ts";
import { policyName, policyOf, webhookConfiguration } from "./clusters/webhook-configurations.ts";
import { Kernel } from "./kernel/kernel.ts";
import { type ClockSettings, SimNode } from "./kernel/node.ts";
import { type WireServer } from "./network/dispatcher.ts";
import { Network } from "./network/network.ts";
import { createReviewRoute, type ReviewWeather } from "./network/reviews.ts";
import { type FaultClass, type Plan } from "./plan.ts";
import { createFleet, type FleetOptions, stampAnnotation } from "./processes/fleet.ts";
import { type SimProcess } from "./processes/process.ts";
import { historyLimitsOf } from "./processes/small-limits.ts";
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

export const namespace = "default";
export const settleWindowMs = 75_000;
/** Where Deployments without pods are, which are checked too. */
export const sourceNamespace = "sources";
/** Where a tool changes all Deployments at once. */
export const massNamespace = "mass";
/** Where people work whose objects are out of order, and whom no checker watches over. */
export const sideNamespace = "side";
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
  /** Since when nobody reaches the core. */
  coreAtMs?: number;
}

export class World {
  readonly options: WorldOptions;
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly network: Network;
  readonly ledger: Ledger;
  readonly core: { readonly node: SimNode; readonly server: SimApiServer };
  readonly cells: readonly Cell[];
  readonly webhooks: SimProcess[] = [];
  readonly aggregators: SimProcess[] = [];
  readonly generators: SimProcess[] = [];
  readonly checkers = new Map<string, AccountingChecker>();
  /** Of what nothing is demanded any more, because of what never comes back. */
  readonly lost: Lost = { cells: new Set(), processes: new Set() };
  /** What the processes are to run in the end, where the plan has an upgrade. */
  readonly nextRelease: Release | undefined;
  /** When each was told to run it. */
  readonly upgradedAtMs = new Map<SimProcess, number>();
  readonly calm: Calm;
  readonly refusals: RefusalChecker;
  readonly reviews: ReviewChecker;
  readonly sources: SourceChecker;
  readonly lostProtectors: LostProtectors | undefined;
  readonly massChanges: MassChangeChecker;
  readonly totals: WorldTotals = {
    deletions: 0,
    admitted: 0,
    refused: 0,
    breaches: [],
    restoreBreaches: [],
    faults: new Map(),
  };
  readonly #protectorsSeen = new Set<string>();
  #protectors: ResourceType | undefined;
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
      isCalm: () => this.calm.is && this.#isExact,
    });
    // The release before this one forgets what is lost, and the last known quota is lent without a look at the core.
    const { kernel, webhooks, plan } = this;
    const knew = this.knew.bind(this);
    const keepsLost = this.#isExact && plan.upgrade === "none" && !plan.faults.has("last-known-quota");
    this.lostProtectors = keepsLost ? new LostProtectors({ kernel, webhooks, knew }) : undefined;
    this.reviews = new ReviewChecker(this);
    this.massChanges = new MassChangeChecker(this.kernel);
    this.sources = new SourceChecker({
      kernel: this.kernel,
      rules: this.plan.upgrade === "none" ? this.plan : undefined,
      calmSinceMs: () => (this.massChanges.isUnderWay ? undefined : this.calm.sinceMs),
      find: (of, name) => this.core.server.engine.find(this.protectors, of, name),
      latched: () => latchedCauses(this.core.server.engine),
    });
    this.core = this.#createCluster("core", undefined);
    this.cells = this.plan.cells.map((name) => ({ name, ...this.#createCluster(`worker-${name}`, name) }));
    const fleet = createFleet({
      plan: this.plan,
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
    await this.core.server.bootstrap();
    for (const { name, server } of this.cells) {
      await server.bootstrap();
      this.ledger.follow(name, server);
      server.engine.onChange(builtInResources.pods, () => this.refusals.changed());
    }
    for (const { type } of kindsOfSources)
      this.core.server.engine.onChange(type, (change) => {
        if (change.object.metadata.namespace !== sideNamespace) this.sources.source(change);
      });
    this.core.server.engine.onChange(this.protectors, (change) => {
      const { type, object } = change;
      this.#protectorsSeen.add(`${object.metadata.namespace}/${object.metadata.name}`);
      for (const process of this.processes()) this.#checkBounds(process);
      this.massChanges.protector(change);
      // Bystanders are not checked: their objects are out of order on purpose.
      if (object.metadata.namespace !== sideNamespace) this.sources.protector(change);
      if (object.metadata.namespace !== namespace) return;
      this.lostProtectors?.protector(change);
      const isReleased = object.metadata.annotations?.[annotations.released] !== undefined;
      const present = type === "DELETED" ? undefined : protectorOf(object);
      this.#checkerOf(object.metadata.name).committed(present, isReleased);
      this.refusals.changed();
      this.kernel.note(
        `core protector ${object.metadata.name} ${type} ${object.metadata.resourceVersion} ${summaryOf(object)}`,
      );
    });
    this.core.server.engine.onChange(builtInResources.configMaps, (change) => this.lostProtectors?.configMap(change));
    for (const process of this.processes()) await process.start();
  }

  /** The type of PodProtectors in the core, also while it serves none. */
  get protectors(): ResourceType {
    this.#protectors ??= this.core.server.engine.registry.all().find(({ resource }) => resource === "podprotectors");
    assert(this.#protectors !== undefined, "the core serves PodProtectors");
    return this.#protectors;
  }

  processes(): readonly SimProcess[] {
    return [...this.generators, ...this.aggregators, ...this.webhooks];
  }

  /** A fault or an act of somebody, for the totals. */
  count(what: string): void {
    this.calm.struck(what);
    this.totals.faults.set(what, (this.totals.faults.get(what) ?? 0) + 1);
  }

  knew(replica: string, edit: Edit, atMs: number): boolean {
    return this.core.server.deliveries.knew(replica, edit, atMs);
  }

  #checkBounds(process: SimProcess): void {
    const node = process.node();
    if (node === undefined) return;
    checkBounds(this.kernel, process, {
      protectors: this.#protectorsSeen.size,
      pods: this.ledger.podsSeen,
      reviews: this.plan.faults.has("odd-reviews") ? undefined : this.reviews.openAt(node),
    });
  }

  /** What processes have not let go of although everything is settled. */
  leftovers(): readonly string[] {
    const present = this.processes().filter((process) => !this.lost.processes.has(process));
    return leftovers(present, !sideClasses.some((name) => this.plan.faults.has(name)));
  }

  cell(name: string): Cell {
    const cell = this.cells.find((one) => one.name === name);
    assert(cell !== undefined, `no cell is called ${name}`);
    return cell;
  }

  /** The core came back from a backup. */
  coreRestored(): void {
    for (const [name, checker] of this.checkers) {
      const object = this.core.server.engine.find(this.protectors, namespace, name);
      checker.restored(object === undefined ? undefined : protectorOf(object));
    }
  }

  /** What is admitted from the PodProtector without a write, where webhooks may do that. */
  #lentFrom(name: string): LentChecker | undefined {
    if (!this.plan.faults.has("last-known-quota")) return undefined;
    const { kernel, webhooks, core, plan } = this;
    return new LentChecker({
      name,
      kernel,
      criterion: plan.criterion,
      outage: () => (core.server.node() === undefined ? core.server.stops : undefined),
      isCommon: (revision) =>
        webhooks.every(
          (webhook) => webhook.node() === undefined || this.knew(webhook.name, { revision, sinceMs: 0 }, kernel.nowMs),
        ),
    });
  }

  get #isExact(): boolean {
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

  #checkerOf(name: string): AccountingChecker {
    let checker = this.checkers.get(name);
    if (checker === undefined) {
      checker = new AccountingChecker(name, {
        kernel: this.kernel,
        ledger: this.ledger,
        isExact: this.#isExact,
        lent: this.#lentFrom(name),
        settleWindowMs,
        hasUpdateTrigger: this.plan.updateTrigger,
        maxConcurrentLag: this.plan.maxConcurrentLag,
        lostCells: this.lost.cells,
        historyLimits: historyLimitsOf(this.plan),
        hasFewFences: this.plan.hasSmallLimits,
        isByPreviousRelease: () => this.#isByPreviousRelease(),
        isTold: (edit, atMs) =>
          [...this.aggregators, ...this.webhooks].every(
            (process) => process.node() === undefined || this.knew(process.name, edit, atMs),
          ),
        criterion: this.plan.criterion,
        // Somebody who changes flags goes up to 20 (chaos.ts).
        compactThreshold: Math.max(this.plan.compactThreshold, this.plan.faults.has("settings") ? 20 : 0),
        onBreach: (breach) => void this.totals.breaches.push(breach),
        onRestoreBreach: (breach) => void this.totals.restoreBreaches.push(breach),
      });
      this.checkers.set(name, checker);
    }
    return checker;
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
    const webhookConfigurations = [...(cell === undefined ? [] : [webhookConfiguration(cell)]), ...policies];
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

  /** A policy says no to what concerns bystanders for a while. */
  async #judgeByPolicy(review: JsonObject, code: number | undefined): Promise<unknown> {
    const { uid, namespace: of } = asObject(review["request"]);
    const allowed = of === namespace || code === undefined;
    return { ...review, response: { uid, allowed, status: { code: code ?? 403, message: "this is not wanted here" } } };
  }

  /** Where a process runs, and whom it can reach. */
  #machine(name: string): ReturnType<FleetOptions["machine"]> {
    const { kernel, network, core, cells } = this;
    const workers = cells.map((cell) => [`http://worker-${cell.name}`, cell.server] as const);
    return {
      clock: this.#drawClock(name),
      kernel,
      network,
      servers: new Map<string, WireServer>([["http://core", core.server], ...workers]),
    };
  }

  #drawClock(name: string): ClockSettings {
    const severity = this.plan.severity("clocks");
    if (severity === 0) return { offsetMs: 0, rate: 1 };
    const rng = this.kernel.rng(`clock of ${name}`);
    return { offsetMs: (rng.next() - 0.5) * 60_000 * severity, rate: 1 + (rng.next() - 0.5) * 0.002 };
  }
}

export function protectorOf(object: KubeObject): NonNullable<AccountingChecker["object"]> {
  const read = readProtector(object);
  assert(read.ok, "PodProtectors of a world can be read");
  return read.stored.protector;
}

function summaryOf(object: KubeObject): string {
  const summary = asObject(object.status?.["summary"]);
  return `${String(summary["aggregatedAvailableReplicas"])}/${String(summary["estimatedAvailableReplicas"])}`;
}
