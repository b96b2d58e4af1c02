/**
 * Reserves a batch of deletions with one compare-and-swap status write: the executor of the RetryBatch. Without an
 * accepted write nothing that needs a record is admitted. A lost answer is never taken for success: the object is read
 * live and the batch is judged again.
 */
import { type ObjectKey, protectorID } from "../../api/object-key.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { type KubeClient, type KubeError, isKubeError, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors } from "../../kube/resources.ts";
import { type ExecuteOutcome } from "../../retry-batch/index.ts";
import { assert, assertNever } from "../../util/assert.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type Deletion, type Judge } from "./judge.ts";
import { type LastKnownQuota } from "../outage/last-known-quota.ts";
import { type StatusWriteResult } from "../metrics.ts";
import { hastyRetries, type NewestStates } from "./newest-states.ts";
import { isCounted, type ProtectorView, readView } from "./protector-view.ts";
import { printable } from "./unusable-protector.ts";
import { createWritePacer, type WritePacer } from "./write-pacer.ts";
import { WriteTroubles } from "../outage/write-troubles.ts";
import { WriteTurns } from "./write-turns.ts";

/** What became of one deletion of a batch. */
export type ReservationResult =
  | { readonly kind: "judged"; readonly verdict: Verdict }
  /** Deleted, released or no longer counting the pod: the PodProtector has no say. */
  | { readonly kind: "not-in-force" }
  /** The core answers 404, but the watch has not said that the object was deleted: nothing can be recorded for now. */
  | { readonly kind: "vanished" }
  /** The object as it is in the core cannot be understood. */
  | { readonly kind: "unusable"; readonly reason: string }
  /** The core takes no writes, and its last known quota is lent. `trouble` for people. */
  | { readonly kind: "core-unavailable"; readonly trouble: string };

export interface WriterCore {
  readonly name: string;
  readonly client: KubeClient;
  readonly states: NewestStates;
}

export interface StatusWriterOptions {
  readonly cores: readonly WriterCore[];
  readonly judge: Judge;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  /** Milliseconds before a retry, plus 0 to `jitterMs`. */
  readonly backoffBaseMs: number;
  readonly jitterMs: number;
  /** Called for each status write, with what became of it. */
  readonly onWrite: (result: StatusWriteResult) => void;
  /** The CRD of this core drops extension fields. Called for each such write. */
  readonly onPruned: (core: string) => void;
  readonly lastKnown: LastKnownQuota;
  /** Whether the last known quota may be lent while the core takes no writes. */
  readonly lends: (core: string, namespace: string) => boolean;
  /** A deletion was lent from the PodProtector `key`. */
  readonly onLent: (core: string, key: string) => void;
}

export function writerKey(core: string, key: string): string {
  return protectorID(core, key as ObjectKey);
}

/**
 * A write or read that takes longer means a core in trouble; a review (10 s by default) still has time for a second
 * try.
 */
const requestTimeoutMs = 4_000;
/**
 * The backoff after further conflicts begins at this half of a half of the usual one and doubles: 12 to 25 ms at the
 * flags' defaults.
 */
const backoffHalvings = 3;
/** A read that only makes sure of a refusal: a refusal is better soon than certain. */
const reassuringTimeoutMs = 1_000;
/**
 * How long the writes of a core fail before its quota is lent: a restart of an API server behind a load balancer, or
 * the choice of a new leader of etcd, is over by then, and a review still has time.
 */
