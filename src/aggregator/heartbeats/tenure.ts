/**
 * Lets the leader work while the cell is its cluster's (docs/aggregator.md#one-cell-one-cluster): looks at the Lease of
 * the cell before the work begins, waits while another cluster holds it, and ends the work when that has taken over.
 */
import { type CellLease, cellLeaseAnnotations } from "../../api/cell-lease.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { isKubeError, type KubeClient, KubeError, resourcePath } from "../../kube/kube-client.ts";
import { namespaces } from "../../kube/resources.ts";
import { type Clock, later, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type LinkedAbort, linkedAbort } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { type HeartbeatMetrics } from "../metrics.ts";
import { type CellClaim, type Verdict } from "./cell-claim.ts";
import { type CellLeaseWriter } from "./cell-lease-writer.ts";

export interface TenureOptions {
  /** Name of the core, for logs and metrics. */
  readonly core: string;
  readonly cellID: string;
  /** Of the Leases of cells. */
  readonly namespace: string;
  readonly times: SilenceTimes;
  readonly worker: KubeClient;
  readonly writer: Pick<CellLeaseWriter, "read" | "claim">;
  readonly claim: CellClaim;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<HeartbeatMetrics, "setSilence" | "clusterUnknown">;
}

/** One GET a minute and more often is nothing for an API server; a moment's failure must not cost more than seconds. */
const retriesPerBeat = 5;

export class Tenure {
  readonly #options: TenureOptions;
  #clusterUID: string | undefined;
  #isUIDMissing = false;
  #term: LinkedAbort | undefined;
  #held: Extract<Verdict, { kind: "held" }> | undefined;
  /** Since when every look was forbidden. */
  #deniedSinceMs: MonotonicMs | undefined;

  constructor(options: TenureOptions) {
    this.#options = options;
  }

  /** UID of the worker's namespace kube-system; undefined = not known. */
  get clusterUID(): string | undefined {
    return this.#clusterUID;
  }

  /** For readiness: why this leader does not count; undefined = it may. */
  problem(): string | undefined {
    return this.#held === undefined ? undefined : this.#messageOf(this.#held);
  }

  /**
   * Runs `work` whenever the cell is ours, until `leadership` aborts. Its signal also aborts when another cluster has
   * taken over. `takesOver`: what is recorded is another cluster's.
   */
  async run(leadership: AbortSignal, work: (signal: AbortSignal, takesOver: boolean) => Promise<void>): Promise<void> {
    while (!leadership.aborted) {
      this.#options.claim.began();
      const takesOver = await this.#acquire(leadership);
      if (takesOver === undefined) break;
      using term = linkedAbort(leadership);
      this.#term = term;
      try {
        await Promise.all([work(term.signal, takesOver), this.#watchCluster(term)]);
      } finally {
        this.#term = undefined;
      }
    }
    this.#held = undefined;
    this.#options.metrics.setSilence(this.#options.core, undefined);
  }

  /** Judges the Lease as it was read before a beat. False when the cell is no longer ours: the work ends. */
  mayBeat(lease: CellLease | undefined): boolean {
    const verdict = this.#options.claim.observed(lease, this.#clusterUID, this.#options.clock.monotonicMs());
    if (verdict.kind === "ours") return true;
    if (verdict.kind === "held") this.#report(verdict);
    this.interrupt();
    return false;
  }

  /** What this term rests on is in doubt: it ends, and the next one begins with a look at the Lease. */
  interrupt(): void {
    this.#term?.abort();
  }

  /** Our beat was accepted. */
  beaten(lease: CellLease): void {
    this.#options.claim.beaten(lease, this.#options.clock.monotonicMs());
  }

  /** Waits until the cell is ours. Resolves to whether it is taken over; undefined when leadership has ended. */
  async #acquire(signal: AbortSignal): Promise<boolean | undefined> {
    const { clock, core, logger, metrics, times } = this.#options;
    let hasFailed = false;
    while (!signal.aborted) {
      const verdict = await this.#look(signal);
      if (signal.aborted) break;
      if (!(verdict instanceof KubeError)) {
        this.#report(verdict);
        if (verdict.kind !== "held") {
          metrics.setSilence(core, undefined);
          return verdict.kind === "takeOver";
        }
      } else if (!hasFailed) {
        hasFailed = true;
        metrics.setSilence(core, "lease-unreadable");
        logger.warn("Cannot find out whose the cell is, not counting yet", { core, err: verdict });
      }
      const isWaiting = !(verdict instanceof KubeError);
      await sleep(clock, isWaiting ? times.observeMs : times.beatMs / retriesPerBeat, signal);
    }
    return undefined;
  }

  async #look(signal: AbortSignal): Promise<Verdict | KubeError> {
    const { claim, clock, writer } = this.#options;
    try {
      this.#clusterUID = (await this.#readClusterUID(signal)) ?? this.#clusterUID;
      const lease = await writer.read(signal);
      this.#deniedSinceMs = undefined;
      const verdict = claim.observed(lease, this.#clusterUID, clock.monotonicMs());
      if (verdict.kind !== "takeOver") return verdict;
      // So that of two clusters that take over at once one is refused.
      if (lease !== undefined) await this.#claim(lease, signal);
      claim.takenOver();
      return verdict;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      // Without the right nobody is told apart, as upstream has it. The heartbeat says so.
      return error.kind === "forbidden" && this.#isRightGone() ? { kind: "ours" } : error;
    }
  }

  /**
   * An API server that has just started forbids everything for a moment, and must not hand us a cell that we have seen
   * in another cluster's hands: then the right is believed to be gone only when that would have made the cell silent.
   */
  #isRightGone(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#deniedSinceMs ??= nowMs;
    return this.#held === undefined || nowMs >= later(this.#deniedSinceMs, this.#options.times.silentAfterMs);
  }

