/**
 * A core of a world, and what watches over its PodProtectors. Those of one name in two cores are two budgets
 * (docs/cores.md), so each core has checkers of its own.
 */
import { assert } from "../../src/util/assert.ts";
import { annotations } from "../../src/api/v1alpha1/names.ts";
import { readProtector } from "../../src/kube/resources.ts";
import { type Rng } from "../../src/util/rng.ts";
import { asObject, type KubeObject } from "../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../double/engine/resources.ts";
import { type Change } from "../double/engine/store.ts";
import { AccountingChecker, type AccountingOptions } from "./checkers/accounting/accounting.ts";
import { type Ledger } from "./checkers/accounting/ledger.ts";
import { LentChecker } from "./checkers/reviews/lent.ts";
import { LostProtectors } from "./checkers/lost-protectors.ts";
import { MassChangeChecker } from "./checkers/mass-changes.ts";
import { crdsOfSources, kindsOfSources } from "./checkers/sources/kinds.ts";
import { SourceChecker } from "./checkers/sources/source-checker.ts";
import { Shadows } from "./checkers/reviews/shadows.ts";
import { ReleaseListChecker } from "./checkers/releases.ts";
import { Told } from "./checkers/reviews/told.ts";
import { watchSilence } from "./checkers/silence.ts";
import { type SimApiServer } from "./clusters/api-server.ts";
import { type Unwritten } from "./clusters/conditions.ts";
import { firstCore } from "./clusters/core-names.ts";
import { latchedCauses } from "./clusters/latches.ts";
import { namespace, sideNamespace } from "./clusters/namespaces.ts";
import { type Kernel } from "./kernel/kernel.ts";
import { type SimNode } from "./kernel/node.ts";
import { type Plan } from "./plan.ts";
import { type SimProcess } from "./processes/process.ts";
import { historyLimitsOf } from "./processes/small-limits.ts";

/** Of webhooks and aggregators. */
export const settleWindowMs = 75_000;

/** What a core sees of its world. */
export interface CoreWorld {
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  readonly webhooks: readonly SimProcess[];
  readonly generators: readonly SimProcess[];
  readonly aggregators: readonly SimProcess[];
  /** Of all cores: the names of others than the first begin with that of the core. */
  readonly checkers: Map<string, AccountingChecker>;
  /** Only the default algorithm promises anything. */
  readonly isExact: boolean;
  /** Cells that will never come back; and when the cores went that never will. */
  readonly lost: { readonly cells: ReadonlySet<string>; readonly cores: ReadonlyMap<string, number> };
  /** Since when nothing has gone wrong. */
  readonly calm: { readonly sinceMs: number | undefined };
  /** Whether a webhook of the previous release may have written it, which had fewer rules. */
  isByPreviousRelease(): boolean;
  readonly onBreach: AccountingOptions["onBreach"];
  readonly onRestoreBreach: AccountingOptions["onRestoreBreach"];
  /** A PodProtector is another one than before; called before and after its checkers have looked at it. */
  beforeChecks(): void;
  afterChecks(): void;
}

export class Core {
  readonly name: string;
  readonly node: SimNode;
  readonly server: SimApiServer;
  /** By name: of the PodProtectors in the checked namespace. */
  readonly checkers = new Map<string, AccountingChecker>();
  readonly sources: SourceChecker;
  readonly lostProtectors: LostProtectors | undefined;
  readonly massChanges: MassChangeChecker;
  /** What webhooks do while it is away: they admit on the last known quota, or nothing. */
  readonly isLent: boolean;
  readonly told: Told;
  readonly shadows: Shadows;
  readonly #releases: ReleaseListChecker;
  /** It takes no writes of some kind. */
  isFull = false;
  #takesNoStatus = false;
  #fills = 0;
  readonly #world: CoreWorld;
  readonly #seen = new Set<string>();
  /** Those that are gone, and were not marked as released: webhooks may keep them in force. */
  readonly #missing = new Set<string>();
  #protectors: ResourceType | undefined;