const lendAfterMs = 3_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #cores: ReadonlyMap<string, WriterCore>;
  readonly #pacer: WritePacer;
  readonly #troubles: WriteTroubles;
  readonly #turns: WriteTurns;
  readonly #prunedCores = new Set<string>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#cores = new Map(options.cores.map((core) => [core.name, core]));
    this.#pacer = createWritePacer(options.clock);
    this.#turns = new WriteTurns(options.clock);
    this.#troubles = new WriteTroubles(options.clock, options.logger);
  }

  /**
   * `key` as of `writerKey`; newest first, because the first ones win when quota is short. Rejects only for programmer
   * errors.
   */
  async execute(key: string, deletions: readonly Deletion[]): Promise<ExecuteOutcome<ReservationResult>> {
    const { core, objectKey } = this.#locate(key);
    try {
      return await this.#attempt(core, objectKey, deletions);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return this.#afterFailure(core, objectKey, error, deletions);
    }
  }

  /** Milliseconds until the pace allows another write of the object, and it is this replica's turn. */
  nextBatchDelayMs(key: string): number {
    return Math.max(this.#pacer.delayMs(this.#locate(key).core.name, key), this.#turns.delayMs(key));
  }

  /** The watch has delivered this state of the object. Returns true when `nextBatchDelayMs` may have changed. */
  watched(key: string, version: ResourceVersion, cells: readonly CellStatus[]): boolean {
    return this.#turns.seen(key, version, cells);
  }

  /** The last failure of the core while it lasts, for people. */
  trouble(core: string): string | undefined {
    return this.#troubles.last(core);
  }

  #locate(key: string): { readonly core: WriterCore; readonly objectKey: string } {
    const slash = key.indexOf("/");
    const core = this.#cores.get(key.slice(0, slash));
    assert(core !== undefined, `no core of the key ${key}`);
    return { core, objectKey: key.slice(slash + 1) };
  }

  /** Judges on the newest state and writes what is to be recorded. Throws KubeErrors. */
  async #attempt(
    core: WriterCore,
    objectKey: string,
    deletions: readonly Deletion[],
  ): Promise<ExecuteOutcome<ReservationResult>> {
    const { states } = core;
    const known = states.get(objectKey);
    if (known !== undefined && states.isDoubtful(objectKey)) {
      const unusable = await this.#readLive(core, known);
      if (unusable !== undefined) return all(deletions, { kind: "unusable", reason: unusable });
    }
    const { judge, lastKnown } = this.#options;
    const key = writerKey(core.name, objectKey);
    const view = states.get(objectKey);
    if (view === undefined || view.isReleased) {
      lastKnown.forget(key);
      return all(deletions, { kind: "not-in-force" });
    }
    const counts = ({ pod }: Deletion): boolean => isCounted(view, pod.labels);
    // What was lent comes first: it has been answered.
    const lent = lastKnown.lentOf(key).filter(counts);
    const counted = deletions.filter(counts);
    const { verdicts, status } = judge(view, states.countsLostUpTo(objectKey), [...lent, ...counted]);
    if (status !== undefined) {
      const conflict = await this.#write(core, view, status, deletions.length);
      if (conflict !== undefined) return conflict;
    }
    lastKnown.forget(key);
    const verdictOf = new Map(counted.map((deletion, index) => [deletion, verdicts[lent.length + index]]));
    return { kind: "success", results: deletions.map((deletion) => judged(verdictOf.get(deletion))) };
  }

  /** Returns why the object cannot be understood, if so. */
  async #readLive({ name: core, client, states }: WriterCore, known: ProtectorView): Promise<string | undefined> {
    const { namespace, name } = known.protector.metadata;
    const path = resourcePath(podProtectors, { namespace, name });
    const timeoutMs = states.isSuspected(known.key) ? reassuringTimeoutMs : requestTimeoutMs;
    let answer: unknown;
    try {
      answer = await client.request({ method: "GET", path, timeoutMs });
    } catch (error) {
      if (isKubeError(error) && states.clearSuspicion(known.key)) return undefined;
      throw error;
    }
    const read = readView(answer, known);
    if (!read.ok) return printable(read.reason);
    if (states.readLive(read.view, known)) {
      this.#options.logger.warn("A PodProtector has gone back to an older version: was the core restored?", {
        core,
        podProtector: known.key,
        knownVersion: known.resourceVersion,
        liveVersion: read.view.resourceVersion,
      });
    }
    return undefined;
  }

  /** Returns the retry after a conflict, undefined when the write was accepted. */
  async #write(
    { name: core, client, states }: WriterCore,
    base: ProtectorView,
    status: PodProtectorStatus,
    size: number,
  ): Promise<ExecuteOutcome<never> | undefined> {
    const { clock } = this.#options;
    const { namespace, name } = base.protector.metadata;
    const body = { ...base.protector, status };
    const path = resourcePath(podProtectors, { namespace, name, subresource: "status" });
    const charge = (): void => this.#pacer.wrote(core, writerKey(core, base.key), JSON.stringify(body).length);
    const startMs = clock.monotonicMs();
    let answer: unknown;
    try {
      answer = await this.#put(client, path, body, charge);
    } catch (error) {
      if (!isKubeError(error, "conflict")) throw error;
      this.#turns.conflicted(writerKey(core, base.key), base.resourceVersion);
      return this.#retryConflict(states.overtaken(base));
    }
    this.#troubles.recovered(core);
    const read = readView(answer, base);
    if (!read.ok) {
      // Accepted, whatever the answer looks like; the next batch reads the object.
      states.doubt(base.key);
      return undefined;
    }
    states.wrote(read.view);
    const { resourceVersion, key } = read.view;
    this.#turns.wrote(writerKey(core, key), resourceVersion, clock.monotonicMs() - startMs, size);
    if (lostVersions(status, read.view.protector.status)) this.#reportPruned(core);
    return undefined;
  }

  /** Calls `charge` unless the write has certainly not been stored. */
  async #put(client: KubeClient, path: string, body: unknown, charge: () => void): Promise<unknown> {
    const { onWrite } = this.#options;
    try {
      const answer = await client.request({ method: "PUT", path, body, timeoutMs: requestTimeoutMs });
      charge();
      onWrite("written");
      return answer;
    } catch (error) {
      const isConflict = isKubeError(error, "conflict");
      if (!isConflict) charge();
      onWrite(isConflict ? "conflict" : "failed");
      throw error;
    }
  }

  #afterFailure(
    core: WriterCore,
    objectKey: string,
    error: KubeError,
    deletions: readonly Deletion[],
  ): ExecuteOutcome<ReservationResult> {
    const { kind } = error;
    core.states.doubt(objectKey);
    this.#options.logger.verbose(2, "A status write did not go through", {
      core: core.name,
      podProtector: objectKey,
      err: error,
    });
    if (kind === "notFound") return all(deletions, { kind: "vanished" });
    this.#troubles.failed(core.name, error);
    switch (kind) {
      case "tooManyRequests":
        return this.#retry(error.retryAfterMs);
      case "network":
      case "timeout":
      case "serverError":
        return this.#lend(core, objectKey, error, deletions) ?? this.#retry();
      case "malformed":
      case "aborted":
        return this.#retry();
      case "conflict":
      case "alreadyExists":
      case "gone":
      case "invalid":
      case "unauthorized":
      case "forbidden":
        return { kind: "error", error };
      default:
        return assertNever(kind);
    }
  }

  /** Judges by the last known quota; undefined = it is not to be lent, or not yet. */
  #lend(
    { name: core, states }: WriterCore,
    objectKey: string,
    error: KubeError,
    deletions: readonly Deletion[],
  ): ExecuteOutcome<ReservationResult> | undefined {
    const { lastKnown, lends, onLent } = this.#options;
    const view = states.get(objectKey);
    if (view === undefined || view.isReleased || !lends(core, view.protector.metadata.namespace)) return undefined;
    // Before a restart in the midst of an outage, this replica may have lent its share already.
    if (!states.hasSeenWrites) return undefined;
    // Of a state that somebody else has changed since, another replica may have used the quota.
    if (states.isOvertaken(objectKey) || this.#troubles.lastsMs(core) < lendAfterMs) return undefined;
    const key = writerKey(core, objectKey);
    const counted = deletions.filter(({ pod }) => isCounted(view, pod.labels));
    const verdicts = lastKnown.lend(key, view, states.countsLostUpTo(objectKey), counted);
    const resultOf = new Map(counted.map((deletion, index) => [deletion, judged(verdicts[index])]));
    for (const verdict of verdicts) {
      if (verdict.kind === "admitted" && verdict.isRecorded && !verdict.isRepeated) onLent(core, key);
    }
    const results = deletions.map((deletion): ReservationResult => {
      const result = resultOf.get(deletion) ?? { kind: "not-in-force" };
      if (result.kind !== "judged" || result.verdict.kind !== "retry") return result;
      return { kind: "core-unavailable", trouble: error.message };
    });
    return { kind: "success", results };
  }

  /**
   * Somebody else has written. The first retries come as soon as write-turns.ts has it; a storm of conflicts ends in
   * the usual delay.
   */
  #retryConflict(conflictsInRow: number): ExecuteOutcome<never> {
    if (conflictsInRow <= hastyRetries) return { kind: "retry", delayMs: 0 };
    const halvings = Math.max(0, backoffHalvings - (conflictsInRow - hastyRetries - 1));
    return { kind: "retry", delayMs: this.#backoffMs() / 2 ** halvings };
  }

  #retry(delayMsMin = 0): ExecuteOutcome<never> {
    return { kind: "retry", delayMs: Math.max(this.#backoffMs(), delayMsMin) };
  }

  #backoffMs(): number {
    const { backoffBaseMs, jitterMs, rng } = this.#options;
    return backoffBaseMs + uniform(rng, 0, jitterMs);
  }

  #reportPruned(core: string): void {
    this.#options.onPruned(core);
    if (this.#prunedCores.has(core)) return;
    this.#prunedCores.add(core);
    this.#options.logger.warn(
      "The CRD of the core drops extension fields, so admissions settle as slowly as upstream's; install the CRD of this version",
      { core, field: "podResourceVersion" },
    );
  }
}

/** Undefined = not counted any more. */
function judged(verdict: Verdict | undefined): ReservationResult {
  return verdict === undefined ? { kind: "not-in-force" } : { kind: "judged", verdict };
}

function all(deletions: readonly Deletion[], result: ReservationResult): ExecuteOutcome<ReservationResult> {
  return { kind: "success", results: deletions.map(() => result) };
}

/** True when buckets with podResourceVersion were sent and a cell came back with buckets, none of which has one. */
function lostVersions(sent: PodProtectorStatus, received: PodProtectorStatus | undefined): boolean {
  return sent.cells.some((cell) => {
    if (cell.admissionHistory?.buckets?.some((bucket) => bucket.podResourceVersion !== undefined) !== true)
      return false;
    const back = received?.cells.find((one) => one.cellID === cell.cellID)?.admissionHistory?.buckets ?? [];
    return back.every((bucket) => bucket.podResourceVersion === undefined);
  });
}
