/**
 * Several PodProtectors on one pod (design 2.5): all are judged on their newest known state first, and the deletion is
 * recorded only when all would admit it, one after the other in the order of their names. When a later one refuses
 * after all (another replica was faster), the earlier records stay: another review may rely on them already; they
 * settle like every record that was not used.
 */
import { type RetryBatch, type SubmitOutcome } from "../../retry-batch/index.ts";
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock } from "../../util/clock.ts";
import { allowed, type Audit, type Decision, refusedForNow } from "./decision.ts";
import { type Deletion, type Judge } from "../protector/judge.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type NewestStates } from "../protector/newest-states.ts";
import { isProtected } from "../protector/protector-view.ts";
import { type RefusingProtector, type RefusingVerdict, refusalOf } from "./refusal.ts";
import { type ReservationResult, writerKey } from "../protector/status-writer.ts";
import { messageOf } from "../../util/error-message.ts";

/** A PodProtector that counts the pod. */
export interface Candidate {
  readonly core: string;
  readonly states: NewestStates;
  /** namespace/name. */
  readonly key: string;
  /** Milliseconds since the watch of the core delivered anything. */
  readonly silentMs: number;
}

export interface Caller {
  /** Gives up at this moment. */
  readonly deadlineMonotonicMs: number;
  /** Aborts when it has gone. */
  readonly signal: AbortSignal | undefined;
  /** For the metric. */
  readonly user: string;
}

export interface ReserveAllOptions {
  readonly judge: Judge;
  readonly batch: RetryBatch<Deletion, ReservationResult>;
  /** The last failure of a core while it lasts. */
  readonly trouble: (core: string) => string | undefined;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
}

/** A candidate and what it says on its newest known state. */
interface Opinion {
  readonly id: string;
  readonly candidate: Candidate;
  readonly verdict: Verdict | RefusingVerdict;
  /** The known state may be old or wrong, so that only an attempt to record tells. */
  readonly isDoubtful: boolean;
  /** Forced, or counted but not protected. */
  readonly isBestEffort: boolean;
}

/**
 * A watch that has been silent for this long may have lost its connection, or nothing happens in its core: then reading
 * a PodProtector before a refusal is cheap. A core with a hundred workloads is rarely silent for longer.
 */
const silentMsMax = 5_000;

export class ReserveAll {
  readonly #options: ReserveAllOptions;

  constructor(options: ReserveAllOptions) {
    this.#options = options;
  }

  /** Judges without writing. */
  evaluate(candidates: readonly Candidate[], deletion: Deletion, caller: Caller): Decision {
    const startMs = this.#options.clock.monotonicMs();
    const opinions = this.#opinions(candidates, deletion);
    for (const opinion of opinions) this.#handled(deletion, caller, startMs, isRefusing(opinion));
    return refusalBy(opinions.filter(isRefusing), deletion) ?? admitted(opinions);
  }

  /** Judges and records; admitted only when each record that the rules demand was written. */
  async reserve(candidates: readonly Candidate[], deletion: Deletion, caller: Caller): Promise<Decision> {
    const startMs = this.#options.clock.monotonicMs();
    const opinions = this.#opinions(candidates, deletion).map((opinion) => this.#reconsidered(opinion));
    const refusal = refusalBy(opinions.filter(isRefusingForSure), deletion);
    if (refusal !== undefined) {
      for (const opinion of opinions) this.#handled(deletion, caller, startMs, isRefusingForSure(opinion));
      return refusal;
    }
    for (const opinion of opinions) {
      const isWritten = !opinion.isBestEffort && needsWrite(opinion);
      const decision = isWritten ? await this.#reserveOne(opinion, deletion, caller) : undefined;
      this.#handled(deletion, caller, startMs, decision?.kind === "refused");
      if (decision !== undefined) return decision;
    }
    const besides = opinions.filter((opinion) => opinion.isBestEffort).map(({ candidate }) => candidate);
    await this.record(besides, deletion, caller);
    return admitted(opinions);
  }