  /** Of the workload's PodProtector here. */
  get minAvailable(): number {
    const { minAvailable, otherMinAvailable } = this.#world.plan;
    return this.name === firstCore ? minAvailable : otherMinAvailable;
  }

  constructor(name: string, world: CoreWorld, cluster: { readonly node: SimNode; readonly server: SimApiServer }) {
    const { plan, kernel, ledger, webhooks, calm } = world;
    this.name = name;
    this.#world = world;
    this.node = cluster.node;
    this.server = cluster.server;
    this.isLent = name === firstCore ? plan.faults.has("last-known-quota") : plan.otherCore === "last-known";
    this.told = new Told({
      ledger,
      deliveries: this.server.deliveries,
      readers: () => [...world.aggregators, ...webhooks],
      lostAtMs: () => world.lost.cores.get(name),
    });
    this.shadows = new Shadows(kernel, this.told);
    const knew = this.told.knew.bind(this.told);
    // The release before this one forgets what is lost, and the last known quota is lent without a look at the core.
    const keepsLost = world.isExact && plan.upgrade === "none" && !this.isLent;
    this.lostProtectors = keepsLost ? new LostProtectors({ kernel, webhooks, graceMs: plan.hourMs, knew }) : undefined;
    this.massChanges = new MassChangeChecker(kernel);
    this.#releases = new ReleaseListChecker(kernel);
    this.sources = new SourceChecker({
      kernel,
      rules: plan.upgrade === "none" ? plan : undefined,
      // Of a core that is away for ever nothing is demanded.
      calmSinceMs: () => (this.massChanges.isUnderWay || world.lost.cores.has(name) ? undefined : calm.sinceMs),
      find: (of, protector) => this.server.engine.find(this.protectors, of, protector),
      latched: () => latchedCauses(this.server.engine),
      mayMissReleases: () => this.lostProtectors?.hasDropped !== false,
    });
  }

  /** Serves, and checks what is committed from now on. */
  async start(): Promise<void> {
    const { engine } = this.server;
    const { plan } = this.#world;
    await this.server.bootstrap();
    if (plan.hasMoreSources) for (const crd of crdsOfSources) await engine.installCrd(crd);
    for (const { type } of kindsOfSources(plan))
      engine.onChange(type, (change) => {
        if (change.object.metadata.namespace !== sideNamespace) this.sources.source(change);
      });
    engine.onChange(this.protectors, (change) => this.#committed(change));
    engine.onChange(builtInResources.namespaces, (change) => this.sources.namespace(change));
    engine.onChange(builtInResources.configMaps, (change) => {
      this.lostProtectors?.configMap(change);
      // The release before this one forgets by the clock, and a backup has another list.
      if (plan.upgrade === "none" && !plan.faults.has("restores")) this.#releases.configMap(change);
    });
  }

  /** The type of its PodProtectors, also while it serves none. */
  get protectors(): ResourceType {
    this.#protectors ??= this.server.engine.registry.all().find(({ resource }) => resource === "podprotectors");
    assert(this.#protectors !== undefined, "a core serves PodProtectors");
    return this.#protectors;
  }

  /** Checkers of the PodProtectors that are there. */
  get present(): readonly AccountingChecker[] {
    return [...this.checkers.values()].filter(({ object }) => object !== undefined);
  }

  /** PodProtectors that there have ever been. */
  get protectorsSeen(): number {
    return this.#seen.size;
  }

  /** PodProtectors that are gone and may stay in force. */
  get protectorsMissing(): number {
    return this.#missing.size;
  }

  /** Random numbers of this core's own. */
  rng(purpose: string): Rng {
    return this.#world.kernel.rng(this.name === firstCore ? purpose : `${purpose} of ${this.name}`);
  }

  /** It takes no such writes from now on, until what is returned is called. Nobody falls silent by that. */
  fill(what: Unwritten, stalls: boolean): () => void {
    const { webhooks, generators, plan, kernel } = this.#world;
    const relent = this.server.conditions.refuseWrites(what, stalls);
    const hidesBeats = what === "everything" || what === "leases";
    const look = hidesBeats ? watchSilence(kernel, this.name, [...webhooks, ...generators], plan) : undefined;
    this.isFull = true;
    this.#takesNoStatus = what === "everything" || what === "podprotectors";
    this.#fills += 1;
    return () => {
      relent();
      look?.();
      this.isFull = false;
      this.#takesNoStatus = false;
    };
  }

  /** Its etcd came back from a backup. */
  restored(): void {
    for (const [name, checker] of this.checkers) {
      const object = this.server.engine.find(this.protectors, namespace, name);
      checker.restored(object === undefined ? undefined : protectorOf(object));
    }
  }

  #committed(change: Change): void {
    const { type, object } = change;
    const { metadata } = object;
    const key = `${metadata.namespace}/${metadata.name}`;
    this.#seen.add(key);
    const isReleased = metadata.annotations?.[annotations.released] !== undefined;
    this.#releases.protector(change);
    if (type === "DELETED" && !isReleased) this.#missing.add(key);
    else this.#missing.delete(key);
    this.#world.beforeChecks();
    this.massChanges.protector(change);
    // Bystanders are not checked: their objects are out of order on purpose.
    if (metadata.namespace !== sideNamespace) this.sources.protector(change);
    if (metadata.namespace !== namespace) return;
    this.lostProtectors?.protector(change);
    this.shadows.protector(change);
    const present = type === "DELETED" ? undefined : protectorOf(object);
    this.#checkerOf(metadata.name).committed(present, isReleased);
    this.#world.afterChecks();
    this.#world.kernel.note(
      `${this.name} protector ${metadata.name} ${type} ${metadata.resourceVersion} ${summaryOf(object)}`,
    );
  }

