/**
 * Fills the state of the dashboard from one core: PodProtectors and Events by list and watch, the Leases of the cells
 * and the generator's ConfigMap by asking again and again. Each goes on by itself: what may not be read, or cannot be
 * for now, is a problem on the page, and the rest is shown.
 */
import { type Informer, type InformerHandler, type Stored } from "../../kube/informer.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { configMaps, generatorStateName } from "../../kube/generator-state.ts";
import { leases, podProtectors } from "../../kube/resources.ts";
import { createInformer } from "../../kube/watch/index.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { silentLogger } from "../../util/logger.ts";
import { silentMetrics } from "../../util/metrics.ts";
import { printable } from "../../util/printable.ts";
import { type Rng } from "../../util/rng.ts";
import { type Access, missingRight, reading } from "../clusters/reading.ts";
import { type FleetCells, listCells, unwrittenText } from "../fleet/cells.ts";
import { readHeldChanges } from "../fleet/held-changes.ts";
import { events } from "../fleet/refusals.ts";
import { cellCard } from "./model/fleet.ts";
import { type DashboardState } from "./model/dashboard-state.ts";
import { decodeWatched, type WatchedProtector } from "./model/protector-row.ts";
import { decodeEvent, eventComponents, type WatchedEvent } from "./model/timeline.ts";

export interface WatchSettings {
  /** Undefined = all namespaces. */
  readonly namespace: string | undefined;
  /** As --cell-lease-namespace of the roles. */
  readonly leaseNamespace: string;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** Cells beat every 10 s, and held changes stay for minutes: two small requests in this time. */
const pollMs = 5_000;
/** A watch that fails, or has recovered, says so on the page within this time. */
const failurePollMs = 2_000;

/** What one informer watches. */
interface Watched<T extends Stored> {
  /** For people. */
  readonly what: string;
  readonly resource: Resource;
  readonly decode: (raw: unknown) => T | undefined;
  readonly onEvent: InformerHandler<T>["onEvent"];
  readonly fieldSelector?: string;
}

export class CoreWatches {
  readonly #core: string;
  readonly #client: KubeClient;
  readonly #state: DashboardState;
  readonly #settings: WatchSettings;
  #cells: FleetCells | undefined;
  /** What rows depend on, of `#cells`. */
  #silence = "";

  constructor(core: string, client: KubeClient, state: DashboardState, settings: WatchSettings) {
    this.#core = core;
    this.#client = client;
    this.#state = state;
    this.#settings = settings;
  }

