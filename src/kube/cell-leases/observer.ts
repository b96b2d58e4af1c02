/**
 * Observes which cells of one core are silent: lists their Leases live, again and again. No watch, because a watch that
 * is late looks like cells that are silent.
 */
import { isCellID } from "../../api/cell-id.ts";
import {
  cellLeaseLabels,
  observerLeaseName,
  readCellLease,
  type CellLease,
  witnessLeaseName,
} from "../../api/cell-lease.ts";
import {
  type CellChange,
  CellSilence,
  type CellState,
  type ObservedCell,
} from "../../accounting/silence/cell-silence.ts";
import { Contact } from "../../accounting/silence/contact.ts";
import { silenceTimes, type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { Outage } from "../../util/outage.ts";
import { errorLabel, isKubeError, type KubeClient, type KubeError } from "../kube-client.ts";
import { leases as leaseResource } from "../resources.ts";
import { listAll } from "../watch/index.ts";
import { createCellMetrics, type CellMetrics } from "./cell-metrics.ts";
import { GeneratorBeat } from "./generator-beat.ts";
import { LeaseWitness } from "./lease-witness.ts";

export interface CellLeasesOptions {
  /** Name of the core, for texts and metrics. The logger has it already. */
  readonly core: string;
  readonly client: KubeClient;
  /** "webhook" or "generator", for metrics: each role of a process observes for itself. */
  readonly role: string;
  /** Of the Leases. */
  readonly leaseNamespace: string;
  readonly silentAfterMs: number;
  readonly silentPolicy: "zero" | "keep";
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** After each LIST that succeeded. Synchronous. */
  readonly onListed?: (cells: readonly ObservedCell[]) => void;
}

/**
 * A Lease whose list of objects is full has 60 kB, so a page of client-go's 500 could have 30 MB. One of 100 holds the
 * Leases of nearly all fleets at once.
 */
const pageSize = 100;
/** More than the cells that are told apart (accounting/silence/cell-silence.ts). */
const pagesMax = 20;

/** They are only counted; more than a fleet has clusters. */
const withoutLeaseMax = 1_000;

/** While it is not decided who is silent a replica waits for it, and after a failure a hole threatens. */
const hurriedSteps = 3;

/** Cells and values of their --silent-cell-after that are told: each change of a flag makes one. */
const toldTimesMax = 1_000;

const noCells: ReadonlySet<string> = new Set();

export class CellLeases {
  readonly #options: CellLeasesOptions;
  readonly #times: SilenceTimes;
  readonly #contact: Contact;
  readonly #witness: LeaseWitness;
  readonly #unwritten: Outage;
  readonly #isMaker: boolean;
  /** It cannot write the Lease of the witness: told once, and tried again only where it matters. */
  #lacksRight: "no" | "yes" | "told" = "no";
  readonly #silence: CellSilence;
  readonly #generator: GeneratorBeat;
  readonly #metrics: CellMetrics;
  /** Cells that the last LIST has shown; undefined when it failed. */
  #leased: ReadonlySet<string> | undefined;
  /** Cells of PodProtectors that have no Lease, as far as somebody has asked for them. */
  readonly #withoutLease = new Set<string>();
  /** Cells whose --silent-cell-after is another one, each with that. */
  readonly #toldTimes = new Set<string>();
  /** The last failure, and when the first one of its row was, while they last. */
  #failure: { readonly error: KubeError; readonly since: MonotonicMs; readonly isLogged: boolean } | undefined;

  constructor(options: CellLeasesOptions) {
    const { core, client, role, leaseNamespace: namespace, clock, silentAfterMs, silentPolicy } = options;
    this.#options = options;
    this.#times = silenceTimes(silentAfterMs);
    this.#contact = new Contact(this.#times, clock.monotonicMs());
    const timeoutMs = this.#times.observeMs;
    this.#isMaker = role === "generator";
    this.#witness = new LeaseWitness({ client, namespace, role, isMaker: this.#isMaker, timeoutMs, clock });
    this.#unwritten = new Outage(clock);
    this.#silence = new CellSilence(this.#times, silentPolicy, this.#contact, clock.monotonicMs());
    this.#generator = new GeneratorBeat(this.#contact);
    this.#metrics = createCellMetrics(options.metrics, { core, observer: role });
    options.metrics.onScrape(() => {
      this.#metrics.show(this.#silence.cells(), clock.monotonicMs());
      this.#metrics.withoutLease(this.#withoutLease.size);
    });
  }

  /** The state of a cell for the PodProtector with this UID, as of the last LIST. */
  stateOf(cellID: string, protectorUID: string): CellState {
    const state = this.#silence.stateOf(cellID, protectorUID);
    const lacksLease = state.kind === "keep" && state.reason === "no-lease";
    if (lacksLease && this.#withoutLease.size < withoutLeaseMax && isCellID(cellID)) this.#withoutLease.add(cellID);
    return state;
  }

  /** For how long no beat of the cell has been seen, when that is late and not silence yet; undefined = it is not. */
  lateForMs(cellID: string): number | undefined {
    return this.#silence.lateForMs(cellID, this.#options.clock.monotonicMs());
  }

  /** Whether a person has asked to retire the cell, by its last Lease. */
  isForgotten(cellID: string): boolean {
    return this.#silence.isForgotten(cellID);
  }

  /**
   * For how long no generator has been heard, in milliseconds, when that is longer than a change of leaders takes;
   * undefined = one is heard, or has never been.
   */
  generatorAwayForMs(): number | undefined {
    const unheardMs = this.#generator.unheardMs();
    return unheardMs !== undefined && unheardMs >= this.#times.generatorAwayMs ? unheardMs : undefined;
  }

  /**
   * For how long the core has been read, and nobody's heartbeat was written there, in milliseconds, when that says that
   * it takes none; undefined = it takes them, as far as is known. No cell is found silent meanwhile.
   */
  unwrittenForMs(): number | undefined {
    return this.#contact.unwrittenForMs(this.#options.clock.monotonicMs());
  }

  /** Cells that have a Lease; undefined = not known for now. Without the right to list them there are none. */
  leased(): ReadonlySet<string> | undefined {
    return this.#silence.isDenied() ? noCells : this.#leased;
  }

  /** Counts of the cell were written by an aggregator that has no heartbeats. */
  countedByOther(cellID: string): void {
    this.#silence.countedByOther(cellID, this.#options.clock.monotonicMs());
  }

  /** For readiness: why it is not known yet which cells are silent; undefined = it is. */
  undecidedReason(): string | undefined {
    if (this.#silence.isDecided(this.#options.clock.monotonicMs())) return undefined;
    const why = this.#failure === undefined ? "" : `: ${this.#failure.error.message}`;
    return `it is not known yet which cells of ${this.#options.core} are silent${why}`;
  }

  /** Lists until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const startedAt = clock.monotonicMs();
      await this.#observe(signal);
      const isHurried = this.#failure !== undefined || this.undecidedReason() !== undefined;
      const intervalMs = isHurried ? this.#times.observeMs / hurriedSteps : this.#times.observeMs;
      // A LIST that took longer than that is followed by another after a pause, so that a slow core is not kept busy.
      const pauseMs = Math.max(startedAt + intervalMs - clock.monotonicMs(), intervalMs / hurriedSteps);
      await sleep(clock, pauseMs, signal);
    }
  }

  async #observe(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const sentAt = clock.monotonicMs();
    let leases: CellLease[];
    try {
      leases = await this.#list(signal);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (!signal.aborted) this.#failed(error, clock.monotonicMs());
      return;
    }
    if (this.#failure?.isLogged === true) {
      const lastedSeconds = Math.round((clock.monotonicMs() - this.#failure.since) / 1000);
      this.#options.logger.info("Heartbeats of cells can be listed again", { ...this.#place(), lastedSeconds });
    }
    this.#failure = undefined;
    const list = { sentAt, answeredAt: clock.monotonicMs(), now: clock.epochMicros(), leases };
    this.#contact.listed(list);
    await this.#makeSureOfWrites(leases, signal);
    if (signal.aborted) return;
    this.#metrics.listed(this.unwrittenForMs() === undefined ? "ok" : "no-writes");
    for (const change of this.#silence.listed(list)) {
      this.#withoutLease.delete(change.cellID);
      this.#report(change);
    }
    this.#generator.listed(leases.find(({ name }) => name === observerLeaseName)?.beat, list.answeredAt);
    this.#compareTimes(leases);
    this.#leased = new Set(leases.flatMap(({ cellID }) => cellID ?? []));
    this.#options.onListed?.([...this.#silence.cells()]);
  }

  async #list(signal: AbortSignal): Promise<CellLease[]> {
    const { client, leaseNamespace } = this.#options;
    const found: CellLease[] = [];
    await listAll(
      client,
      { resource: leaseResource, namespace: leaseNamespace, labelSelector: cellLeaseLabels.heartbeat },
      (raw) => {
        const lease = readCellLease(raw);
        if (lease !== undefined) found.push(lease);
      },
      // A LIST that hangs is followed by another before there is a hole.
      { signal, timeoutMs: this.#times.observeMs, pageSize, pagesMax },
    );
    return found;
  }

  /**
   * Where nobody was heard since the LIST before, the observer writes itself: one cause that keeps all from writing is
   * no news of any of them. The Lease for that is made before it is needed: a core that takes no writes takes none.
   */
  async #makeSureOfWrites(leases: readonly CellLease[], signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    const isAnybodyKnown = !this.#silence.cells()[Symbol.iterator]().next().done;
    // Nobody's silence is to be proven.
    if (!isAnybodyKnown && leases.every(({ cellID }) => cellID === undefined)) return this.#contact.wrote();
    const isNeeded = this.#contact.lacksWrite();
    const isDue = this.#isMaker && this.#lacksRight === "no" && leases.every(({ name }) => name !== witnessLeaseName);
    if (isNeeded || isDue) {
      const write = await this.#witness.write(signal);
      if (signal.aborted) return;
      // What the core takes is not known then. So many cells may be silent at once, which is the safe side.
      if (write.kind !== "failed") this.#contact.wrote();
      // Where it does not matter yet it is not tried again, whatever refuses it.
      if (write.kind === "no-right" || (write.kind === "failed" && !isNeeded)) this.#missRight(write.error, isNeeded);
      else if (write.kind === "failed" && this.unwrittenForMs() !== undefined) {
        if (this.#unwritten.failed(errorLabel(write.error)))
          logger.error(
            "The core takes no heartbeats: no cell that falls silent is noticed, and none is because of that",
            {
              ...this.#place(),
              err: write.error,
            },
          );
      }
    }
    if (this.unwrittenForMs() !== undefined) return;
    const over = this.#unwritten.ended();
    if (over !== undefined) logger.info("The core takes heartbeats again", { ...this.#place(), ...over });
  }

  #missRight(err: KubeError, isNeeded: boolean): void {
    const { logger } = this.#options;
    if (isNeeded && this.#lacksRight !== "told")
      logger.warn(
        "Nobody is heard, and the Lease that tells a core without writes from silent cells cannot be written: the " +
          "generator makes it, and the manifests have the right to it",
        { ...this.#place(), err },
      );
    this.#lacksRight = isNeeded || this.#lacksRight === "told" ? "told" : "yes";
  }

  /** A cell whose beats are rarer than this observer waits would be silent between two of them. */
  #compareTimes(leases: readonly CellLease[]): void {
    const { logger, silentAfterMs } = this.#options;
    const ours = Math.max(1, Math.ceil(silentAfterMs / 1000));
    for (const { cellID, durationSeconds: theirs } of leases) {
      if (cellID === undefined || theirs === undefined || theirs === ours) continue;
      const what = `${cellID} ${theirs}`;
      if (this.#toldTimes.has(what) || this.#toldTimes.size >= toldTimesMax) continue;
      this.#toldTimes.add(what);
      logger.warn("The aggregator of the cell has another --silent-cell-after, which must be the same everywhere", {
        ...this.#place(),
        cell: cellID,
        seconds: ours,
        ofAggregator: theirs,
      });
    }
  }

  #failed(error: KubeError, at: MonotonicMs): void {
    const { logger } = this.#options;
    const since = this.#failure?.since ?? at;
    const isForbidden = error.kind === "forbidden";
    this.#leased = undefined;
    if (isForbidden) this.#silence.denied(at);
    this.#metrics.listed(errorLabel(error));
    // One line for a row of failures, and none for one that leaves no hole.
    const wasLogged = this.#failure?.isLogged === true;
    const isLogged = wasLogged || isForbidden || at - since >= this.#times.contactMs;
    this.#failure = { error, since, isLogged };
    if (wasLogged || !isLogged) return;
    logger.warn(
      isForbidden
        ? "Not allowed to list the heartbeats of cells, so cells that fall silent keep their last counts"
        : "Cannot list the heartbeats of cells, so no cell that falls silent is noticed",
      { ...this.#place(), err: error },
    );
  }

  #report({ cellID, before, after }: CellChange): void {
    const { logger } = this.#options;
    const fields = { ...this.#place(), cell: cellID };
    switch (after.kind) {
      case "silent": {
        const unheardMs = this.#options.clock.monotonicMs() - after.since;
        logger.error("Cell is silent: its pods count for nothing, and deletions in it are refused", {
          ...fields,
          unheardSeconds: Math.round(unheardMs / 1000),
        });
        return;
      }
      case "keep":
        logger.warn("Nothing is heard from the cell, but its last counts stay in force", {
          ...fields,
          reason: after.reason,
        });
        return;
      case "beating":
        // A cell that is new, or was there when this process started, is no news.
        if (before !== undefined) logger.info("Cell is heard again", fields);
        return;
      default:
        assertNever(after);
    }
  }

  /** The logger adds the core. */
  #place(): { readonly leaseNamespace: string } {
    const { leaseNamespace } = this.#options;
    return { leaseNamespace };
  }
}