  async #claim(lease: CellLease, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.writer.claim(lease, this.#clusterUID, signal);
    } catch (error) {
      // Then two clusters may take over at once. The heartbeat says that the right is missing.
      if (!isKubeError(error, "forbidden")) throw error;
    }
  }

  /** A cluster that is rebuilt under its old name and address comes with another UID. */
  async #watchCluster(term: LinkedAbort): Promise<void> {
    const { clock, logger, times } = this.#options;
    for (;;) {
      await sleep(clock, times.freshMs, term.signal);
      if (term.signal.aborted) return;
      try {
        const uid = await this.#readClusterUID(term.signal);
        // It may have been forbidden for a moment only.
        this.#clusterUID ??= uid;
        if (uid === undefined || uid === this.#clusterUID) continue;
        logger.error("The worker is another cluster than before", { before: this.#clusterUID, now: uid });
        term.abort();
      } catch (error) {
        // The worker is away: the election ends the term, or the next look tells.
        if (!isKubeError(error)) throw error;
        logger.verbose(2, "Cannot read the namespace kube-system", { err: error });
      }
    }
  }

  async #readClusterUID(signal: AbortSignal): Promise<string | undefined> {
    const { logger, metrics, worker } = this.#options;
    try {
      const path = resourcePath(namespaces, { name: "kube-system" });
      const read = (await worker.request({ method: "GET", path, signal })) as
        | { readonly metadata?: { readonly uid?: unknown } }
        | undefined;
      const uid = read?.metadata?.uid;
      if (typeof uid !== "string" || uid === "") throw new KubeError("malformed", `GET ${path}: no uid`);
      return uid;
    } catch (error) {
      // A control plane that is no ordinary cluster may have no such namespace.
      if (!isKubeError(error, "forbidden", "notFound")) throw error;
      metrics.clusterUnknown.inc();
      const what = error.kind === "forbidden" ? "Not allowed to get" : "The worker does not have";
      if (!this.#isUIDMissing)
        logger.warn(`${what} the namespace kube-system: another cluster with this cell would go unnoticed`, {
          err: error,
        });
      this.#isUIDMissing = true;
      return undefined;
    }
  }

  #report(verdict: Verdict): void {
    const { cellID, core, events, logger, metrics, namespace } = this.#options;
    const before = this.#held;
    this.#held = verdict.kind === "held" ? verdict : undefined;
    if (verdict.kind === "takeOver")
      logger.warn("Taking over the cell from another cluster, counting everything again", { core });
    if (verdict.kind !== "held") return;
    const { name, uid, holderIdentity, clusterUID } = verdict.lease;
    metrics.setSilence(core, "held-by-other-cluster");
    const message = this.#messageOf(verdict);
    // Repetitions are counted in the one Event.
    const regarding = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace, name, uid };
    events.record(regarding, "Warning", "CellHeldByOtherCluster", message);
    if (before === undefined)
      logger.error(message, { core, cell: cellID, holder: holderIdentity, cluster: clusterUID });
  }

  #messageOf({ by, lease }: Extract<Verdict, { kind: "held" }>): string {
    const { cellID } = this.#options;
    const { holderIdentity, name } = lease;
    const what = `Not counting cell "${cellID}": ${holderIdentity} of another cluster holds its Lease ${name}`;
    if (by === "clone") return `${what}, a clone with the same UID of kube-system; give each cluster its own cell`;
    return (
      `${what} (kube-system ${lease.clusterUID}, ours ${this.#clusterUID}); give each cluster its own cell, or hand ` +
      `it over by the annotation ${cellLeaseAnnotations.adopt}=${this.#clusterUID} on the Lease`
    );
  }
}