  /** Records as far as possible, all at once; what cannot be recorded in time is counted in a metric. */
  async record(candidates: readonly Candidate[], deletion: Deletion, caller: Caller): Promise<void> {
    await Promise.all(
      this.#opinions(candidates, deletion).map(async (opinion) => {
        const { verdict } = opinion;
        if (verdict.kind === "unusable") return this.#options.metrics.recordFailed("Unusable");
        if (verdict.kind === "admitted" && verdict.need === "nothing") return;
        if (verdict.kind === "admitted" && !verdict.isRecorded && !opinion.isDoubtful) {
          return this.#options.metrics.recordFailed("FullBuffer");
        }
        const outcome = await this.#submit(opinion, deletion, caller);
        const failure = recordFailure(outcome);
        if (failure !== undefined) this.#options.metrics.recordFailed(failure);
      }),
    );
  }

  #opinions(candidates: readonly Candidate[], deletion: Deletion): readonly Opinion[] {
    return candidates.flatMap((candidate): Opinion[] => {
      const { core, states, key } = candidate;
      const id = writerKey(core, key);
      const view = states.get(key);
      const unusable = states.unusable(key);
      if (unusable !== undefined) {
        const isProtecting = view === undefined || isProtected(view, deletion.pod.labels);
        const verdict = { kind: "unusable", reason: unusable.reason } as const;
        return [{ id, candidate, verdict, isDoubtful: false, isBestEffort: deletion.isForced || !isProtecting }];
      }
      // The index and the states are fed by the same events, so they know the same objects.
      if (view === undefined) return [];
      const { verdicts } = this.#options.judge(view, states.countsLostUpTo(key), [deletion]);
      const isBestEffort = deletion.isForced || !isProtected(view, deletion.pod.labels);
      const isDoubtful = states.isDoubtful(key);
      return verdicts.map((verdict) => ({ id, candidate, verdict, isDoubtful, isBestEffort }));
    });
  }

  /**
   * Before a refusal by a state that may be old, the object is read live: by the next batch, so that many reviews cost
   * one GET.
   */
  #reconsidered(opinion: Opinion): Opinion {
    const { states, key, silentMs } = opinion.candidate;
    if (opinion.verdict.kind === "unusable" || !isRefusing(opinion) || silentMs <= silentMsMax) return opinion;
    return states.suspect(key, this.#options.clock.monotonicMs()) ? { ...opinion, isDoubtful: true } : opinion;
  }

  #handled({ cellID, pod, operation }: Deletion, { user }: Caller, startMs: number, isRejected: boolean): void {
    this.#options.metrics.handledPod({
      cellID,
      namespace: pod.namespace,
      user,
      requestType: operation === "delete" ? "DeletePod" : "EvictPod",
      isRejected,
      durationMs: this.#options.clock.monotonicMs() - startMs,
    });
  }

  #submit({ id }: Opinion, deletion: Deletion, caller: Caller): Promise<SubmitOutcome<ReservationResult>> {
    return this.#options.batch.submit(id, deletion, {
      deadlineMonotonicMs: caller.deadlineMonotonicMs,
      ...(caller.signal !== undefined && { signal: caller.signal }),
    });
  }

  /** Undefined = this one admits. */
  async #reserveOne(opinion: Opinion, deletion: Deletion, caller: Caller): Promise<Decision | undefined> {
    const outcome = await this.#submit(opinion, deletion, caller);
    switch (outcome.kind) {
      case "done":
        return afterReservation(opinion.id, outcome.result, deletion);
      case "failed":
        return {
          kind: "error",
          tag: `Reserve/${errorLabel(outcome.error)}`,
          message: `cannot reserve PodProtector admission: error executing retry batch: ${messageOf(outcome.error)}`,
        };
      case "cancelled":
        return this.#tooLate(opinion);
      case "overloaded":
        return refusedForNow(
          "Overloaded",
          `PodProtector ${opinion.id} has too many deletions waiting and is temporarily unable to admit pod deletion. Try again in a few seconds`,
          [{ reason: "Overloaded", message: "the queue of this webhook replica is full", field: opinion.id }],
          { "reject-by-podprotector": opinion.id },
        );
      default:
        return assertNever(outcome);
    }
  }

  #tooLate({ id, candidate }: Opinion): Decision {
    const trouble = this.#options.trouble(candidate.core);
    const why = trouble === undefined ? "too many deletions compete for it" : coreTroubleText(trouble);
    return refusedForNow(
      "DeadlineExceeded",
      `PodProtector ${id} could not record the pod deletion in time: ${why}. Nothing was deleted; try again`,
      [{ reason: "DeadlineExceeded", message: why, field: id }],
      { "reject-by-podprotector": id },
    );
  }
}