  /** Watches until the signal aborts. Rejects only for programmer errors. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#watch(this.#protectors(), signal),
      ...eventComponents.map((component) => this.#watch(this.#events(component), signal)),
      this.#poll(() => this.#lookAtCells(signal), signal),
      this.#poll(() => this.#lookAtHeldChanges(signal), signal),
    ]);
  }

  #protectors(): Watched<WatchedProtector> {
    return {
      what: "PodProtectors",
      resource: podProtectors,
      decode: decodeWatched,
      onEvent: ({ type, object }) => {
        if (type === "deleted") this.#state.fleet.delete(this.#core, object.key);
        else this.#state.fleet.set(this.#core, object, this.#cells);
        this.#state.changed();
      },
    };
  }

  #events(component: string): Watched<WatchedEvent> {
    const { timeline, fleet } = this.#state;
    return {
      what: `Events of ${component}`,
      resource: events,
      decode: decodeEvent,
      fieldSelector: `source=${component}`,
      onEvent: ({ type, object }) => {
        const refused = type === "deleted" ? timeline.delete(this.#core, object) : timeline.set(this.#core, object);
        if (refused !== undefined) fleet.refusalsChanged(refused);
        this.#state.changed();
      },
    };
  }

  async #watch<T extends Stored>({ what, onEvent, ...watched }: Watched<T>, signal: AbortSignal): Promise<void> {
    const { namespace, clock, rng } = this.#settings;
    const questions = { client: this.#client, clock, rng, logger: silentLogger, metrics: silentMetrics };
    const informer = createInformer<T>({ ...watched, ...questions, namespace, name: what });
    const seen = { isForbidden: false };
    this.#state.await(`${this.#core}/${what}`);
    informer.subscribe({
      onEvent,
      onListed: () => {
        seen.isForbidden = false;
        this.#state.arrived(`${this.#core}/${what}`);
      },
      onForbidden: () => void (seen.isForbidden = true),
    });
    const problem = (): string | undefined => this.#problemOf(what, watched.resource, informer, seen.isForbidden);
    await Promise.all([informer.run(signal), this.#showFailures(what, problem, signal)]);
  }

  #problemOf(
    what: string,
    resource: Resource,
    informer: Pick<Informer<Stored>, "lastError" | "hasSynced">,
    isForbidden: boolean,
  ): string | undefined {
    const error = informer.lastError();
    if (error === undefined) return undefined;
    if (isForbidden) return `${what} are not shown. ${missingRight(this.#access("watch", resource))}`;
    return `${what} ${informer.hasSynced() ? "may be old" : "are not shown"}. ${printable(error)}`;
  }

  async #showFailures(what: string, problem: () => string | undefined, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#settings.clock, failurePollMs, signal);
      const text = problem();
      this.#state.setProblem(this.#core, what, text);
      if (text !== undefined) this.#state.arrived(`${this.#core}/${what}`);
    }
  }

  #access(verb: Access["verb"], resource: Resource): Access {
    return { cluster: this.#core, verb, resource, namespace: this.#settings.namespace };
  }

  async #poll(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await look();
      await sleep(this.#settings.clock, pollMs, signal);
    }
  }

  async #lookAtCells(signal: AbortSignal): Promise<void> {
    const { leaseNamespace: namespace, clock } = this.#settings;
    const access = { ...this.#access("list", leases), namespace };
    const read = await reading(access, () => listCells(this.#client, namespace, () => clock.epochMicros(), signal));
    if (signal.aborted) return;
    if (!read.ok) return this.#state.setProblem(this.#core, "cells", `Cells are not shown, or old. ${read.problem}`);
    const nobody = unwrittenText(read.value);
    const problem = nobody === undefined ? this.#strangeAbsence(read.value) : `${this.#core}: ${nobody}.`;
    this.#state.setProblem(this.#core, "cells", problem);
    this.#cells = read.value;
    const cells = [...read.value.cells.values()];
    this.#state.setCards(
      this.#core,
      cells.map((cell) => cellCard(this.#core, cell)),
    );
    const silence = JSON.stringify(
      cells.map(({ cellID, lease, glance }) => [cellID, glance.silentForMs === undefined, glance.isKept, lease.behind]),
    );
    if (silence === this.#silence) return;
    this.#silence = silence;
    this.#state.fleet.cellsChanged(this.#core, this.#cells);
    this.#state.changed();
  }

  /** Cells count, and none has a Lease: whoever looks has named another namespace, as a rule. */
  #strangeAbsence({ cells, observer }: FleetCells): string | undefined {
    const isCounted = Array.from(this.#state.fleet.sums().cells.keys()).some((key) =>
      key.startsWith(`${this.#core}\n`),
    );
    if (cells.size > 0 || observer !== undefined || !isCounted) return undefined;
    const { leaseNamespace } = this.#settings;
    return (
      `${this.#core}: no cell has a Lease in namespace ${leaseNamespace}. ` +
      "Where Podseidon is in another namespace, say --cell-lease-namespace."
    );
  }

  async #lookAtHeldChanges(signal: AbortSignal): Promise<void> {
    const { leaseNamespace: namespace, clock } = this.#settings;
    const access = { ...this.#access("get", configMaps), namespace, name: generatorStateName };
    const read = await reading(access, () =>
      readHeldChanges(this.#client, namespace, () => clock.epochMicros(), signal),
    );
    if (signal.aborted) return;
    const problem = read.ok ? undefined : `Held changes are not shown, or old. ${read.problem}`;
    this.#state.setProblem(this.#core, "held changes", problem);
    if (!read.ok) return;
    const held = read.value.held.map(({ cause, since }) => {
      return { core: this.#core, cause: printable(cause), sinceMs: since / 1000 };
    });
    this.#state.setHeld(this.#core, held);
  }
}
