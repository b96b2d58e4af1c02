/**
 * Reserves a batch of deletions of one PodProtector with one compare-and-swap status write: the executor of the
 * RetryBatch. Without an accepted write nothing that needs a record is admitted. A lost answer is never taken for
 * success: the object is read live and the batch is judged again (docs/webhook.md#own-writes-and-turns).
 */
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { type Bucket, type CellStatus, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { isKubeError, type KubeError } from "../../kube/kube-client.ts";
import { readProtectorLive, swapStatus } from "../../kube/pod-protectors.ts";
import { type ExecuteOutcome } from "../../retry-batch/index.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type Deletion } from "../deletion.ts";
import { type StatusWriteResult } from "../metrics.ts";
import { type Core } from "./core.ts";
import { quickRetries } from "./newest-state.ts";
import { type Protector } from "./protector.ts";
import { isCounted, type ProtectorView, readView } from "./protector-view.ts";
import { type Tombstone } from "./departure.ts";
import { printable } from "../../util/printable.ts";

/** What became of one deletion of a batch. */
export type ReservationResult =
  | { readonly kind: "judged"; readonly verdict: Verdict }
  /** Deleted, released or no longer counting the pod: the PodProtector does not apply. */
  | { readonly kind: "not-in-force" }
  /** The core answers 404, but the watch has not said that the object was deleted: nothing can be recorded for now. */
  | { readonly kind: "vanished" }
  /** It is gone, and stays in force because nobody has let it go. */
  | { readonly kind: "tombstone"; readonly tombstone: Tombstone }
  /** The object as it is in the core is invalid. */
  | { readonly kind: "unusable"; readonly reason: string }
  /** The core takes no writes, and its last known quota is used up. `trouble` for people. */
  | { readonly kind: "core-unavailable"; readonly trouble: string };

type Outcome = ExecuteOutcome<ReservationResult>;

export interface StatusWriterOptions {
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
  /** Whether deletions may be admitted on the last known quota while the core takes no writes. */
  readonly isLastKnownAllowed: (core: string, namespace: string) => boolean;
  /** A deletion was admitted on the last known quota of this core. */
  readonly onLastKnownAdmission: (core: string) => void;
}

/**
 * A write or read that takes longer means a core in trouble; a review (10 s by default) still has time for a second
 * try.
 */
const requestTimeoutMs = 4_000;
/** A read that only makes sure of a refusal: a refusal is better soon than certain. */
const reassuringTimeoutMs = 1_000;
/**
 * The backoff after the 4th conflict in a row is the usual one halved so often, 12 to 25 ms at the flags' defaults. It
 * doubles with each further conflict, up to the usual one.
 */
const backoffHalvings = 3;
/**
 * How long the writes of a core fail before its last known quota is used: a restart of an API server behind a load
 * balancer, or the choice of a new leader of etcd, is over by then, and a review still has time.
 */
const lastKnownAfterMs = 3_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #prunedCores = new Set<Core>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /**
   * Judges on the newest state and writes what is to be recorded. The first deletions win when quota is short. Rejects
   * only for programmer errors.
   */
  async execute(protector: Protector, deletions: readonly Deletion[]): Promise<Outcome> {
    const isReadLive = protector.tombstone === undefined && protector.isDoubtful;
    const unread = isReadLive ? await this.#readLive(protector, deletions) : undefined;
    const { view, tombstone } = protector;
    // There is nothing to compare and swap.
    if (tombstone !== undefined) return all(deletions, { kind: "tombstone", tombstone });
    if (unread !== undefined) return unread;
    if (view === undefined || view.isReleased) {
      protector.recorded();
      return all(deletions, { kind: "not-in-force" });
    }
    const counts = ({ pod }: Deletion): boolean => isCounted(view, pod.labels);
    // What was admitted without a write comes first: it has been answered.
    const unrecorded = protector.unrecorded.filter(counts);
    const counted = deletions.filter(counts);
    const { verdicts, status } = protector.judge([...unrecorded, ...counted]);
    if (status !== undefined) {
      const unwritten = await this.#write(protector, { view, isReadLive }, status, deletions);
      if (unwritten !== undefined) return unwritten;
      protector.admitted([...unrecorded, ...counted].filter((_, index) => isRecorded(verdicts[index])));
    }
    protector.recorded();
    return { kind: "success", results: resultsOf(deletions, counted, verdicts.slice(unrecorded.length)) };
  }

  /** Returns how the batch ends when the object cannot be judged by what was read; undefined = it can. */
  async #readLive(protector: Protector, deletions: readonly Deletion[]): Promise<Outcome | undefined> {
    const { core, view: known } = protector;
    if (known === undefined) return undefined;
    const timeoutMs = protector.isSuspected ? reassuringTimeoutMs : requestTimeoutMs;
    const live = await readProtectorLive(core.client, known.protector.metadata, { timeoutMs });
    switch (live.kind) {
      case "read": {
        const read = readView(live.stored, known);
        if (!read.ok) return all(deletions, { kind: "unusable", reason: printable(read.reason) });
        if (protector.readLive(read.view, known)) this.#reportRestore(protector, known, read.view);
        return undefined;
      }
      case "invalid":
        return all(deletions, { kind: "unusable", reason: printable(live.reason) });
      case "gone":
        return protector.notRead() ? undefined : this.#vanished(protector, live.error, deletions);
      case "failed":
        return protector.notRead() ? undefined : this.#afterFailure(protector, live.error, deletions);
      default:
        return assertNever(live);
    }
  }

  /** Returns how the batch goes on when the write was not accepted; undefined = it was. */
  async #write(
    protector: Protector,
    { view: base, isReadLive }: { readonly view: ProtectorView; readonly isReadLive: boolean },
    status: PodProtectorStatus,
    deletions: readonly Deletion[],
  ): Promise<Outcome | undefined> {
    const { clock, onWrite } = this.#options;
    const { core } = protector;
    const started = clock.monotonicMs();
    const swap = await swapStatus(core.client, base, status, { timeoutMs: requestTimeoutMs });
    // Only a conflict has certainly cost the core nothing.
    if (swap.kind !== "conflict") protector.charge(JSON.stringify(swap.body).length);
    onWrite(swap.kind === "written" || swap.kind === "conflict" ? swap.kind : "failed");
    switch (swap.kind) {
      case "written": {
        core.trouble.recovered();
        const read = swap.answer.ok ? readView(swap.answer.stored, base) : swap.answer;
        if (!read.ok) {
          // Accepted, whatever the answer looks like; the next batch reads the object.
          protector.lostAnswer();
          return undefined;
        }
        protector.wrote(read.view, clock.monotonicMs() - started, deletions.length);
        if (lostVersions(status, read.view.protector.status)) this.#reportPruned(core);
        return undefined;
      }
      case "conflict":
        return this.#retryConflict(protector.conflicted(base));
      case "gone":
        return this.#vanished(protector, swap.error, deletions);
      case "refused":
      case "lost":
        // A new CRD shows fields of the same version that the former one dropped. A write without them is refused by
        // the policies, and the watch tells nothing (docs/upgrading.md#order). So only what was read live is refused
        // for good.
        if (isReadLive || !isKubeError(swap.error, "forbidden", "invalid"))
          return this.#afterFailure(protector, swap.error, deletions);
        this.#noteFailure(protector, swap.error);
        return { kind: "retry", delayMs: 0 };
      default:
        return assertNever(swap);
    }
  }

  #vanished(protector: Protector, error: KubeError, deletions: readonly Deletion[]): Outcome {
    this.#noteFailure(protector, error);
    return all(deletions, { kind: "vanished" });
  }

  #afterFailure(protector: Protector, error: KubeError, deletions: readonly Deletion[]): Outcome {
    const { kind } = error;
    this.#noteFailure(protector, error);
    protector.core.trouble.failed(error);
    switch (kind) {
      case "tooManyRequests":
        return this.#retry(error.retryAfterMs);
      case "network":
      case "timeout":
      case "serverError":
        return this.#admitOnLastKnown(protector, error, deletions) ?? this.#retry();
      case "malformed":
      case "aborted":
        return this.#retry();
      case "conflict":
      case "alreadyExists":
      case "notFound":
      case "gone":
      case "invalid":
      case "unauthorized":
      case "forbidden":
        return { kind: "error", error };
      default:
        return assertNever(kind);
    }
  }

  #noteFailure(protector: Protector, error: KubeError): void {
    protector.lostAnswer();
    this.#options.logger.verbose(2, "Status write failed", {
      core: protector.core.name,
      podProtector: protector.key,
      err: error,
    });
  }

  /** Judges by the last known quota; undefined = it is not to be used, or not yet. */
  #admitOnLastKnown(protector: Protector, error: KubeError, deletions: readonly Deletion[]): Outcome | undefined {
    const { isLastKnownAllowed, onLastKnownAdmission } = this.#options;
    const { core, view } = protector;
    if (view === undefined || !protector.canAdmitOnLastKnown) return undefined;
    if (core.trouble.durationMs < lastKnownAfterMs) return undefined;
    if (!isLastKnownAllowed(core.name, view.protector.metadata.namespace)) return undefined;
    const counted = deletions.filter(({ pod }) => isCounted(view, pod.labels));
    const verdicts = protector.admitOnLastKnown(counted);
    for (const verdict of verdicts) {
      if (verdict.kind === "admitted" && verdict.isRecorded && !verdict.isRepeated) onLastKnownAdmission(core.name);
    }
    const results = resultsOf(deletions, counted, verdicts).map((result): ReservationResult => {
      if (result.kind !== "judged" || result.verdict.kind !== "retry") return result;
      return { kind: "core-unavailable", trouble: error.message };
    });
    return { kind: "success", results };
  }

  /**
   * Somebody else has written. The first retries come as soon as write-turn.ts permits; a storm of conflicts ends in
   * the usual delay.
   */
  #retryConflict(conflictsInRow: number): ExecuteOutcome<never> {
    if (conflictsInRow <= quickRetries) return { kind: "retry", delayMs: 0 };
    const halvings = Math.max(0, backoffHalvings - (conflictsInRow - quickRetries - 1));
    return { kind: "retry", delayMs: this.#backoffMs() / 2 ** halvings };
  }

  #retry(delayMsMin = 0): ExecuteOutcome<never> {
    return { kind: "retry", delayMs: Math.max(this.#backoffMs(), delayMsMin) };
  }

  #backoffMs(): number {
    const { backoffBaseMs, jitterMs, rng } = this.#options;
    return backoffBaseMs + uniform(rng, 0, jitterMs);
  }

  #reportRestore({ core, key }: Protector, known: ProtectorView, live: ProtectorView): void {
    this.#options.logger.warn("PodProtector went back to an older version: was the core restored?", {
      core: core.name,
      podProtector: key,
      knownVersion: known.resourceVersion,
      liveVersion: live.resourceVersion,
    });
  }

  #reportPruned(core: Core): void {
    this.#options.onPruned(core.name);
    if (this.#prunedCores.has(core)) return;
    this.#prunedCores.add(core);
    this.#options.logger.warn(
      "The CRD of the core drops extension fields, so admissions settle as slowly as upstream's; " +
        "install the CRD of this version",
      { core: core.name, field: "podResourceVersion" },
    );
  }
}

