/**
 * A candidate for a Lease, with client-go's protocol.
 * - It does not fence: a process that hangs may believe for a moment that it still leads. What must not happen twice is
 *   guarded by versions (compare-and-swap), never by leadership.
 * - No time in the Lease is compared with a clock. A candidate measures on its own monotonic clock for how long the
 *   record has not changed.
 */
import { hostname } from "node:os";
import { assert } from "../../util/assert.ts";
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Rng, randomHex } from "../../util/rng.ts";
import { type ElectorConfig, electionProblem } from "../../config/election.ts";
import { isKubeError, type KubeError, resourcePath, type KubeClient } from "../kube-client.ts";
import { wayToFail } from "../kube-errors.ts";
import { leases } from "../resources.ts";
import {
  decodeLease,
  encodeLease,
  heldBy,
  released,
  sameRecord,
  type LeaseRecord,
  type ObservedLease,
} from "./lease.ts";

export interface ElectorOptions {
  readonly config: ElectorConfig;
  /**
   * Client of the cluster that holds the Lease. Its own: whatever else the process sends must not use up the deadline.
   */
  readonly client: KubeClient;
  /** See createIdentity. */
  readonly identity: string;
  /** Label values of the metrics: "core" or "worker", and "generator" or "aggregator". */
  readonly clusterClass: string;
  readonly electorName: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What an attempt to take or keep the Lease found. */
export type Attempt =
  | { readonly type: "held" }
  /** Another process holds it, or was faster. */
  | { readonly type: "other"; readonly holder: string }
  /** `way`: as Outage tells them apart. */
  | { readonly type: "failed"; readonly reason: string; readonly way: string };

/**
 * A request may take this part of the renew deadline, so that one that is never answered leaves time for another, on
 * another connection. Behind answers that are later than that nobody can lead.
 */
const requestsPerDeadline = 2;

/** After these failures a write may have been carried out, or may still be. */
const unknownOutcomes = ["timeout", "network", "serverError", "malformed"] as const;

export class Elector {
  readonly config: ElectorConfig;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly identity: string;
  readonly #client: KubeClient;
  readonly #metrics: ElectorMetrics;
  #observed: ObservedLease | undefined;
  /** When the record was first seen as it is. */
  #observedAtMs: MonotonicMs = longAgo;
  /** When the last successful renewal was sent; undefined while not leading. */
  #renewedAtMs: MonotonicMs | undefined;
  /** The last renewal or acquisition, while it is not known whether it was carried out. */
  #unanswered: { readonly record: LeaseRecord; readonly sentAtMs: MonotonicMs } | undefined;
  #acquiredAtMs: MonotonicMs;

  constructor(options: ElectorOptions) {
    const invalid = electionProblem(options.config, "leader-elector-");
    assert(invalid === undefined, `leader election: ${invalid}`);
    this.config = options.config;
    this.clock = options.clock;
    this.rng = options.rng;
    this.identity = options.identity;
    this.#client = options.client;
    // Without election this process leads from the beginning.
    this.#acquiredAtMs = options.clock.monotonicMs();
    const { clusterClass, electorName } = options;
    this.logger = options.logger.with({ elector: electorName, lease: `${this.config.namespace}/${this.config.name}` });
    this.#metrics = createElectorMetrics(
      options.metrics,
      { cluster_class: clusterClass, elector_name: electorName, identity: options.identity },
      () => (this.#isLeader() ? (this.clock.monotonicMs() - this.#acquiredAtMs) / 1000 : 0),
    );
  }

  /** True between acquiring and losing or releasing; always true when election is disabled. */
  #isLeader(): boolean {
    return !this.config.enable || this.#renewedAtMs !== undefined;
  }