  #checkerOf(name: string): AccountingChecker {
    let checker = this.checkers.get(name);
    if (checker === undefined) {
      checker = this.#createChecker(name);
      this.checkers.set(name, checker);
      this.#world.checkers.set(checker.name, checker);
    }
    return checker;
  }

  #createChecker(name: string): AccountingChecker {
    const { plan, kernel, ledger, isExact, lost, onBreach, onRestoreBreach } = this.#world;
    return new AccountingChecker(this.name === firstCore ? name : `${this.name}/${name}`, {
      kernel,
      ledger,
      isExact,
      lent: this.#lentFrom(name),
      settleWindowMs,
      hasUpdateTrigger: plan.updateTrigger,
      maxConcurrentLag: plan.maxConcurrentLag,
      lostCells: lost.cells,
      historyLimits: historyLimitsOf(plan),
      hasFewFences: plan.hasSmallLimits,
      isByPreviousRelease: () => this.#world.isByPreviousRelease(),
      isOfOneRelease: this.#world.plan.upgrade === "none",
      told: this.told,
      lostSpec: (replica, arrivedMs) => this.lostProtectors?.inMemoryOf(replica, name, arrivedMs),
      criterion: plan.criterion,
      // Somebody who changes flags goes up to 20 (chaos.ts).
      compactThreshold: Math.max(plan.compactThreshold, plan.faults.has("settings") ? 20 : 0),
      onBreach,
      onRestoreBreach,
    });
  }

  /** How often it has gone, while it is away. */
  get #outage(): number | undefined {
    const isAway = this.#takesNoStatus || this.server.node() === undefined || this.#world.lost.cores.has(this.name);
    return isAway ? this.server.stops + this.#fills : undefined;
  }

  /** What is admitted from the PodProtector without a write, where webhooks may do that. */
  #lentFrom(name: string): LentChecker | undefined {
    if (!this.isLent) return undefined;
    const { kernel, webhooks, plan } = this.#world;
    return new LentChecker({
      name,
      kernel,
      criterion: plan.criterion,
      outage: () => this.#outage,
      isCommon: (revision) =>
        webhooks.every(
          (webhook) =>
            webhook.node() === undefined || this.told.knew(webhook.name, { revision, sinceMs: 0 }, kernel.nowMs),
        ),
    });
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