function isRecorded(verdict: Verdict | undefined): boolean {
  return verdict?.kind === "admitted" && verdict.isRecorded;
}

/** `verdicts` on `counted`, in their order; the other `deletions` are not counted any more. */
function resultsOf(
  deletions: readonly Deletion[],
  counted: readonly Deletion[],
  verdicts: readonly Verdict[],
): ReservationResult[] {
  const verdictOf = new Map(counted.map((deletion, index) => [deletion, verdicts[index]]));
  return deletions.map((deletion) => {
    const verdict = verdictOf.get(deletion);
    return verdict === undefined ? { kind: "not-in-force" } : { kind: "judged", verdict };
  });
}

function all(deletions: readonly Deletion[], result: ReservationResult): ExecuteOutcome<ReservationResult> {
  return { kind: "success", results: deletions.map(() => result) };
}

/** True when buckets with a version were sent and a cell came back with buckets, none of which has one of that kind. */
function lostVersions(sent: PodProtectorStatus, received: PodProtectorStatus | undefined): boolean {
  const bucketsOf = (cell: CellStatus | undefined): readonly Bucket[] => cell?.admissionHistory?.buckets ?? [];
  return sent.cells.some((cell) => {
    const back = bucketsOf(received?.cells.find((one) => one.cellID === cell.cellID));
    return (["podResourceVersion", "evictionResourceVersion"] as const).some((field) => {
      const isSent = bucketsOf(cell).some((bucket) => bucket[field] !== undefined);
      return isSent && back.every((bucket) => bucket[field] === undefined);
    });
  });
}
