/**
 * While no generator leads, nobody takes its finalizer off a workload that somebody deletes, and the deletion hangs
 * without a word. Webhooks are there, so they say it: an Event on each such workload, a metric, and a line of the log
 * at the beginning and the end (docs/generator.md#when-none-leads). Best effort: nothing is decided by it.
 */
import { type CellLeases } from "../kube/cell-leases/index.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer } from "../kube/informer.ts";
import { isKubeError, type KubeClient, resourceText } from "../kube/kube-client.ts";
import {
  finalizerCommand,
  type GuardedKind,
  guardedKinds,
  listWaiting,
  type WaitingWorkload,
} from "../sources/waiting-deletions.ts";
import { type Clock, type MonotonicMs, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Gauge, type Metrics } from "../util/metrics.ts";
import { type WatchedProtector } from "./protector/protector-view.ts";

export interface GeneratorAbsenceOptions {
  readonly core: {
    readonly name: string;
    readonly client: KubeClient;
    /** Of PodProtectors, and so of workloads; undefined = all. */
    readonly namespace: string | undefined;
  };
  readonly cells: Pick<CellLeases, "generatorAwayForMs">;
  readonly informer: Pick<Informer<WatchedProtector>, "values">;
  /** Where the generator runs. */
  readonly systemNamespace: string;
  /** Shared by all replicas. */
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between two looks for workloads while none leads: each is a LIST of their metadata. */
const lookMs = 60_000;
/** As often as the Leases are listed. */
const askMs = 15_000;
/** API servers forget an Event after an hour. */
const retellMs = 1_800_000;
/** Told by one look; the next has the next ones. More tell a person no more. */
const toldMax = 25;

export class GeneratorAbsence {
  readonly #options: GeneratorAbsenceOptions;
  readonly #waiting: Gauge;
  #lookedAt: MonotonicMs | undefined;
  /** By UID: of those that wait, when it was told. */
  #told = new Map<string, MonotonicMs>();
  /** Resources that this account may not list: one line for each is enough. */
  readonly #forbidden = new Set<string>();
  #isAway = false;

  constructor(options: GeneratorAbsenceOptions) {
    this.#options = options;
    this.#waiting = options.metrics.gauge(
      "webhook_waiting_deletions",
      "Workloads that are being deleted and wait for a generator, as none leads",
      ["core"],
    );
    this.#waiting.set({ core: options.core.name }, 0);
  }

  /** Looks again and again until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ask(signal);
      await sleep(this.#options.clock, askMs, signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { cells, clock, logger } = this.#options;
    const core = this.#options.core.name;
    const awayForMs = cells.generatorAwayForMs();
    if (awayForMs === undefined) {
      if (this.#isAway) logger.info("A generator leads again", { core });
      this.#isAway = false;
      this.#lookedAt = undefined;
      this.#saw([]);
      return;
    }
    if (!this.#isAway) {
      const unheardSeconds = Math.round(awayForMs / 1000);
      logger.warn("No generator leads: workloads that are deleted stay until one does, and floors follow nothing", {
        core,
        unheardSeconds,
      });
    }
    this.#isAway = true;
    if (this.#lookedAt !== undefined && clock.monotonicMs() - this.#lookedAt < lookMs) return;
    this.#lookedAt = clock.monotonicMs();
    this.#tell(await this.#look(signal));
  }

  async #look(signal: AbortSignal): Promise<readonly WaitingWorkload[]> {
    const found: WaitingWorkload[] = [];
    for (const kind of guardedKinds(this.#protectors())) found.push(...(await this.#list(kind, signal)));
    return found;
  }

  *#protectors() {
    for (const { content } of this.#options.informer.values()) if (content.ok) yield content.stored.protector.metadata;
  }

  async #list(kind: GuardedKind, signal: AbortSignal): Promise<readonly WaitingWorkload[]> {
    const {
      core: { name: core, client, namespace },
      logger,
    } = this.#options;
    const resource = resourceText(kind.resource);
    try {
      return await listWaiting(client, kind, namespace, signal);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (error.kind !== "forbidden") logger.verbose(2, "Cannot list workloads", { core, resource, err: error });
      else if (!this.#forbidden.has(resource)) {
        this.#forbidden.add(resource);
        logger.warn("Not allowed to list workloads, so nobody is told which ones wait for the generator", {
          core,
          resource,
        });
      }
      return [];
    }
  }

  /** Those that were not told yet come first. */
  #tell(waiting: readonly WaitingWorkload[]): void {
    const { clock, events } = this.#options;
    this.#saw(waiting);
    const now = clock.monotonicMs();
    const untold = waiting.filter(({ uid }) => now - (this.#told.get(uid) ?? Number.NEGATIVE_INFINITY) >= retellMs);
    for (const workload of untold.slice(0, toldMax)) {
      const { apiVersion, kind, namespace, name, uid } = workload;
      this.#told.set(uid, now);
      events.record({ apiVersion, kind, namespace, name, uid }, "Warning", "WaitsForGenerator", this.#text(workload));
    }
  }

  #saw(waiting: readonly WaitingWorkload[]): void {
    this.#waiting.set({ core: this.#options.core.name }, waiting.length);
    const uids = new Set(waiting.map(({ uid }) => uid));
    this.#told = new Map([...this.#told].filter(([uid]) => uids.has(uid)));
  }

  #text(workload: WaitingWorkload): string {
    return (
      "It is being deleted, and stays until a generator of Podseidon has released its floor; none leads. Start one: " +
      `kubectl -n ${this.#options.systemNamespace} scale deployment podseidon-generator --replicas=2. Only if none ` +
      `is to come back, take its finalizer off, and then let the floor go with podseidon release: ` +
      finalizerCommand(workload)
    );
  }
}