  /** The holder as last seen; undefined = unknown, or there is none. */
  #holder(): string | undefined {
    return this.#observed?.record.holderIdentity === "" ? undefined : this.#observed?.record.holderIdentity;
  }

  /** Readiness check: fails when this process leads and has not renewed for a whole lease duration. */
  check(): string | undefined {
    if (this.#renewedAtMs === undefined) return undefined;
    const ageMs = this.clock.monotonicMs() - this.#renewedAtMs;
    return ageMs <= this.config.leaseDurationMs
      ? undefined
      : `the Lease ${this.config.namespace}/${this.config.name} has not been renewed for ${Math.round(ageMs)} ms`;
  }

  /** Milliseconds for which leadership is certain without a further renewal; 0 or less = it must be given up. */
  leadershipLeftMs(): number {
    return this.#renewedAtMs === undefined
      ? 0
      : later(this.#renewedAtMs, this.config.renewDeadlineMs) - this.clock.monotonicMs();
  }

  /**
   * One attempt to take or keep the Lease, of at most `timeoutMs`; each of its requests has half of the renew deadline.
   * `readSignal` aborts reads only: the outcome of a write must be known.
   */
  async tryAcquireOrRenew(timeoutMs: number, readSignal?: AbortSignal): Promise<Attempt> {
    const endAtMs = later(this.clock.monotonicMs(), timeoutMs);
    try {
      // A holder writes on what it wrote last; only a conflict or a lost answer makes it read.
      if (!this.#isHolderAsSeen() || this.#unanswered !== undefined) {
        const found = await this.#readUntilFree(endAtMs, readSignal);
        if (found !== undefined) return found;
      }
      return await this.#renew(endAtMs);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return this.#afterError(error, endAtMs, readSignal);
    }
  }

  #isHolderAsSeen(): boolean {
    return this.#renewedAtMs !== undefined && this.#observed?.record.holderIdentity === this.identity;
  }

  /** Writes the Lease as ours. Throws KubeError. */
  async #renew(endAtMs: MonotonicMs): Promise<Attempt> {
    const now = this.clock.epochMicros();
    const record = heldBy(this.identity, this.config.leaseDurationMs, now, this.#observed?.record);
    const sentAtMs = this.clock.monotonicMs();
    try {
      await this.#write(record, endAtMs);
    } catch (error) {
      // Everything else is an answer, after which the Lease is as it was.
      this.#unanswered = isKubeError(error, ...unknownOutcomes) ? { record, sentAtMs } : undefined;
      throw error;
    }
    return this.#heldSince(sentAtMs);
  }

  /** `sentAtMs` is before the request: others may have seen the renewal before its answer arrived here, never after. */
  #heldSince(sentAtMs: MonotonicMs): Attempt {
    this.#unanswered = undefined;
    if (this.#renewedAtMs === undefined) this.#acquiredAtMs = sentAtMs;
    this.#renewedAtMs = sentAtMs;
    return { type: "held" };
  }

  /**
   * Reads the Lease. "other" while it cannot be taken; "held" when it shows that a write of ours was carried out whose
   * answer did not arrive.
   */
  async #readUntilFree(endAtMs: MonotonicMs, signal: AbortSignal | undefined): Promise<Attempt | undefined> {
    try {
      this.#observe(decodeLease(await this.#request("GET", undefined, endAtMs, signal)));
    } catch (error) {
      if (!isKubeError(error, "notFound")) throw error;
      this.#observed = undefined;
      return undefined;
    }
    const holder = this.#holder();
    if (holder === this.identity) return this.#lateAnswer();
    if (holder === undefined) return undefined;
    const other: Attempt = { type: "other", holder };
    // Another process has led since our last renewal, even if it has ended by now: our leadership was interrupted.
    if (this.#renewedAtMs !== undefined) return other;
    const durationMs = (this.#observed?.record.leaseDurationSeconds ?? 0) * 1000;
    return this.clock.monotonicMs() < later(this.#observedAtMs, durationMs) ? other : undefined;
  }

  /**
   * "held" when what was read is the last write. One that leaves no time for a renewal is worth nothing to a candidate:
   * it writes again at once.
   */
  #lateAnswer(): Attempt | undefined {
    const { record, sentAtMs } = this.#unanswered ?? {};
    if (record === undefined || sentAtMs === undefined || this.#observed === undefined) return undefined;
    if (!sameRecord(record, this.#observed.record)) return undefined;
    const freshUntilMs = later(sentAtMs, this.config.renewDeadlineMs / requestsPerDeadline);
    const isFresh = this.clock.monotonicMs() < freshUntilMs;
    return isFresh || this.#renewedAtMs !== undefined ? this.#heldSince(sentAtMs) : undefined;
  }

  async #afterError(error: KubeError, endAtMs: MonotonicMs, signal: AbortSignal | undefined): Promise<Attempt> {
    if (isKubeError(error, "conflict", "alreadyExists", "notFound")) {
      try {
        // Another writer was faster, or our own last write: find out which, and follow it at once if it was ours.
        const found = await this.#readUntilFree(endAtMs, signal);
        if (found !== undefined) return found;
        if (this.#holder() === this.identity) return await this.#renew(endAtMs);
      } catch (again) {
        if (!isKubeError(again)) throw again;
      }
    }
    return { type: "failed", reason: error.message, way: wayToFail(error) };
  }

  async #write(record: LeaseRecord, endAtMs: MonotonicMs): Promise<void> {
    const method = this.#observed === undefined ? "POST" : "PUT";
    const body = encodeLease(this.config, record, this.#observed);
    this.#observe(decodeLease(await this.#request(method, body, endAtMs, undefined)));
  }

  #observe(lease: ObservedLease): void {
    if (this.#observed === undefined || !sameRecord(this.#observed.record, lease.record)) {
      this.#observedAtMs = this.clock.monotonicMs();
    }
    this.#observed = lease;
  }

  async #request(
    method: "GET" | "POST" | "PUT",
    body: unknown,
    endAtMs: MonotonicMs,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { namespace, name } = this.config;
    return this.#client.request({
      method,
      path: resourcePath(leases, method === "POST" ? { namespace } : { namespace, name }),
      ...(body !== undefined && { body }),
      timeoutMs: Math.min(
        this.config.renewDeadlineMs / requestsPerDeadline,
        Math.max(0, endAtMs - this.clock.monotonicMs()),
      ),
      ...(signal !== undefined && { signal }),
    });
  }

  /** Reports to metrics and log that leadership began. */
  announceAcquired(): void {
    this.#metrics.event("acquired");
    this.logger.info("Acquired leader lease", { identity: this.identity });
  }

  /** Leadership is lost; another process may take the Lease when it expires. */
  giveUp(reason: string): void {
    this.#renewedAtMs = undefined;
    this.#metrics.event("lost");
    this.logger.warn("Lost leadership", { identity: this.identity, reason, holder: this.#holder() });
  }

  /** Releases the Lease so that another process takes it at once. Best effort: when the write fails, it expires. */
  async release(): Promise<void> {
    const observed = this.#observed;
    if (!this.#isHolderAsSeen() || observed === undefined) return;
    this.#renewedAtMs = undefined;
    this.#metrics.event("lost");
    const endAtMs = later(this.clock.monotonicMs(), this.config.renewDeadlineMs);
    try {
      await this.#writeRelease(observed.record, endAtMs);
      this.logger.info("Released leader lease", { identity: this.identity });
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.logger.warn("Failed to release leader lease; it will expire", { err: error });
    }
  }

  async #writeRelease(record: LeaseRecord, endAtMs: MonotonicMs): Promise<void> {
    try {
      await this.#write(released(this.clock.epochMicros(), record), endAtMs);
    } catch (error) {
      if (!isKubeError(error, "conflict")) throw error;
      // The answer to our own last renewal may have been lost, or a label may have changed.
      const lease = decodeLease(await this.#request("GET", undefined, endAtMs, undefined));
      if (lease.record.holderIdentity !== this.identity) throw error;
      this.#observe(lease);
      await this.#write(released(this.clock.epochMicros(), lease.record), endAtMs);
    }
  }
}

/**
 * The name under which a process holds a Lease. `<hostname>_<32 hexadecimal digits>`: shows people the pod, and differs
 * between two processes on one host.
 */
export function createIdentity(rng: Rng): string {
  return `${hostname()}_${randomHex(rng, 32)}`;
}

/** Metrics of an elector, with upstream's names (docs/compatibility.md#metrics). */
interface ElectorMetrics {
  event(event: "acquired" | "lost"): void;
}

/** `leadingSeconds` is read before each scrape: seconds since the Lease was acquired, 0 while another leads. */
function createElectorMetrics(
  metrics: Metrics,
  labels: { readonly cluster_class: string; readonly elector_name: string; readonly identity: string },
  leadingSeconds: () => number,
): ElectorMetrics {
  const names = ["cluster_class", "elector_name", "identity"];
  const events = metrics.counter("leader_event", "Changes of leadership, by event: acquired or lost", [
    ...names,
    "event",
  ]);
  const heartbeat = metrics.gauge(
    "leader_heartbeat",
    "Seconds since leadership was acquired; 0 while another process leads",
    names,
  );
  metrics.onScrape(() => heartbeat.set(labels, leadingSeconds()));
  return { event: (event) => events.inc({ ...labels, event }) };
}