function refusalBy(refusing: readonly RefusingProtector[], deletion: Deletion): Decision | undefined {
  const [first, ...others] = refusing;
  return first === undefined ? undefined : refusalOf([first, ...others], deletion.cellID);
}

function coreTroubleText(trouble: string): string {
  return `its core cluster does not accept writes (${trouble})`;
}

function isRefusing(opinion: Opinion): opinion is Opinion & RefusingProtector {
  return opinion.verdict.kind !== "admitted" && !opinion.isBestEffort;
}

/** The same, and nobody need read the object live to know. */
function isRefusingForSure(opinion: Opinion): opinion is Opinion & RefusingProtector {
  return isRefusing(opinion) && !opinion.isDoubtful;
}

/** True when an admission must be written, or when only an attempt tells. */
function needsWrite({ verdict, isDoubtful }: Opinion): boolean {
  return isDoubtful || verdict.kind !== "admitted" || verdict.need !== "nothing";
}

function afterReservation(id: string, result: ReservationResult, deletion: Deletion): Decision | undefined {
  switch (result.kind) {
    case "not-in-force":
      return undefined;
    case "vanished":
      return refusedForNow(
        "ProtectorVanished",
        `PodProtector ${id} was not found when the pod deletion was to be recorded, and is temporarily unable to admit pod deletion. ` +
          "If it was deleted on purpose, try again in a few seconds",
        [{ reason: "ProtectorVanished", message: "the core cluster answered 404 to the status write", field: id }],
        { "reject-by-podprotector": id },
      );
    case "unusable":
      return refusalOf([{ id, verdict: result }], deletion.cellID);
    case "core-unavailable":
      return coreUnavailable(id, result.trouble);
    case "judged": {
      const { verdict } = result;
      return verdict.kind === "admitted" ? undefined : refusalOf([{ id, verdict }], deletion.cellID);
    }
    default:
      return assertNever(result);
  }
}

function coreUnavailable(id: string, trouble: string): Decision {
  const why = coreTroubleText(trouble);
  return refusedForNow(
    "CoreUnavailable",
    `PodProtector ${id} is temporarily unable to admit pod deletion: ${why}, and what this webhook replica may admit without it is used up. ` +
      "Nothing was deleted; try again when the core cluster is back",
    [{ reason: "CoreUnavailable", message: why, field: id }],
    { "reject-by-podprotector": id },
  );
}

/** PodProtectors named in the audit annotation of an admission. */
const admittedNamesMax = 20;

function admitted(opinions: readonly Opinion[]): Decision {
  const names = opinions.slice(0, admittedNamesMax).map(({ id, verdict, isBestEffort }) => {
    const need = verdict.kind === "admitted" ? verdict.need : "quota";
    return `${id}=${need === "record" && isBestEffort ? "best-effort" : need}`;
  });
  const audit: Audit = names.length === 0 ? {} : { "admit-by-podprotectors": names.join(",") };
  return allowed("AdmittedAll", audit);
}

/** Why a best-effort record was not written, as a word for the metric. */
function recordFailure(outcome: SubmitOutcome<ReservationResult>): string | undefined {
  switch (outcome.kind) {
    case "done": {
      if (outcome.result.kind === "vanished") return "Vanished";
      if (outcome.result.kind === "not-in-force") return undefined;
      if (outcome.result.kind === "unusable") return "Unusable";
      if (outcome.result.kind === "core-unavailable") return "CoreUnavailable";
      const { verdict } = outcome.result;
      return verdict.kind === "admitted" && (verdict.isRecorded || verdict.need === "nothing")
        ? undefined
        : "FullBuffer";
    }
    case "failed":
      return errorLabel(outcome.error);
    case "cancelled":
      return "Cancelled";
    case "overloaded":
      return "Overloaded";
    default:
      return assertNever(outcome);
  }
}
